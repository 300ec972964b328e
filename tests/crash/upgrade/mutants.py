"""Bugs of the conductor, and the plans that are likeliest to catch each: start, order, freezing,
settings, holds, what is a user's own, ends."""

from __future__ import annotations

from tests.crash.mutants import Mutant
from tests.crash.plans import Clean, Crash, CrashPoint, Spot
from tests.crash.upgrade.scenarios import STATUS

_CLEAN = Clean()

ALL: tuple[Mutant, ...] = (
    Mutant(
        "workers first (U2)",
        "nodes are begun before the control plane is upgraded",
        "upgrade/decide/decision.py",
        "    rolling.control_plane,\n    _nodes,\n",
        "    _nodes,\n    rolling.control_plane,\n",
        (("upgrade", _CLEAN),),
    ),
    Mutant(
        "start without a finalizer (U1)",
        "an upgrade runs, and nothing keeps its UpgradeConfig from going without it",
        "upgrade/decide/gates.py",
        "    refreshing.not_refreshed,\n    _finalizer,\n",
        "    refreshing.not_refreshed,\n",
        (("upgrade", _CLEAN),),
    ),
    Mutant(
        "target not frozen (U1)",
        "another version that is asked for meanwhile is gone to at once",
        "upgrade/decide/course.py",
        "(begun and status.target_version) or upgrade.spec.desired.version",
        "upgrade.spec.desired.version",
        (("another", _CLEAN),),
    ),
    Mutant(
        "abort leaves rollouts (U4)",
        "what was made for an upgrade stays when it is aborted",
        "upgrade/decide/ending.py",
        "    yield from deleted(course.rollouts)\n",
        "",
        (("abort", _CLEAN),),
    ),
    Mutant(
        "target not put back (U2)",
        "the user's migration keeps our target",
        "upgrade/act/migrations.py",
        "_forgotten if step.keep else _put_back",
        "_forgotten",
        (("own-migration", _CLEAN),),
    ),
    Mutant(
        "target without a record (U2)",
        "the user's migration gets our target, and nobody knows what it had",
        "upgrade/act/migrations.py",
        "    return _edit(ledger.change_in_place(live, UPGRADE_LEDGER, [Change(_TARGET, target)]))",
        '    return Edit({"spec": {"target": target}})',
        (("own-migration", _CLEAN),),
    ),
    Mutant(
        "paused is written (U4)",
        "layers are held by what is their user's own",
        "upgrade/act/marking.py",
        '{"metadata": {"annotations": {UPGRADE_HOLD: why or None}}}',
        '{"spec": {"paused": bool(why)}}',
        (("pause", _CLEAN),),
    ),
    Mutant(
        "holds are not let go (U4)",
        "what a pause held stays held when it is over",
        "upgrade/decide/ending.py",
        "        if have != why and rollout.metadata",
        "        if why and have != why and rollout.metadata",
        (("pause", _CLEAN),),
    ),
    Mutant(
        "finalizer stays (U1)",
        "an upgrade that is over keeps our finalizer",
        "upgrade/decide/gates.py",
        "steps=tuple(_free(course)), over=True",
        "over=True",
        (("upgrade", _CLEAN),),
    ),
    Mutant(
        "deleted and not cleaned up (U1)",
        "an UpgradeConfig that is deleted goes before what was made for it",
        "upgrade/decide/ending.py",
        "    if steps or _left(course):\n",
        "    if False:\n",
        (("delete", _CLEAN),),
    ),
    Mutant(
        "start told anew (U1)",
        "each look says that the upgrade started just now",
        "upgrade/tell/report.py",
        "    return course.status.start_time if told else None",
        "    return report.now if told else None",
        (("upgrade", _CLEAN),),
    ),
    Mutant(
        "through before it is stored (U2)",
        "traces go before it is stored that every step is over: a new leader begins again",
        "upgrade/decide/decision.py",
        '        return Line(Reason.CLEANING_UP, f"every node runs {course.target}", through=True)',
        '        return ending.cleaned_up(course) or Line(Reason.UPGRADED, "", over=True)',
        (
            ("own-migration", Crash(Spot(STATUS, "cluster", 8), CrashPoint.AFTER_REPLY)),
            ("own-migration", _CLEAN),
        ),
    ),
    Mutant(
        "settings are not kept (U2)",
        "a strategy that is changed half-way reaches no NodeRollout",
        "upgrade/decide/decision.py",
        "    kept = (*rolling.settings(course), *held)\n",
        "    kept = (*held,)\n",
        (("strategy", _CLEAN),),
    ),
)
