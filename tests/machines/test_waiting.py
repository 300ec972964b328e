"""How long bootstrap waits for whom: a computer that slept, a machine that answers looks and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, cast

import msgspec
import pytest
from msgspec.structs import replace

from shiplift.engine.step import Answer, Started, Step
from shiplift.machines import bootstrap
from shiplift.machines.act import Actor
from shiplift.machines.bootstrap import Bootstrap
from shiplift.machines.hosts import Hosts
from shiplift.machines.model import Mark, Purpose, Reason, Silent, View
from shiplift.machines.pools import Wanted
from shiplift.machines.rests import Rests
from shiplift.machines.ssh.door import Door, Target
from shiplift.machines.ssh.errors import CutOffError, StuckError
from shiplift.machines.steps import Claim, Record, Run
from tests.machines.world import START, World, names, wanted

HUNG = 60.0


class Played:
    """The door to the machines of a world; a request takes no time there, unless nobody answers it."""

    def __init__(self, world: World, asked: Wanted) -> None:
        self.world, self.asked = world, asked
        self.hangs: set[str] = set()
        self.hung: list[tuple[str, datetime]] = []
        """What was asked in vain, and since when."""
        self.slept = timedelta(0)
        self.cut: set[str] = set()

    def now(self) -> datetime:
        return self.world.now

    def ask_all(self, requests: Mapping[Target, object], _seconds: float) -> dict[Target, object]:
        self.world.now += self.slept
        self.world.tick(self._view())
        return {one: self._said(one.name) for one in requests}

    def _said(self, name: str) -> object:
        if name in self.cut:
            return CutOffError("the connection was lost")
        return msgspec.to_builtins(self.world.machines[name])

    def _view(self) -> View:
        return View(wanted=self.asked, hosts=dict(self.world.machines), run="r", fresh="f")

    def ask(self, to: Target, request: dict[str, Any], _seconds: float) -> dict[str, object]:
        if to.name in self.hangs:
            self.hung.append((request["op"], self.world.now))
            self.world.now += timedelta(seconds=HUNG)
            raise StuckError(f"it did not answer in {HUNG:.0f} s", HUNG)
        if request["op"] == "ask":
            return {"said": ["abcdef.0123456789abcdef", "a" * 64]}
        self.world.act(self._view(), _step(to.name, request))
        return {}


def _step(machine: str, request: dict[str, Any]) -> Step:
    if request["op"] == "claim":
        return Claim(machine, msgspec.convert(request["mark"], Mark))
    purpose, _, attempt = request["id"].rpartition("-")
    times = request.get("started", START), request.get("deadline", START)
    started = Started(request["id"], *times, int(attempt))
    if request["op"] == "record":
        return Record(machine, Purpose(purpose), started, request["digest"])
    return Run(started=started, machine=machine, purpose=Purpose(purpose), what="")


@pytest.fixture
def played(authority: str) -> Played:
    asked = wanted(1, 2)
    world = World(*names(asked))
    plane = world.machines["cp-1"]
    world.machines["cp-1"] = replace(plane, ca=authority, server="https://api.example.test:6443")
    return Played(world, asked)


def run(played: Played, monkeypatch: pytest.MonkeyPatch) -> tuple[Bootstrap, Any]:
    for name in ("_PAUSE", "_AFTER_TROUBLE"):
        monkeypatch.setattr(bootstrap, name, 0.0)
    work = Bootstrap(cast("Door", played), played.asked, played.now)
    return work, work.until_over(lambda _: None)


def test_a_machine_that_answers_looks_and_nothing_else_keeps_the_others_for_minutes_at_most(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    played.hangs = {"w-2"}
    _, decision = run(played, monkeypatch)
    assert (decision.reason, played.world.nodes) == (Reason.INCOMPLETE, {"cp-1", "w-1"})
    assert decision.message.startswith("2 of 3 machines are part of the cluster; w-2: take machine w-2")
    assert decision.message.endswith("it did not answer in 60 s, 3 times in a row")
    assert [one for one, _ in played.hung] == ["claim"] * 3
    second, third = (since for _, since in played.hung[1:])
    assert third - second >= timedelta(seconds=2 * HUNG)
    init = next(one for one in played.world.machines["cp-1"].commands if one.purpose == "init")
    assert init.started - START < timedelta(minutes=6)


def test_a_machine_is_not_asked_again_while_it_is_left_alone(played: Played) -> None:
    played.hangs = {"cp-1"}
    actor = Actor(cast("Door", played), played.asked, "r", clock=played.now)
    mark = Mark(cluster="c", first="cp-1", name="w-1", pool="workers", role=played.asked.candidates[-1].role)
    claim, other = Claim("cp-1", mark), Claim("w-1", mark)
    view = played._view()
    answers = [actor.act(claim, view).answer for _ in range(2)]
    assert (answers, actor.waits(claim), actor.waits(other)) == ([Answer.UNKNOWN] * 2, True, False)
    started = Started.begin("join", START, timedelta(minutes=5))
    join = Run(started=started, machine="w-1", purpose=Purpose.JOIN, what="", via="cp-1")
    assert actor.waits(join)
    played.world.now += timedelta(seconds=HUNG)
    assert not actor.waits(claim)
    played.hangs = set()
    assert actor.act(claim, view).ok


def test_questions_that_wait_side_by_side_count_once() -> None:
    rests = Rests()
    for now in (60.0, 60.1, 60.2):
        rests.failed("cp-1", 60, START + timedelta(seconds=now))
    assert (rests.in_row("cp-1"), rests.until("cp-1")) == (1, START + timedelta(seconds=60))
    rests.failed("cp-1", 60, START + timedelta(seconds=130))
    assert rests.until("cp-1") == START + timedelta(seconds=190)
    rests.failed("cp-1", 0, START + timedelta(seconds=200))
    assert rests.in_row("cp-1") == 0


def test_who_sleeps_in_the_middle_of_a_look_gives_nobody_up_when_it_wakes(played: Played) -> None:
    work = Bootstrap(cast("Door", played), played.asked, played.now)
    work.look()
    played.slept, played.cut = timedelta(hours=1), {"cp-1", "w-1", "w-2"}
    view = work.look()
    assert [view.hosts[name] for name in sorted(played.cut)] == [
        Silent("the connection was lost", played.now(), seen=view.known(name)) for name in sorted(played.cut)
    ]
    assert view.api_silent_since == played.now()


@pytest.mark.parametrize(("passed", "patient"), [(timedelta(seconds=50), False), (timedelta(hours=8), True)])
def test_a_silence_that_was_slept_through_begins_when_the_computer_wakes(
    played: Played, passed: timedelta, patient: bool
) -> None:
    hosts = Hosts(cast("Door", played), played.asked)
    played.cut = {"w-2"}
    before = hosts.look(played.now)["w-2"]
    played.world.now += passed
    after = hosts.look(played.now)["w-2"]
    assert isinstance(before, Silent)
    assert isinstance(after, Silent)
    assert (after.since == played.now()) is patient
    assert (after.since == before.since) is not patient


def test_errors_that_take_no_time_leave_nobody_alone(played: Played) -> None:
    hosts = Hosts(cast("Door", played), played.asked)
    played.cut = {"w-2"}
    for _ in range(5):
        assert isinstance(hosts.look(played.now)["w-2"], Silent)
        assert hosts.rests_until("w-2") <= played.now()
