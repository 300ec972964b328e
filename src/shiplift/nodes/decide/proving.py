"""The end of a node's way: what its agent says is looked at, hooks run, and the node is given back."""

from __future__ import annotations

from shiplift.api.marks import TARGET_LABEL, label_value
from shiplift.api.nodes import NodeState
from shiplift.engine.step import Step
from shiplift.engine.versions import normal
from shiplift.nodes.decide import failing, hooks, resting, verifying
from shiplift.nodes.decide.case import Case, Passed
from shiplift.nodes.decide.verifying import Doubt
from shiplift.nodes.model import HookState, Reason


def proved(case: Case) -> Passed:
    if not case.carries_ours and case.record.state is not NodeState.REVERTING:
        return _through(case)
    if (case.cordoned or case.our_cordon) and not case.ordered:
        # somebody took the order off, and perhaps our mark: our order is there for as long as our cordon
        again = case.allow() if case.marked else case.cordon()
        return case.waits(case.record.reason, case.record.message, again)
    if (found := verifying.doubt(case)) is not None:
        return _doubted(case, found)
    if case.record.state is NodeState.REVERTING:
        told = f"{case.record.message}; its versions from before were put back"
        return failing.left_alone(case, case.record.reason or Reason.AGENT_FAILED, told)
    return _hooks_after(case)


def _doubted(case: Case, found: Doubt) -> Passed:
    if case.record.state is NodeState.SOAKING:
        # it had been as it should be: it has as long as any to become so again
        return Passed(case.to(NodeState.VERIFYING, found.reason, found.message).record, found.steps)
    if found.final:
        return failing.failed(case, found.reason, found.message)
    return case.waits(found.reason, found.message, *found.steps, due=found.due)


def _hooks_after(case: Case) -> Passed:
    first = hooks.waited_for(case, after=True) if case.operation.wants_cordon else None
    if first is None:
        return _giving_back(case)
    hook, job = first
    if job is not None and job.state is HookState.FAILED:
        return failing.failed(case, Reason.HOOK_FAILED, f"hook {hook.name}: {job.message or 'failed'}")
    if case.ending and not hooks.is_waited_for(case, job):
        return _giving_back(case)
    steps = () if job is not None else (hooks.make(case, hook, after=True),)
    return _soaking(case, hooks.reason(case, job), hooks.told(hook, job, "uncordoned"), *steps)


def _giving_back(case: Case) -> Passed:
    """While workloads move to the version that it has now, it takes no pods before it carries its mark: held
    pods would come to it."""
    row, target = case.member.row, case.view.migration.target
    unmarked = row.labels.get(TARGET_LABEL) != label_value(target)
    waits = case.our_cordon and unmarked and not case.ending
    if target and waits and normal(row.kubelet_version) == normal(target):
        told = f"it is uncordoned once it has label {TARGET_LABEL}={label_value(target)} of the migration"
        return _soaking(case, Reason.VERIFYING, told)
    return case.waits(Reason.VERIFYING, "it is as it should be and is given back", case.given_back())


def _soaking(case: Case, reason: Reason, message: str, *steps: Step) -> Passed:
    """It is as it should be, and something is waited for before it takes pods again."""
    return Passed(case.to(NodeState.SOAKING, reason, message).record, steps)


def _through(case: Case) -> Passed:
    steps = resting.closing(case)
    return Passed(case.record, steps) if steps else Passed(None, through=True)
