"""The operator's own workload, where it runs in the cluster: which pod is ours, and who could lead instead.

What is kept true: its pods go after all others of a node, the one that leads after the others; before that
one goes, another leads, where one is Ready and stays; and where it is the only one, it goes only where some
other node could take it, for nobody would go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from shiplift.api.marks import OPERATOR_ACCOUNT, OPERATOR_LABELS
from shiplift.drain.holds import owner_key
from shiplift.drain.model import Hold
from shiplift.drain.plan import late_words
from shiplift.drain.steps import HandOver
from shiplift.engine.step import Step
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod, tolerated
from shiplift.facts.selectors import any_term_matches

_KEEPS_OFF = ("NoSchedule", "NoExecute")
ALONE = (
    "is the only pod of the operator: nothing is done from its eviction until it runs on another node, and"
    " goes on there by itself; where it does not start there, `shiplift operator` from elsewhere goes on;"
    " with two replicas there is no pause"
)
STRANDED = Hold(
    "the operator itself",
    "it is its only pod, no other node could take it, and nobody would go on",
    "add a node that takes it, run two replicas, or run `shiplift operator` from elsewhere",
)
TOGETHER = Hold(
    "the operator itself",
    "no other node could take it, none of its other pods is Ready and stays, and nobody would go on",
    "add a node that takes it, or run `shiplift operator` from elsewhere",
)
NOT_READY = Hold(
    "the operator itself",
    "no other pod of it is Ready, and nobody would go on",
    "its other pods say why they are not Ready; or run `shiplift operator` from elsewhere",
)


class Own(NamedTuple):
    """What is known of it; nothing where the operator runs in no pod of the cluster."""

    pod: str = ""
    """The uid of the pod that decides."""
    name: str = ""
    """The name of that pod, with its namespace."""
    workload: str = ""
    """What it is a pod of, as a WorkloadPlacement of its namespace names it."""
    places: Mapping[str, str] = {}
    """By uid of all its pods: their nodes. One that ends still counts: who is to come in its place does not
    lead yet."""
    heirs: tuple[str, ...] = ()
    """Pods by name, that could lead instead and are to stay where they are."""
    ready: int = 0
    """How many others are Ready, wherever they are, and not on their way out."""
    pending: bool = False
    """Whether another is being let lead: this term has not ended yet."""
    stranded: frozenset[str] = frozenset()
    """Pods of it, by uid, that no other node could take while no other that is Ready stays where it is, as
    far as can be told."""

    @property
    def alone(self) -> bool:
        return bool(self.pod) and len(self.places) == 1

    def rank(self, pod: Pod) -> int:
        """After whom a pod goes: others first, then other pods of the operator, then the one that leads."""
        return (2 if pod.uid == self.pod else 1) if pod.uid in self.places else 0

    def of_node(self, name: str) -> int:
        """The same of a node: that of the last of its pods."""
        return max(
            ((2 if uid == self.pod else 1) for uid, at in self.places.items() if at == name), default=0
        )

    def hold(self, pod: Pod) -> Hold | None:
        """Why a pod of its own stays for now."""
        if pod.uid in self.stranded:
            return STRANDED if self.alone else TOGETHER
        if pod.uid != self.pod or self.ready or self.alone:
            return None
        return NOT_READY


NOT_IN_A_POD = Own()


def own(
    pod: Pod | None,
    pods: Iterable[Pod],
    stays: Callable[[Pod], bool],
    *,
    may_hand_over: bool,
    pending: bool = False,
    evicting: frozenset[str] = frozenset(),
    has_a_place: Callable[[Pod], bool] = lambda _: True,
) -> Own:
    """Of the pod that we run in and the pods of its namespace; `stays` says of which nodes nobody takes their
    pods now, `evicting` has those that are being evicted, `has_a_place` says whom another node could take."""
    if pod is None:
        return NOT_IN_A_POD
    mates = [one for one in pods if _is_mate(pod, one)]
    others = [one for one in mates if one.uid != pod.uid and _leads_if_need_be(one, evicting)]
    heirs = [one.name for one in others if stays(one)]
    places = {one.uid: one.node for one in mates} | {pod.uid: pod.node}
    staying = [one for one in [pod, *others] if stays(one)]
    leaves_nobody = [one for one in [pod, *mates] if not any(other.uid != one.uid for other in staying)]
    return Own(
        pod=pod.uid,
        name=f"{pod.namespace}/{pod.name}",
        workload=owner_key(pod),
        places=places,
        heirs=tuple(heirs) if may_hand_over else (),
        ready=len(others),
        pending=pending,
        stranded=frozenset(one.uid for one in leaves_nobody if not has_a_place(one)),
    )


def that_count(pods: Iterable[Pod], now: int) -> Iterator[Pod]:
    """Without those that should have ended a while ago, as on a node that is lost: who comes in the place of
    such a pod is there already."""
    return (one for one in pods if not late_words(one, now))


def _leads_if_need_be(pod: Pod, evicting: frozenset[str]) -> bool:
    return pod.ready and not pod.deleting and pod.uid not in evicting


def _is_mate(pod: Pod, other: Pod) -> bool:
    """Whether both are of one Deployment, or the other is of the operator by its marks, as where a second
    Deployment of it runs: they share the Lease. A pod of nobody has none."""
    key = owner_key(pod)
    there = not other.finished and other.namespace == pod.namespace
    return bool(key) and there and (owner_key(other) == key or is_operator(other))


def is_operator(pod: Pod, namespace: str = "") -> bool:
    """Whether it is a pod of the operator by its marks: whoever runs elsewhere has no pod to go by."""
    there = not namespace or pod.namespace == namespace
    labelled = all(pod.labels.get(key) == value for key, value in OPERATOR_LABELS.items())
    return there and labelled and pod.spec.service_account == OPERATOR_ACCOUNT


def could_take(pod: Pod, node: Node) -> bool:
    """Whether another node could take a pod: not whether it has room."""
    if node.name == pod.node or node.unschedulable or not node.ready or node.deleting:
        return False
    closed = [one for one in node.taints if one.effect in _KEEPS_OFF]
    spec = pod.spec
    selected = all(node.labels.get(key) == value for key, value in spec.node_selector.items())
    selected = selected and any_term_matches(spec.node_terms, node.labels, node.name)
    return selected and all(tolerated(pod.spec.tolerations, one) for one in closed)


def handed_over(steps: Iterable[Step], known: Own, ends: Callable[[Step], str]) -> tuple[Step, ...]:
    """The steps, where another leads before our own pod ends; `ends` gives the uid of the pod that a step
    ends, and nothing for all others. It does not end while another is being let lead, nor together with
    another of the operator."""
    found = tuple(steps)
    ended = {uid for uid in map(ends, found) if uid}
    if known.pending or (known.pod in ended and ended & (known.places.keys() - {known.pod})):
        return tuple(step for step in found if ends(step) != known.pod)
    return tuple(_first_of(step, known, ends(step)) for step in found) if known.heirs else found


def _first_of(step: Step, known: Own, ended: str) -> Step:
    return HandOver(known.name, known.pod, known.heirs[0]) if ended == known.pod else step
