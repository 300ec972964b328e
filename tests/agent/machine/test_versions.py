"""Versions as they are found on a machine. What dpkg says is read in `test_packages`, from a real one."""

from __future__ import annotations

from pathlib import Path

from shiplift.agent.machine import versions

MANIFEST = """apiVersion: v1
kind: Pod
spec:
  containers:
  - command:
    - {name}
    image: registry.example.org/k8s/{name}:v1.36.3
"""


def machine(tmp_path: Path, *, pods: tuple[str, ...], runs: tuple[str, ...]) -> dict[str, str]:
    manifests, processes = tmp_path / "manifests", tmp_path / "proc"
    manifests.mkdir()
    for name in pods:
        (manifests / f"{name}.yaml").write_text(MANIFEST.format(name=name))
    for number, name in enumerate(runs, 100):
        (processes / str(number)).mkdir(parents=True)
        (processes / str(number) / "comm").write_text(f"{name[:15]}\n")
    return versions.control_plane(manifests, processes)


def test_a_worker_runs_no_component_of_the_control_plane(tmp_path: Path) -> None:
    assert machine(tmp_path, pods=(), runs=("kubelet", "kube-apiserver")) == {}


def test_a_control_plane_runs_what_its_pods_say(tmp_path: Path) -> None:
    all_of_them = versions.CONTROL_PLANE
    assert machine(tmp_path, pods=all_of_them, runs=all_of_them) == dict.fromkeys(all_of_them, "v1.36.3")


def test_a_component_without_a_process_is_not_told(tmp_path: Path) -> None:
    found = machine(tmp_path, pods=versions.CONTROL_PLANE, runs=("kube-controller-manager",))
    assert found == {"kube-controller-manager": "v1.36.3"}


def test_dpkg_knows_nothing_of_packages_that_there_are_not() -> None:
    assert versions.installed(["no-such-package-anywhere"]) == {}
    assert versions.installed([]) == {}
    assert versions.held(["no-such-package-anywhere"]) == frozenset()
