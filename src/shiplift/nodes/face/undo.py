"""Undo everything of this layer in a cluster, without the operator.

It decides and acts as the operator does when rollouts are aborted; first it says so in each NodeRollout, so
that an operator that comes back does not begin again. Agents that have begun a change finish it; then their
nodes are given back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from shiplift.api.nodes import NodeStatus
from shiplift.engine import clock
from shiplift.engine.barrier import Barrier
from shiplift.engine.step import Outcome, Outcomes, Step
from shiplift.face.parts import Undone
from shiplift.facts.kinds import CONFIG_MAP, NODE_ROLLOUT
from shiplift.kube.claims import ClaimBook
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.kube.statuses import Subject, barriers, write
from shiplift.kube.store import Store
from shiplift.kube.undoing import SETTLE_SECONDS, UndoError, Undoing, undo_until_clean
from shiplift.nodes.act.actor import Actor
from shiplift.nodes.act.control_plane import ControlPlane
from shiplift.nodes.decide.decision import decide
from shiplift.nodes.decide.scope import in_flight
from shiplift.nodes.model import Reason, Rolling
from shiplift.nodes.names import CLAIMS
from shiplift.nodes.observe.asking import asking
from shiplift.nodes.observe.observer import Observer
from shiplift.nodes.steps import CheckLease
from shiplift.view.values import plain

_UNDER_WAY = (Reason.ABORTING, Reason.DELETED, Reason.STALE_VIEW)


def undo_all(client: Client, store: Store, say: Callable[[str], None]) -> Undone:
    """How many changes it took. The store watches what the layer reads."""
    store.wait_settled(list(_aborted(client, say)), SETTLE_SECONDS)
    book = ClaimBook(client, CONFIG_MAP, CLAIMS)
    observer = Observer(store, asking(client, book)._replace(claims=lambda: ()))
    store.subscribe(observer.heard)
    actor = Actor(client, ControlPlane(book, 0, observer.claims_changed), observer.desired, observer.memory)

    outcomes = Outcomes()

    def decided() -> Rolling:
        decision = decide(observer.observe(outcomes), clock.now())
        store.wait_settled(list(_told(client, decision)), SETTLE_SECONDS)
        return decision

    def act(step: Step) -> Outcome:
        """What came of it is remembered: what is only looked at is looked at again after a while."""
        nonlocal outcomes
        outcome = actor.act(step)
        outcomes = outcomes.remember([outcome], clock.now())
        return outcome

    layer = Undoing(decide=decided, act=act, left=_left, looks=_looks, waits=waits)
    changes, _ = undo_until_clean(layer, store, say)
    return Undone(changes)


def _looks(step: Step) -> bool:
    return isinstance(step, CheckLease)


def waits(decision: Rolling) -> str:
    """Which nodes are waited for, and what each waits for itself."""
    told = [
        f"node {record.name}: {_at(record)}{_way_out(record)}"
        for one in decision.told
        if one.reason in _UNDER_WAY
        for record in one.status.nodes
        if in_flight(record)
    ]
    named = [f"NodeRollout {one.rollout.metadata.name}: {plain(one.message)}" for one in decision.told]
    more = f", and {len(told) - 3} more" if len(told) > 3 else ""
    return f"waits for {'; '.join(told[:3] or named)}{more}" if told or named else ""


def _at(record: NodeStatus) -> str:
    return plain(record.message or record.reason or record.state.value)


def _way_out(record: NodeStatus) -> str:
    """What ends the wait for an agent that may never answer."""
    if record.reason not in (Reason.AGENT_UNHEARD, Reason.TIMED_OUT):
        return ""
    return (
        " (start its agent again, which finishes or reverts; where that machine is gone for good, `kubectl"
        f" delete node {record.name}`)"
    )


def _left(decision: Rolling) -> bool:
    """Whether something is under way, or is not told yet: nothing is done before it is."""
    return any(
        one.reason in _UNDER_WAY or one.status.nodes != one.rollout.status.nodes for one in decision.told
    )


def _told(client: Client, decision: Rolling) -> Iterator[Barrier]:
    """The statuses say what an operator would say: what is recorded is what the next look goes by."""
    for one in decision.told:
        about = one.rollout.metadata
        if one.status != one.rollout.status:
            subject = Subject(NODE_ROLLOUT, about.name, about.uid, about.resource_version)
            yield from barriers(write(client, subject, one.rollout.status, one.status))


def _aborted(client: Client, say: Callable[[str], None]) -> Iterator[Barrier]:
    for live in client.list(NODE_ROLLOUT):
        name = live["metadata"]["name"]
        if not _is_over(live):
            yield from _abort(client, name, live["metadata"]["uid"])
            say(f"NodeRollout {name} is aborted, so that no operator begins again")


def _abort(client: Client, name: str, uid: str) -> tuple[Barrier, ...]:
    try:
        written = client.patch(NODE_ROLLOUT, name, {"spec": {"abort": True}}, uid=uid)
    except KubeError as error:
        raise UndoError(
            f"NodeRollout {name} cannot be aborted: {error}", "an operator would begin again"
        ) from error
    return (written.barrier,) if written.barrier else ()


def _is_over(live: dict[str, Any]) -> bool:
    return bool(live["spec"].get("abort") or live["metadata"].get("deletionTimestamp"))
