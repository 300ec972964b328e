"""Nodes are upgraded by a NodeRollout for each part of the cluster: the control plane, then the others.

The conductor makes a NodeRollout when its turn has come, reads its status, and keeps three things of it: the
mark that holds it, and windows and strategy as the UpgradeConfig has them by now. One that somebody deletes
is made again; one that somebody aborts waits for `retry`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import msgspec

from shiplift.api.marks import SKIP_ROLLOUT
from shiplift.api.nodes import NodePolicy, NodeRollout, NodeRolloutSpec, NodeState, RolloutPhase
from shiplift.api.values import (
    ConditionStatus,
    LabelSelector,
    SelectorOperator,
    SelectorRequirement,
    duration,
)
from shiplift.api.windows import to_the_minute
from shiplift.engine import versions
from shiplift.facts.nodes import CONTROL_PLANE as ROLES
from shiplift.upgrade.decide import approving, leaving, silent, windows
from shiplift.upgrade.decide.course import LAYERS_LOOK, PARTS, Course, is_ours, runs
from shiplift.upgrade.decide.plan import node_policy
from shiplift.upgrade.model import Line, Machine, Reason, Stage
from shiplift.upgrade.names import CONTROL_PLANE, rollout_name
from shiplift.upgrade.steps import AimRollout, MakeRollout, SetRollout

_FAILED = (NodeState.FAILED, NodeState.QUARANTINED)
LEAVE_OUT = f"or leave it out with the annotation {SKIP_ROLLOUT}=true"
_TIMED = (NodeState.CHANGING, NodeState.VERIFYING, NodeState.REVERTING)
_LATE = timedelta(minutes=30)
"""So long after the time that a change may take it has failed, where anybody looks."""
_NODES_LAYER = "an operator with the layer nodes has to run"


def control_plane(course: Course) -> Line | None:
    """The control plane is upgraded; None where it is."""
    line = rolled(course, CONTROL_PLANE, Stage.CONTROL_PLANE, Reason.CONTROL_PLANE)
    if line is None or line.reason is not Reason.CONTROL_PLANE or line.steps or _is_at_work(course):
        return line
    unknown = silent.planes(course)
    return line if unknown is None else unknown._replace(message=f"{line.message}; {unknown.message}")


def _is_at_work(course: Course) -> bool:
    """Whether a control-plane node is being changed: its agent may say less meanwhile."""
    rollout = course.rollout(CONTROL_PLANE)
    return rollout is not None and any(one.token is not None for one in rollout.status.nodes)


def rolled(course: Course, part: str, stage: Stage, reason: Reason) -> Line | None:
    """One part of the cluster has its NodeRollout, and that is complete; None where it is."""
    rollout = course.rollout(part)
    if rollout is None:
        return _begun(course, part, stage, reason)
    line = _of(rollout, course, reason)
    return None if line is None else line._replace(at=stage)


def _begun(course: Course, part: str, stage: Stage, reason: Reason) -> Line | None:
    machines = course.machines(part)
    if not machines or (_nothing_to_do(course, part) and all(runs(one, course.target) for one in machines)):
        return None
    if (line := may_begin(course)) is not None:
        return line._replace(at=stage)
    name = rollout_name(course.target, part)
    step = MakeRollout(name, course.uid, spec_of(course, part))
    return Line(reason, f"NodeRollout {name} is made", steps=(step,), at=stage)


def unchosen(course: Course) -> Line | None:
    """Every NodeRollout is complete, and a node that takes part does not run the target: its labels were
    changed half-way, or it has just come. None where there is no such node."""
    left = course.behind
    if not left:
        return None
    if past := [one for one in left if versions.beyond(one.kubelet, course.target)]:
        return beyond(course, past[0])._replace(at=Stage.NODES)
    one = next((one for one in left if one.only_master), left[0])
    text = f"no NodeRollout chooses node {one.name}, which runs {one.kubelet}"
    if course.rests:
        return resting(course, text)._replace(at=Stage.NODES)
    if one.only_master:
        why = f": it has the label {ROLES[1]} alone; give it {ROLES[0]} too, or neither, {LEAVE_OUT}"
        return Line(Reason.STEP_STALLED, text + why, stalled=True, at=Stage.NODES)
    if course.waits_at(Stage.NODES) < LAYERS_LOOK:
        return Line(Reason.NODES, text, due=course.now + LAYERS_LOOK, at=Stage.NODES)
    why = f"; see its labels {' and '.join(ROLES)}, {LEAVE_OUT}"
    return Line(Reason.STEP_STALLED, text + why, stalled=True, at=Stage.NODES)


def beyond(course: Course, one: Machine) -> Line:
    """A node that no upgrade makes what the target is."""
    text = f"node {one.name} runs {one.kubelet}, which no upgrade makes {course.target}"
    return Line(Reason.STEP_STALLED, f"{text}; take it out of the cluster, {LEAVE_OUT}", stalled=True)


def _nothing_to_do(course: Course, part: str) -> bool:
    """Of control-plane nodes kubelets say nothing about their API servers."""
    if part != CONTROL_PLANE:
        return True
    servers = course.view.api_servers
    return all(versions.reaches(one, course.target) for one in servers.values())


def may_begin(course: Course) -> Line | None:
    """Why the next step is not begun now; None where it is."""
    if course.rests:
        return resting(course)
    if course.retries:
        return Line(Reason.RETRYING, "what has failed is let go first")
    return approving.missing(course) or windows.closed(course)


def resting(course: Course, said: str = "") -> Line:
    """What is told of an upgrade that begins nothing new."""
    more = f" ({said})" if said else ""
    if course.spec.paused:
        return Line(Reason.PAUSED, f"paused: what is in flight ends{more}; `shiplift resume` goes on")
    text = (
        f"its policy is gone: what is in flight ends{more}; set spec.onPolicyLost of UpgradeConfig cluster to"
        " Finish to go on without it, or abort"
    )
    return Line(Reason.POLICY_LOST, text, stalled=True)


def spec_of(course: Course, part: str) -> dict[str, Any]:
    """The NodeRollout of one part: the user's strategy and windows, for the nodes of that part."""
    policy = msgspec.structs.asdict(node_policy(course.spec))
    made = NodeRolloutSpec(
        version=course.target,
        node_selector=_selector(part),
        windows=course.spec.windows,
        **policy,
    )
    return msgspec.to_builtins(made)


def settings(course: Course) -> Iterator[SetRollout]:
    """NodeRollouts have the windows that the UpgradeConfig has now, and the strategy, once somebody has
    approved that where it is asked for. Windows that nobody can read leave those from before in force."""
    for rollout in course.rollouts:
        if rollout.spec.abort or rollout.metadata.deletion_timestamp is not None:
            continue
        wanted = _set(rollout.spec, course)
        if wanted != rollout.spec:
            name, uid = rollout.metadata.name, rollout.metadata.uid
            yield SetRollout(name, uid, _settings(wanted))


def aimed(course: Course) -> Iterator[AimRollout]:
    """NodeRollouts go where the upgrade goes, for the nodes of their part, whatever somebody writes."""
    for part in PARTS:
        rollout = course.rollout(part)
        if rollout is None or not is_ours(rollout, course.uid) or rollout.spec.abort:
            continue
        have, about = rollout.spec, rollout.metadata
        wanted = msgspec.structs.replace(have, version=course.target, node_selector=_selector(part), pools=())
        if wanted != have and about.deletion_timestamp is None:
            yield AimRollout(about.name, about.uid, _aim(have, wanted))


def _aim(have: NodeRolloutSpec, wanted: NodeRolloutSpec) -> dict[str, Any]:
    """Of its fields those that somebody has changed; None for what is absent."""
    old, new = msgspec.to_builtins(have), msgspec.to_builtins(wanted)
    return {name: new.get(name) for name in _AIM if old.get(name) != new.get(name)}


_AIM = ("version", "nodeSelector", "pools")


def _set(spec: NodeRolloutSpec, course: Course) -> NodeRolloutSpec:
    if windows.unusable(course) is None:
        spec = msgspec.structs.replace(spec, windows=course.spec.windows)
    if approving.missing(course) is None:
        spec = msgspec.structs.replace(spec, **msgspec.structs.asdict(node_policy(course.spec)))
    return spec


def _settings(spec: NodeRolloutSpec) -> dict[str, Any]:
    """Windows and strategy as they are written; None for what is absent."""
    said: dict[str, Any] = msgspec.to_builtins(spec)
    names = ["windows", *(one.encode_name for one in msgspec.structs.fields(NodePolicy))]
    return {name: said.get(name) for name in names}


def _selector(part: str) -> LabelSelector:
    """By the labels of control-plane nodes; where both are in use, one is enough to be one."""
    if part == CONTROL_PLANE:
        return LabelSelector(
            match_expressions=(SelectorRequirement(key=ROLES[0], operator=SelectorOperator.EXISTS),)
        )
    return LabelSelector(
        match_expressions=tuple(
            SelectorRequirement(key=role, operator=SelectorOperator.DOES_NOT_EXIST) for role in ROLES
        )
    )


def _of(rollout: NodeRollout, course: Course, reason: Reason) -> Line | None:
    """What a NodeRollout says of itself; None where it is complete."""
    name, status = rollout.metadata.name, rollout.status
    if not is_ours(rollout, course.uid):
        text = f"NodeRollout {name} has the name that ours would have; delete it"
        return Line(Reason.NAME_TAKEN, text, stalled=True)
    if rollout.metadata.deletion_timestamp is not None:
        line = Line(reason, f"NodeRollout {name} was deleted by somebody; it is made again when it is gone")
        return leaving.told(line, leaving.kept(course.now, (rollout,)))
    if rollout.spec.abort:
        text = f"NodeRollout {name} was aborted by somebody; `shiplift retry` makes a new one"
        return Line(Reason.STEP_FAILED, text, stalled=True)
    if status.observed_generation < rollout.metadata.generation:
        silent = course.nobody_looks_at(rollout, status.observed_generation)
        text = f"NodeRollout {name} has not been looked at yet: {_NODES_LAYER}"
        return Line(Reason.STEP_STALLED if silent else reason, text, stalled=silent)
    return None if status.phase is RolloutPhase.COMPLETE else _under_way(rollout, course, reason)


def _under_way(rollout: NodeRollout, course: Course, reason: Reason) -> Line:
    name, status = rollout.metadata.name, rollout.status
    said = f"NodeRollout {name}: {status.message}"
    if course.spec.paused or (course.rests and reason is not Reason.CONTROL_PLANE):
        return resting(course, said)
    if status.phase is RolloutPhase.STOPPED:
        return Line(Reason.STEP_FAILED, f"{said}; `shiplift retry` tries again", stalled=True)
    if rollout.spec.paused:
        return Line(Reason.STEP_STALLED, f"NodeRollout {name} was paused by somebody: {status.message}")
    silent = late(course, rollout)
    stalled = is_stalled(rollout) or bool(silent)
    return Line(Reason.STEP_STALLED if stalled else reason, said + silent, stalled=stalled)


def late(course: Course, rollout: NodeRollout) -> str:
    """What to add where a layer that looks would have given up the change of a node by now; empty where it
    would not."""
    patience = duration(rollout.spec.node_timeout) + _LATE
    for one in rollout.status.nodes:
        since = one.last_transition_time if one.token is not None and one.state in _TIMED else None
        if since is not None and course.now - since >= patience:
            return f"; nothing is told of node {one.name} since {to_the_minute(since)}: {_NODES_LAYER}"
    return ""


def is_stalled(rollout: NodeRollout) -> bool:
    """Whether it says that only somebody can help."""
    said = rollout.status.conditions
    return any(one.type == "Stalled" and one.status is ConditionStatus.TRUE for one in said)


def has_failed(rollout: NodeRollout) -> bool:
    """Whether something of it has failed that a pause lets go."""
    failed = any(one.state in _FAILED for one in rollout.status.nodes)
    return failed or rollout.status.phase is RolloutPhase.STOPPED
