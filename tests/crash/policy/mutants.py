"""Bugs of the layer `policy` and of its outbox, and the plans that are likeliest to catch each."""

from __future__ import annotations

from tests.crash.mutants import Mutant
from tests.crash.plans import Clean, Crash, CrashPoint, Failure, Fault, Spot

_CLEAN = Clean()
_ASK = Spot("policies: GET policy")
_OUTBOX = "patch configmaps [data.box]"
_BOX = "shiplift-system/shiplift-outbox-policy"

ALL: tuple[Mutant, ...] = (
    Mutant(
        "a running upgrade goes with its policy (P5)",
        "an UpgradeConfig is deleted after its start",
        "policy/decide/gates.py",
        "    if has_started(config):\n",
        "    if has_started(config) and not config:\n",
        (("while-it-runs", _CLEAN),),
    ),
    Mutant(
        "the target is not frozen (P6)",
        "a running upgrade gets another target",
        "policy/decide/gates.py",
        '    if not is_running(config) or versions.goal(wanted.desired.version or "") == target:\n',
        "    if target:\n",
        (("while-it-runs", _CLEAN),),
    ),
    Mutant(
        "what was made by hand is overwritten (P5)",
        "a user's own UpgradeConfig is changed",
        "policy/decide/gates.py",
        "    if case.current is None or PROVIDER_LABEL in case.current.labels:\n",
        "    if case.now:\n",
        (("made-by-hand", _CLEAN),),
    ),
    Mutant(
        "confirmed without asking (P7)",
        "whoever is about to start is told that all is well before the provider was asked",
        "policy/decide/gates.py",
        '    return _confirmed(case, case.answer.purpose.refresh if case.answer is not None else "")\n',
        "    return _confirmed(case, schedule.wish(case.view))\n",
        (("about-to-start", _CLEAN),),
    ),
    Mutant(
        "a failure is no policy (P2)",
        "an UpgradeConfig is deleted because the provider failed",
        "policy/providers/asking.py",
        "            raise Unanswered(str(error), wait) from None\n",
        "            return None if wait is None else None\n",
        (
            ("while-it-runs", Fault(_ASK, Failure.ERROR)),
            ("comes-and-goes", Fault(Spot(_ASK.step, "", 4), Failure.ERROR)),
        ),
    ),
    Mutant(
        "replaced by deleting (P6)",
        "there is a moment without an UpgradeConfig",
        "policy/act.py",
        "            UPGRADE_CONFIG, body, uid=step.uid, resource_version=str(step.version), force=True\n",
        "            UPGRADE_CONFIG, body,"
        " uid=self._client.delete(UPGRADE_CONFIG, KEY, uid=step.uid) and None\n",
        (("comes-and-goes", _CLEAN),),
    ),
    Mutant(
        "users' fields are the policy's (P6)",
        "what a user has set is taken back",
        "policy/act.py",
        '        "spec": dict(policy.fields),\n',
        '        "spec": {"paused": False, **policy.fields},\n',
        (("comes-and-goes", _CLEAN),),
    ),
    Mutant(
        "fields that are gone stay (P6)",
        "what a policy no longer says is still there",
        "policy/decide/gates.py",
        "    if policy.same_as(config_of(row).spec) and marked == wanted:\n",
        "    if policy.same_as(config_of(row).spec) and marked:\n",
        (("made-by-hand", _CLEAN), ("comes-and-goes", _CLEAN), ("about-to-start", _CLEAN)),
    ),
    Mutant(
        "written again and again (P2)",
        "what has not changed is written",
        "policy/decide/gates.py",
        "    if policy.same_as(config_of(row).spec) and marked == wanted:\n",
        "    if not row.labels:\n",
        (("about-to-start", _CLEAN),),
    ),
    Mutant(
        "taken out before it was delivered (P8)",
        "a report is lost in a crash",
        "policy/act.py",
        "            report = msgspec.json.decode(letter.body, type=Report)\n",
        "            report = self._outbox.done(letter) or msgspec.json.decode(letter.body, type=Report)\n",
        tuple(
            ("ocm", Crash(Spot(_OUTBOX, _BOX, number), point))
            for number in (2, 4)
            for point in (CrashPoint.AFTER_REPLY, CrashPoint.BEFORE_REPLY)
        ),
    ),
    Mutant(
        "a refusal is a delivery (P8)",
        "a report that OCM could not take now is not sent again",
        "policy/act.py",
        "_NEVER = frozenset({400, 404, 405, 409, 410, 422})\n",
        "_NEVER = frozenset({400, 404, 405, 409, 410, 422, 429, 500, 503, 504})\n",
        (("ocm", Fault(Spot("policies: PATCH api"), Failure.ERROR)),),
    ),
    Mutant(
        "told from the beginning each time (P8)",
        "OCM hears of a start after the end",
        "policy/decide/reports.py",
        "    return State(state) if of == about and state in _STATES else None\n",
        "    return None\n",
        (("ocm", _CLEAN),),
    ),
    Mutant(
        "a lost policy is not told (P5)",
        "nobody learns that the policy of a running upgrade is gone",
        "policy/decide/gates.py",
        "        return Judgement(kept.steps, lost=is_running(config))\n",
        "        return Judgement(kept.steps)\n",
        (("while-it-runs", _CLEAN),),
    ),
    Mutant(
        "a later policy is not shown (P6)",
        "nobody learns that a policy waits",
        "policy/decide/gates.py",
        "    return Judgement(queued=Queued(desired=wanted.desired, upgrade_at=wanted.upgrade_at))\n",
        "    return Judgement()\n",
        (("while-it-runs", _CLEAN),),
    ),
    Mutant(
        "a notice is taken out before it is delivered (U7)",
        "whoever is to be told never hears of it",
        "notify/act.py",
        "        body = msgspec.json.decode(letter.body, type=Addressed)\n",
        "        body = self._outbox.done(letter) or msgspec.json.decode(letter.body, type=Addressed)\n",
        (("told", Fault(Spot("policies: POST hook"), Failure.ERROR)),),
    ),
    Mutant(
        "the end of an upgrade is not written down",
        "the journal says for ever that it runs",
        "journal/running.py",
        "    if one is None or one.status.target_version is None:\n",
        "    if one is None:\n",
        (("told", _CLEAN),),
    ),
)
