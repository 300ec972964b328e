"""The way of one machine, stage by stage: each says what is to be done, or that it is passed."""

from __future__ import annotations

from datetime import datetime, timedelta

from shiplift.api.machines import MachinePhase
from shiplift.api.values import duration
from shiplift.engine.versions import parse
from shiplift.machines.decide import recorded, refusals
from shiplift.machines.decide.founding import patient
from shiplift.machines.decide.recorded import Errand, pursue
from shiplift.machines.decide.stand import Case, Stand, acting, failed
from shiplift.machines.model import Command, CommandState, Facts, Mark, Purpose, Reason, Silent
from shiplift.machines.names import AGENT
from shiplift.machines.pools import Candidate
from shiplift.machines.steps import Claim

_AGENT_LIMIT = timedelta(minutes=15)
_RESTART_LIMIT = timedelta(minutes=10)
_INITIALISING = MachinePhase.INITIALISING


def quiet(name: str, silent: Silent, now: datetime) -> Stand:
    """A machine that does not answer: while it restarts that is as it should be."""
    text = silent.told
    restart = _restarting(silent)
    if restart is not None and now <= restart.deadline:
        return Stand(_INITIALISING, Reason.RESTARTING, f"restart machine {name}")
    if patient(silent, now):
        return Stand(MachinePhase.PENDING, Reason.SILENT, text)
    helps = f"mend that on {name}" if silent.final else f"bring {name} back"
    hint = silent.hint or f"{helps}, then run it again"
    return failed(MachinePhase.FAILED, Reason.SILENT, text, hint)


def _restarting(silent: Silent) -> Command | None:
    """The restart that it was last seen before."""
    if silent.seen is None:
        return None
    last = silent.seen.last(Purpose.RESTART.value)
    return last if last is not None and last.boot == silent.seen.boot_id else None


def legible(case: Case) -> Stand | None:
    """A worker whose journal is damaged holds up no other."""
    line = refusals.damaged(case.name, case.facts)
    return None if line is None else failed(MachinePhase.FAILED, line.reason, line.message, line.hint)


def fit(case: Case) -> Stand | None:
    """One that answers late, and has too little, holds up no other."""
    line = refusals.misfit(case.machine, case.facts)
    return None if line is None else failed(MachinePhase.FAILED, line.reason, line.message, line.hint)


def claimed(case: Case) -> Stand | None:
    """It carries the mark of the cluster; where the cluster begins is on record before all else."""
    if case.facts.mark is not None:
        return None
    if not case.founding.begun and not case.first:
        return Stand(MachinePhase.PENDING, Reason.WAITS, f"machine {case.founding.first} is taken first")
    mark = Mark(
        cluster=case.founding.cluster,
        first=case.founding.first,
        name=case.name,
        pool=case.machine.pool.metadata.name,
        role=case.machine.role,
    )
    return acting(case.view, MachinePhase.PENDING, Reason.CLAIMING, Claim(case.name, mark))


def not_ahead(case: Case) -> Stand | None:
    """A kubelet of a later minor than the control plane is not supported: the cluster is upgraded first."""
    planes = [one.name for one in case.view.wanted.candidates if one.control_plane and one.name != case.name]
    there = [facts for name in planes if (facts := case.view.known(name)) is not None and facts.joined]
    found = [parse(text.partition("-")[0]) for one in there if (text := one.packages.get("kubelet"))]
    wanted = parse(case.machine.kubelet)
    oldest = min(found, key=lambda one: one.line, default=wanted)
    if wanted.line <= oldest.line:
        return None
    pool = case.machine.pool.metadata.name
    text = f"kubelet {wanted} would be ahead of the control plane, which runs {oldest}"
    hint = f"upgrade the cluster first, or ask for a version of its minor in pool {pool}"
    return failed(MachinePhase.FAILED, Reason.AHEAD, text, hint)


def agent(case: Case) -> Stand | None:
    package = case.view.wanted.agent
    if package is None or case.facts.packages.get(AGENT) == package.version:
        return None
    what = f"install and start the agent {package.version} on machine {case.name}"
    errand = Errand(
        Purpose.AGENT, what, _AGENT_LIMIT, _INITIALISING, Reason.INSTALLING, digest=package.digest
    )
    return _installed(case, errand, AGENT)


def agent_of_node(case: Case) -> Stand | None:
    """A machine of the cluster that has no agent gets one; its version is a rollout's to change."""
    return None if AGENT in case.facts.packages else agent(case)


def software(case: Case) -> Stand | None:
    """What is installed is looked at: a command that ended well and left nothing is told as what it is."""
    missing = lacking(case.machine, case.facts)
    if not missing:
        return None
    packages = ", ".join(
        f"{name} {version.removesuffix('-*')}" for name, version in _named(case, missing).items()
    )
    errand = Errand(
        Purpose.SOFTWARE,
        f"install {packages} on machine {case.name}",
        duration(case.machine.pool.spec.initialise_timeout),
        _INITIALISING,
        Reason.INSTALLING,
    )
    return _installed(case, errand, next(iter(missing)))


def _named(case: Case, missing: dict[str, str]) -> dict[str, str]:
    """What is told of an installation: the same while it is under way, whatever is there by then."""
    last = case.facts.last(Purpose.SOFTWARE.value)
    under_way = last is not None and last.state in (CommandState.RECORDED, CommandState.RUNNING)
    return case.machine.packages() if under_way else missing


def _installed(case: Case, errand: Errand, package: str) -> Stand:
    """A package that is not there is installed, also where a run before this one has done so."""
    last = recorded.last_of(case, errand)
    if last is not None and last.well and last.run != case.view.run:
        # what was asked for then is not what is asked for now
        return recorded.replaced(case, errand) or recorded.attempt(case, errand)
    return pursue(case, errand) or _not_there(errand, case.facts, package)


def lacking(machine: Candidate, facts: Facts) -> dict[str, str]:
    """Packages that it should have in another version."""
    return {
        name: version
        for name, version in machine.packages().items()
        if not matches(version, facts.packages.get(name, ""))
    }


def matches(wanted: str, installed: str) -> bool:
    if wanted.endswith("-*"):
        version = wanted.removesuffix("-*")
        return installed == version or installed.startswith(f"{version}-")
    return wanted == installed


def _not_there(errand: Errand, facts: Facts, package: str) -> Stand:
    has = facts.packages.get(package) or "none"
    text = f"{errand.what}: it ended well, and {package} is {has}"
    return failed(errand.phase, Reason.COMMAND_FAILED, text, "is there a second source for that package?")


def restarted(case: Case) -> Stand | None:
    """It has booted after the last of its software was installed."""
    before = [one for one in case.facts.commands if one.purpose in (Purpose.AGENT, Purpose.SOFTWARE)]
    last = case.facts.last(Purpose.RESTART.value)
    since = max((one.number for one in before), default=0)
    errand = Errand(
        Purpose.RESTART, f"restart machine {case.name}", _RESTART_LIMIT, _INITIALISING, Reason.RESTARTING
    )
    if last is None or last.number < since:
        return recorded.attempt(case, errand)
    if last.boot != case.facts.boot_id:
        return None
    if last.state is CommandState.RECORDED or last.failed or recorded.lost(last):
        return _again(case, errand, last)
    if case.now > last.deadline:
        text = f"machine {case.name} was to restart, and has not"
        return failed(_INITIALISING, Reason.COMMAND_FAILED, text, "restart it, then run it again")
    return Stand(_INITIALISING, Reason.RESTARTING, errand.what)


def _again(case: Case, errand: Errand, last: Command) -> Stand | None:
    """The boot id is the one from before: whoever said that it ended well spoke of the request alone."""
    if last.state is CommandState.LOST and case.now <= last.deadline:
        return Stand(_INITIALISING, Reason.RESTARTING, errand.what)
    return pursue(case, errand)


def initialised(case: Case) -> Stand | None:
    """The stages that every machine passes before the cluster is thought of."""
    return next((found for stage in _INITIAL if (found := stage(case)) is not None), None)


_INITIAL = (not_ahead, fit, claimed, agent, software, restarted)
