"""Steps on PodDisruptionBudgets: holds made and taken away, users' budgets held and given back."""

from __future__ import annotations

import re

from shiplift.api.marks import HELD_LABEL, HOLD_LEDGER, MANAGED_BY, MANAGER
from shiplift.drain.forgetting import forget
from shiplift.drain.steps import ForgetEviction
from shiplift.engine import ledger
from shiplift.engine.ledger import Change, Entry, Ledger
from shiplift.engine.pointer import ABSENT, get, patch, pointer
from shiplift.engine.step import Outcome
from shiplift.facts import kinds
from shiplift.kube.changing import Edit, Subject, change
from shiplift.kube.client import Client
from shiplift.kube.outcomes import Json, done, selector_json
from shiplift.workloads.steps import DeleteHold, HoldBudget, MakeHold, RestoreBudget

_AT_LEAST, _AT_MOST = "minAvailable", "maxUnavailable"
_NOTHING: Json = {_AT_LEAST: "100%", _AT_MOST: 0}
"""What each field says where no pod may go."""
_LABEL = pointer("metadata", "labels", HELD_LABEL)
_PERCENT = "pct"
"""In the value of a label."""
_LIMIT = re.compile(rf"[0-9]{{1,9}}({_PERCENT})?|")
BudgetStep = HoldBudget | MakeHold | RestoreBudget | DeleteHold | ForgetEviction
_KIND = kinds.POD_DISRUPTION_BUDGET


def take(client: Client, step: BudgetStep) -> Outcome:
    match step:
        case ForgetEviction():
            return forget(client, step)
        case MakeHold():
            return _make_hold(client, step)
        case HoldBudget():
            return change(client, step, _subject(step, step.workload.namespace), _held)
        case RestoreBudget():
            return change(client, step, _subject(step, step.namespace), _restored)
        case DeleteHold():
            written = client.delete(
                _KIND, step.name, step.namespace, uid=step.uid, resource_version=str(step.version)
            )
            return done(step, written)


def _make_hold(client: Client, step: MakeHold) -> Outcome:
    id_ = step.workload
    about = {"name": step.name, "labels": {MANAGED_BY: MANAGER}}
    spec = {
        "maxUnavailable": 0,
        "selector": selector_json(step.selector),
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }
    return done(step, client.create(_KIND, {"metadata": about, "spec": spec}, id_.namespace))


def _subject(step: HoldBudget | RestoreBudget, namespace: str) -> Subject:
    return Subject(_KIND, step.name, namespace, step.uid, "budget")


def _held(live: Json) -> Edit:
    return _edit(ledger.change_in_place(live, HOLD_LEDGER, nothing_allowed(live)))


def _restored(live: Json) -> Edit:
    return _edit(given_back(live))


def _edit(patched: ledger.Patched) -> Edit:
    return Edit(patched.patch, "; ".join(one.describe() for one in patched.kept))


def nothing_allowed(live: Json) -> list[Change]:
    """In the field that the budget uses already: with both set, its owner could not apply it again. What the
    budget said is on a label too."""
    field = _AT_LEAST if get(live, pointer("spec", _AT_LEAST)) is not ABSENT else _AT_MOST
    said = get(live, pointer("spec", field))
    return [
        Change(pointer("spec", field), _NOTHING[field]),
        Change(_LABEL, field if said is ABSENT else f"{field}.{said}".replace("%", _PERCENT)),
    ]


def given_back(live: Json) -> ledger.Patched:
    """The patch that gives a budget back what it said: by its record, or where somebody took that off, by its
    label."""
    if get(live, ledger.ANNOTATIONS + pointer(HOLD_LEDGER)) is not ABSENT:
        return ledger.undo_in_place(live, HOLD_LEDGER)
    undone = _by_label(get(live, _LABEL)).undo(live)
    return ledger.Patched(patch(live, undone.document), undone.kept)


def _by_label(text: Json) -> Ledger:
    """The record that a label stands for; of one that is not as we write it, only the label is ours."""
    if text is ABSENT:
        return Ledger()
    field, _, limit = str(text).partition(".")
    label = Entry(_LABEL, ABSENT, text)
    if field not in _NOTHING or not _LIMIT.fullmatch(limit):
        return Ledger((label,))
    said = int(limit) if limit.isdecimal() else limit.replace(_PERCENT, "%") or ABSENT
    return Ledger((Entry(pointer("spec", field), said, _NOTHING[field]), label))
