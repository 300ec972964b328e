"""What the loop gets from the layer: what was decided is kept while the view is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from shiplift.engine.decision import Requeue, await_change, requeue
from shiplift.kube.client import Client
from shiplift.kube.events import Recorder
from shiplift.kube.part import Context
from shiplift.nodes import controller
from shiplift.nodes.controller import PART, Nodes, with_hooks
from shiplift.nodes.model import Hooked, HookState, Rolling, View
from shiplift.nodes.steps import SetFinalizer
from tests.nodes.seen import Seen

NOW = datetime(2026, 11, 1, tzinfo=UTC)


class Deciding:
    """Counts decisions, each as it is told to be."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, decision: Rolling) -> None:
        self.times, self.decision = 0, decision
        monkeypatch.setattr(controller, "decide", self)
        context = Context(cast("Client", None), cast("Any", Seen()), cast("Recorder", None), 1)
        self.layer = Nodes(context)

    def __call__(self, _view: View, _now: datetime) -> Rolling:
        self.times += 1
        return self.decision

    def after(self, view: View, seconds: float) -> Rolling:
        return self.layer.decide(view, NOW + timedelta(seconds=seconds))


def test_the_same_view_is_not_decided_upon_again_before_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    deciding, view = Deciding(monkeypatch, Rolling(look_again=requeue(timedelta(seconds=30)))), View()
    deciding.after(view, 0)
    assert deciding.after(view, 10).look_again == Requeue(timedelta(seconds=20))
    assert deciding.times == 1
    deciding.after(view, 30)
    assert deciding.times == 2


def test_what_waits_for_a_change_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    deciding, view = Deciding(monkeypatch, Rolling(look_again=await_change())), View()
    for seconds in (0, 1000):
        deciding.after(view, seconds)
    assert deciding.times == 1
    deciding.after(View(), 1000)
    assert deciding.times == 2


def test_steps_are_decided_anew_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    deciding, view = Deciding(monkeypatch, Rolling(steps=(SetFinalizer("r", "u", True),))), View()
    for seconds in (0, 1):
        deciding.after(view, seconds)
    assert deciding.times == 2


@pytest.mark.parametrize(
    ("state", "look_again"),
    [
        (HookState.RUNNING, Requeue(timedelta(seconds=2))),
        (HookState.SUCCEEDED, await_change()),
        (HookState.FAILED, await_change()),
    ],
)
def test_a_job_that_runs_is_looked_at_again(state: HookState, look_again: Any) -> None:
    view = View(hooks={("ops", "pre"): Hooked("ops", "pre", "u", 1, state)})
    assert with_hooks(view, Rolling()).look_again == look_again


def test_an_earlier_look_is_kept() -> None:
    view = View(hooks={("ops", "pre"): Hooked("ops", "pre", "u", 1, HookState.RUNNING)})
    soon = requeue(timedelta(seconds=1))
    assert with_hooks(view, Rolling(look_again=soon)).look_again == soon


def test_no_right_of_the_layer_is_wider_than_what_it_writes() -> None:
    verbs = {
        (resource, verb) for rule in PART.rules for resource in rule["resources"] for verb in rule["verbs"]
    }
    assert not {verb for _, verb in verbs} & {"*", "deletecollection", "update"}
    assert not {resource for resource, _ in verbs} & {"*", "secrets", "leases", "jobs", "configmaps"}
    assert ("nodes", "delete") not in verbs
