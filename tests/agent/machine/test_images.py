"""Which images a machine needs of a version, and that nothing else is asked of kubeadm and the runtime."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiplift.agent.errors import AgentError
from shiplift.agent.machine import images, kubeadm
from shiplift.agent.settings import Settings

LISTED = [
    f"registry.k8s.io/{name}"
    for name in (
        "kube-apiserver:v1.36.3",
        "kube-controller-manager:v1.36.3",
        "kube-scheduler:v1.36.3",
        "kube-proxy:v1.36.3",
        "coredns/coredns:v1.12.1",
        "pause:3.10.2",
        "etcd:3.6.8-0",
    )
]


def test_a_control_plane_needs_all_and_a_worker_few() -> None:
    assert images.needed(LISTED, control_plane=True) == LISTED
    assert images.needed(LISTED, control_plane=False) == [LISTED[3], LISTED[4], LISTED[5]]


def test_words_that_are_no_images_are_left_out() -> None:
    assert images.needed(["--all", "W1117", "registry.k8s.io/pause:3.10"], control_plane=True) == [
        "registry.k8s.io/pause:3.10"
    ]


def test_images_come_from_where_the_settings_say_or_the_control_plane_has_them(tmp_path: Path) -> None:
    assert images.repository(Settings(), tmp_path) == ""
    (tmp_path / "kube-apiserver.yaml").write_text(
        "    image: registry.example.org/k8s/kube-apiserver:v1.35.4\n"
    )
    assert images.repository(Settings(), tmp_path) == "registry.example.org/k8s"
    assert images.repository(Settings(image_repository="other.example.org"), tmp_path) == "other.example.org"


@pytest.mark.parametrize("version", ["1.36.3", "v1.36", "latest", "v1.36.3 --force", "--help", ""])
def test_a_version_that_is_none_goes_to_no_program(version: str) -> None:
    with pytest.raises(AgentError, match="is no version of Kubernetes"):
        kubeadm.apply(version, Settings())
    with pytest.raises(AgentError, match="is no version of Kubernetes"):
        images.pull(version, None, Settings(), control_plane=True)
