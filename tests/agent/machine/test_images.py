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


def test_the_clusters_configuration_is_asked_about_in_another_version() -> None:
    text = (
        "imageRepository: registry.example.org/k8s\nkind: ClusterConfiguration\nkubernetesVersion: v1.35.4\n"
    )
    assert images.of_version(text, "v1.36.3") == text.replace("v1.35.4", "v1.36.3")


def test_without_credentials_there_is_no_configuration(tmp_path: Path) -> None:
    assert images.configuration(tmp_path / "kubelet.conf") == ""


@pytest.mark.parametrize("version", ["1.36.3", "v1.36", "latest", "v1.36.3 --force", "--help", ""])
def test_a_version_that_is_none_goes_to_no_program(version: str) -> None:
    with pytest.raises(AgentError, match="is no version of Kubernetes"):
        kubeadm.apply(version, Settings())
    with pytest.raises(AgentError, match="is no version of Kubernetes"):
        images.pull(version, None, "", control_plane=True)
