"""Which volumes are still attached to a node that is drained: until they are not, no other node has them.

Volumes of pods that stay, and only those, may stay attached. VolumeAttachments name volumes as the cluster
does, a node names them by driver and handle; each tells of detaching at its own time, so both have to agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from shiplift.drain.model import Judgement, Verdict
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.facts.storage import VolumeAttachment

_CSI = "kubernetes.io/csi/"


class Volume(NamedTuple):
    """A PersistentVolume that a pod uses; driver and handle are empty where it has none."""

    name: str
    driver: str = ""
    handle: str = ""

    @property
    def on_node(self) -> str:
        """How a node names it."""
        return f"{_CSI}{self.driver}^{self.handle}"


class Claim(NamedTuple):
    """A PersistentVolumeClaim."""

    namespace: str
    name: str


def claims_that_stay(judged: Iterable[Judgement]) -> tuple[Claim, ...]:
    """The claims of pods that stay on the node."""
    pods = (one.pod for one in judged if one.verdict is Verdict.LEAVE and not one.pod.finished)
    return tuple(sorted({claim for pod in pods for claim in _claims(pod)}))


def _claims(pod: Pod) -> Iterable[Claim]:
    names = (*pod.spec.claims, *(f"{pod.name}-{volume}" for volume in pod.spec.ephemeral_claims))
    return (Claim(pod.namespace, name) for name in names)


def attached(
    node: Node, attachments: Iterable[VolumeAttachment], staying: Iterable[Volume] = ()
) -> tuple[str, ...]:
    """What is attached to the node or mounted on it, and belongs to no pod that stays."""
    kept = tuple(staying)
    names, on_node = {one.name for one in kept}, {one.on_node for one in kept}
    here = {one.volume or one.name for one in attachments if one.node == node.name}
    told = {*node.volumes_attached, *node.volumes_in_use}
    return tuple(sorted((here - names) or (told - on_node)))
