"""Package sources of Kubernetes have the minor version in their address; those of others are left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiplift.agent.machine import sources

LIST = "deb [signed-by=/etc/apt/keyrings/k.gpg] https://pkgs.k8s.io/core:/stable:/v1.35/deb/ /\n"
DEB822 = "Types: deb\nURIs: https://pkgs.k8s.io/core:/stable:/v1.35/deb/\nSuites: /\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LIST, LIST.replace("1.35", "1.36")),
        (DEB822, DEB822.replace("1.35", "1.36")),
        ("deb http://10.88.1.2/apt/v1.35 ./\n", "deb http://10.88.1.2/apt/v1.36 ./\n"),
        ("URIs: http://10.88.1.2/apt/v1.35", "URIs: http://10.88.1.2/apt/v1.36"),
        ("deb http://example.org/debian bookworm main", "deb http://example.org/debian bookworm main"),
        ("deb http://v1.35.example.org/v1.35x/ /", "deb http://v1.35.example.org/v1.35x/ /"),
    ],
)
def test_switched(text: str, expected: str) -> None:
    assert sources.switched(text, "1.36") == expected
    assert sources.switched(expected, "1.36") == expected


@pytest.mark.parametrize(
    ("desired", "minors"),
    [
        ({"kubelet": "1.36.3"}, ["1.36"]),
        ({"kubelet": "1.36.3-1.1", "kubeadm": "1.36.3-1.1", "containerd": "2.1.4"}, ["1.36"]),
        ({"kubelet": "1.35.4", "kubeadm": "1.36.3"}, ["1.35", "1.36"]),
        ({"containerd": "2.1.4"}, []),
        ({"kubelet": "nonsense"}, []),
    ],
)
def test_minors_that_are_wanted(desired: dict[str, str], minors: list[str]) -> None:
    assert sources.minors(desired) == minors


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    parts = tmp_path / "etc" / "sources.list.d"
    parts.mkdir(parents=True)
    (parts / "kubernetes.list").write_text(LIST)
    (parts / "docker.list").write_text("deb https://example.org/v1.35/ /\n")
    (parts / "kubernetes.list.save").write_text(LIST)
    return tmp_path / "etc"


def test_a_copy_has_both_minors_and_leaves_the_machines_own_as_they_are(etc: Path, tmp_path: Path) -> None:
    sources.copy(etc, tmp_path / "copy", ["1.35", "1.36"])
    parts = tmp_path / "copy" / "sources.list.d"
    assert {path.name: path.read_text() for path in parts.iterdir()} == {
        "docker.list": "deb https://example.org/v1.35/ /\n",
        "kubernetes.list": LIST,
        "kubernetes-1.36.list": LIST.replace("1.35", "1.36"),
    }
    assert (tmp_path / "copy" / "sources.list").read_text() == ""
    sources.copy(etc, tmp_path / "copy", [])
    assert sorted(path.name for path in parts.iterdir()) == ["docker.list", "kubernetes.list"]


def test_only_sources_of_kubernetes_are_switched_and_stay_readable(etc: Path) -> None:
    (etc / "sources.list.d" / "kubernetes.list").chmod(0o644)
    sources.switch(etc, "1.36")
    found = {path.name: path.read_text() for path in (etc / "sources.list.d").iterdir()}
    assert found == {
        "docker.list": "deb https://example.org/v1.35/ /\n",
        "kubernetes.list": LIST.replace("1.35", "1.36"),
        "kubernetes.list.save": LIST,
    }
    assert (etc / "sources.list.d" / "kubernetes.list").stat().st_mode & 0o777 == 0o644
