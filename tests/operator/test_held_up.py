"""A step that is held up between the look at leadership and its write: the write is not sent any more."""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec

from shiplift.engine.step import Answer, Outcome, Step
from shiplift.facts import kinds
from shiplift.kube.credentials import load
from shiplift.kube.errors import Conflict
from shiplift.kube.lease import Timing
from shiplift.kube.part import Context, LayerPart
from shiplift.operator import install
from shiplift.operator.process import Operator, Settings
from tests.operator.driver import STAMPER, Stamper
from tests.operator.rig import SPACE, Rig
from tests.until import until


class HeldUp(Stamper):
    """Its steps have begun, and write when they are let go."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.begun, self.go = threading.Event(), threading.Event()
        self.outcomes: list[Outcome] = []

    def act(self, step: Step) -> Outcome:
        self.begun.set()
        self.go.wait(20)
        self.outcomes.append(super().act(step))
        return self.outcomes[-1]


def test_what_is_let_go_after_the_term_is_not_sent(rig: Rig) -> None:
    made: list[HeldUp] = []

    def make(context: Context) -> HeldUp:
        made.append(HeldUp(context))
        return made[-1]

    operator = _operator(rig.kubeconfig, msgspec.structs.replace(STAMPER, make=make))
    thread = threading.Thread(target=operator.run, daemon=True)
    thread.start()
    try:
        rig.ask_for_a_stamp("wanted")
        until(lambda: made and made[0].begun.is_set(), 30)
        _lead_instead(rig)
        until(lambda: not operator.leader.leading)
        made[0].go.set()
        (outcome,) = until(lambda: made[0].outcomes)
    finally:
        operator.stop()
        for layer in made:
            layer.go.set()
        thread.join(20)
    assert not thread.is_alive()
    assert outcome.answer is Answer.FAILED
    assert "does not lead" in outcome.message
    assert rig.stamp("wanted") == ""


def _operator(kubeconfig: Path, part: LayerPart) -> Operator:
    timing = Timing(duration=15.0, renew_deadline=10.0, retry=0.2, follow=0.1)
    settings = Settings(names=install.names(SPACE), listen=("127.0.0.1", 0), lease=timing)
    return Operator(load(kubeconfig), [part], settings)


def _lead_instead(rig: Rig) -> None:
    """Somebody who has not raised the fence yet, so that only the Lease speaks against the write."""
    for _ in range(20):
        lease = rig.lease()
        taken = lease | {"spec": lease["spec"] | {"holderIdentity": "another", "leaseDurationSeconds": 60}}
        try:
            rig.client.update(kinds.LEASE, taken)
        except Conflict:
            continue
        return
    raise AssertionError("the Lease is renewed too fast to be taken")
