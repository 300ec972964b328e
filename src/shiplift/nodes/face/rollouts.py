"""What a person wants to know of rollouts at one moment, all of it from the NodeRollouts.

Every text that others wrote is one line of printable characters here. Times are seconds from now.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from shiplift.api.nodes import NodeRollout, NodeState, NodeStatus, RolloutPhase
from shiplift.api.values import Condition, ConditionStatus
from shiplift.nodes.model import Reason, kept
from shiplift.nodes.names import FINALIZER
from shiplift.view.section import Arrival
from shiplift.view.values import Eta, Heard, Share, ago, plain

_WORST = (
    NodeState.QUARANTINED,
    NodeState.FAILED,
    NodeState.REVERTING,
    NodeState.DRAINING,
    NodeState.CHANGING,
    NodeState.VERIFYING,
    NodeState.SOAKING,
    NodeState.CORDONED,
    NodeState.WAITING,
    NodeState.SKIPPED,
)
"""Who needs somebody comes first."""
_AT_REST = (NodeState.FAILED, NodeState.QUARANTINED, NodeState.SKIPPED)
_OVER = (RolloutPhase.COMPLETE, RolloutPhase.ABORTED)
_WORDS: dict[str, str] = {
    Reason.CHOSEN: "it is next",
    Reason.IN_LINE: "it is next, once a node is given back",
    Reason.DRAINING: "its pods are evicted",
    Reason.WAITS_FOR_AGENT: "its agent is asked to change it",
    Reason.CHANGING: "its agent is at work",
    Reason.VERIFYING: "what its agent says is looked at",
}
"""Why a node is where it is, in words, while its record only has the reason."""
RUN_ONE = "`shiplift operator` runs one"
CANNOT_TELL = (
    "an operator has looked at it, and cannot write its status: may it patch noderollouts/status?"
    " its log says what was answered"
)
MOST_NODES = 10
"""So many nodes are shown, the worst, unless all are asked for."""


class NodeLine(msgspec.Struct, frozen=True):
    """One node that is being changed, or was and has failed."""

    name: str
    state: NodeState
    reason: str
    message: str
    seconds: int | None
    """For how long it has been there."""
    blockers: tuple[str, ...] = ()


class RolloutView(msgspec.Struct, frozen=True):
    """One rollout."""

    name: str
    wanted: str
    """What its nodes should run."""
    pools: tuple[str, ...]
    phase: str
    running_pass: str
    path: tuple[str, ...]
    nodes: Share
    unavailable: int
    failures: int
    message: str
    seconds: int | None
    """For how long it has run, or how long it took."""
    eta: Eta | None
    window: int | None
    """In how many seconds the next window opens."""
    lines: tuple[NodeLine, ...]
    stalled: str
    arrival: Arrival
    hints: tuple[str, ...] = ()
    resting: str = ""
    """Why nothing happens until somebody resumes it, or runs an operator; empty where something may."""
    unheard: str = ""
    """Of which agents nothing is heard; empty where all are."""
    stopped: int | None = None
    """For how long it has gone on only when somebody helps."""

    @property
    def needs(self) -> str:
        """What somebody should look at."""
        return self.stalled or self.unheard


class RolloutsView(msgspec.Struct, frozen=True):
    """All rollouts that matter: those that are not over, or else the one that ended last."""

    rollouts: tuple[RolloutView, ...]
    over: int = 0
    """Earlier ones that are over and not shown."""

    @property
    def arrival(self) -> Arrival:
        arrivals = {one.arrival for one in self.rollouts}
        if Arrival.NOT_YET in arrivals:
            return Arrival.NOT_YET
        return Arrival.GIVEN_UP if Arrival.GIVEN_UP in arrivals else Arrival.MOVED

    @property
    def stalled(self) -> str:
        return next(filter(None, (one.stalled or one.resting for one in self.rollouts)), "")


def rollouts_view(found: Sequence[NodeRollout], now: int, heard: Heard | None) -> RolloutsView | None:
    """What there is to tell; None without a rollout."""
    if not found:
        return None
    ordered = sorted(found, key=lambda one: (_since(one), one.metadata.name))
    open_ = [one for one in ordered if _arrival(one) is Arrival.NOT_YET]
    shown = open_ or ordered[-1:]
    views = tuple(_rollout(one, now, heard) for one in shown)
    return RolloutsView(views, len(ordered) - len(shown))


def _since(rollout: NodeRollout) -> float:
    """When it was made, or when it was over."""
    moment = rollout.status.complete_time or rollout.metadata.creation_timestamp
    return moment.timestamp() if moment else 0.0


def _arrival(rollout: NodeRollout) -> Arrival:
    status, about = rollout.status, rollout.metadata
    if status.phase is RolloutPhase.ABORTED:
        return Arrival.GIVEN_UP
    seen = status.observed_generation >= about.generation and about.deletion_timestamp is None
    return Arrival.MOVED if seen and status.phase is RolloutPhase.COMPLETE else Arrival.NOT_YET


def _rollout(rollout: NodeRollout, now: int, heard: Heard | None) -> RolloutView:
    status = rollout.status
    return RolloutView(
        name=rollout.metadata.name,
        wanted=wanted(rollout),
        pools=rollout.spec.pools,
        phase=_phase(rollout),
        running_pass=status.running_pass.value if status.running_pass else "",
        path=status.path,
        nodes=Share.of(status.progress),
        unavailable=status.unavailable,
        failures=status.failures,
        message=plain(status.message),
        seconds=_elapsed(rollout, now),
        eta=Eta.of(status.eta, now) if status.eta and status.phase not in _OVER else None,
        window=_until(rollout, now),
        lines=_lines(status.nodes, now),
        stalled=plain(stalled(rollout)),
        resting=_resting(rollout),
        unheard=plain(said(rollout, "Reconciling", Reason.AGENT_UNHEARD)),
        stopped=_stopped(rollout, now),
        arrival=_arrival(rollout),
        hints=tuple(_hints(rollout, heard, now)),
    )


def wanted(rollout: NodeRollout) -> str:
    """What its nodes should run, in words."""
    version = [f"Kubernetes {rollout.spec.version}"] if rollout.spec.version else []
    return ", ".join([*version, *(f"{one.name} {one.version}" for one in rollout.spec.software)])


def _phase(rollout: NodeRollout) -> str:
    """One word for where it is; what was asked for and nobody has seen yet is said as well."""
    if rollout.metadata.deletion_timestamp:
        return "being deleted"
    status, spec = rollout.status, rollout.spec
    if spec.abort and status.phase is not RolloutPhase.ABORTED:
        return "aborting"
    return status.phase.value.lower() if status.phase else "not begun"


def _elapsed(rollout: NodeRollout, now: int) -> int | None:
    began, end = rollout.status.start_time, rollout.status.complete_time
    return ago(began, int(end.timestamp()) if end else now)


def _until(rollout: NodeRollout, now: int) -> int | None:
    opens = rollout.status.next_window_time
    return max(int(opens.timestamp()) - now, 0) if opens else None


def stalled(rollout: NodeRollout) -> str:
    """Why it goes on only when somebody helps; empty while it goes on by itself."""
    return said(rollout, "Stalled")


def said(rollout: NodeRollout, condition: str, reason: str = "") -> str:
    """What a condition that is true says; empty where it is not, or is for another reason."""
    found = _condition(rollout, condition)
    return (found.message or found.reason) if found and reason in ("", found.reason) else ""


def _condition(rollout: NodeRollout, type_: str) -> Condition | None:
    true = (one for one in rollout.status.conditions if one.status is ConditionStatus.TRUE)
    return next((one for one in true if one.type == type_), None)


def _stopped(rollout: NodeRollout, now: int) -> int | None:
    found = _condition(rollout, "Stalled")
    return ago(found.last_transition_time, now) if found else None


def _resting(rollout: NodeRollout) -> str:
    """That no operator has looked at it; or that it is paused, once what was in flight is finished: it goes
    on only when somebody resumes it."""
    if unseen(rollout):
        name = rollout.metadata.name
        nobody = f"no operator with the layer nodes has looked at NodeRollout {name} yet: {RUN_ONE}"
        return CANNOT_TELL if mute(rollout) else nobody
    if not rollout.spec.paused or rollout.spec.abort or rollout.status.phase is not RolloutPhase.PAUSED:
        return ""
    flying = any(_flies(one) for one in rollout.status.nodes)
    return "" if flying else f"paused: `shiplift resume rollout/{rollout.metadata.name}` goes on"


def unseen(rollout: NodeRollout) -> bool:
    """Whether no operator has told anything of it."""
    return not rollout.status.observed_generation


def mute(rollout: NodeRollout) -> bool:
    """Whether an operator that has told nothing of it has looked at it all the same."""
    return unseen(rollout) and FINALIZER in rollout.metadata.finalizers


def _flies(record: NodeStatus) -> bool:
    """Whether something is being done to it; one without a token waits for its next turn."""
    return record.state not in _AT_REST and (
        record.state is not NodeState.WAITING or record.token is not None
    )


def _lines(records: Iterable[NodeStatus], now: int) -> tuple[NodeLine, ...]:
    """The worst first: those that have waited longest before others of their state."""
    lines = [line_of(one, now) for one in records]
    return tuple(sorted(lines, key=lambda one: (_WORST.index(one.state), -(one.seconds or 0), one.name)))


def line_of(record: NodeStatus, now: int) -> NodeLine:
    return NodeLine(
        name=record.name,
        state=record.state,
        reason=record.reason or "",
        message=plain(record.message) or _WORDS.get(record.reason or "", ""),
        seconds=ago(record.last_transition_time, now),
        blockers=tuple(plain(kept(one)) for one in record.blockers),
    )


def _hints(rollout: NodeRollout, heard: Heard | None, now: int) -> Iterable[str]:
    name, status = rollout.metadata.name, rollout.status
    if _arrival(rollout) is not Arrival.NOT_YET:
        pass
    elif heard is not None and heard.silent(now) is not None:
        yield f"nothing happens until an operator runs again; {RUN_ONE} from here"
    elif heard is not None and heard.not_acting:
        yield f"the operator does nothing: {plain(heard.not_acting)}"
    elif mute(rollout):
        yield CANNOT_TELL
    elif unseen(rollout):
        yield f"no operator with the layer nodes has looked at it yet; {RUN_ONE}"
    elif status.observed_generation < rollout.metadata.generation:
        yield "the operator has not seen the last change of the spec yet"
    if rollout.spec.paused and not rollout.spec.abort:
        yield f"`shiplift resume rollout/{name}` goes on"
    if worst := next((one for one in _lines(status.nodes, now) if one.state is not NodeState.SKIPPED), None):
        yield f"`shiplift explain node/{worst.name}` tells all about the first of them"


def changes(before: RolloutsView | None, now: RolloutsView) -> list[str]:
    """A line for each thing to tell of the way from one look to the next."""
    then = {one.name: one for one in before.rollouts} if before else {}
    return [line for one in now.rollouts for line in _changes(then.get(one.name), one)]


def _changes(before: RolloutView | None, now: RolloutView) -> Iterable[str]:
    if before is None or (before.phase, before.nodes, before.running_pass) != (
        now.phase,
        now.nodes,
        now.running_pass,
    ):
        counted = f", {now.nodes} nodes" if now.nodes.total else ""
        text = f": {now.message}" if now.message else ""
        yield f"{now.name} {now.phase}{counted}{text}"
    was = {one.name: (one.state, one.reason) for one in before.lines} if before else {}
    for one in now.lines:
        if was.get(one.name) != (one.state, one.reason):
            yield f"node {one.name} {one.state.value.lower()}: {why(one)}"


def why(one: NodeLine) -> str:
    """What a node waits for; which pod is kept is said where the message does not name it."""
    said = one.message or one.reason or "-"
    named = not one.blockers or one.blockers[0].split()[1] in said
    return said if named else f"{said}; {one.blockers[0]}"
