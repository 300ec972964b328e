"""Steps that no round waits for."""

import threading

import msgspec
import pytest

from shiplift.engine.barrier import Seen
from shiplift.engine.decision import Decision
from shiplift.engine.step import Outcome, Step
from shiplift.facts.kinds import NODE
from tests.engine.loop_bench import QUICK, SECOND, Bench, Do
from tests.engine.virtual import eventually

pytestmark = pytest.mark.usefixtures("quiet_logs")


class Slow(Step, frozen=True):
    aside = True
    name: str
    over: str = ""

    @property
    def key(self) -> str:
        return f"slow {self.name}"

    @property
    def lane(self) -> str:
        return self.over

    def describe(self) -> str:
        return f"do the slow {self.name} thing"


def deciding(bench, *steps):
    """From now on this is decided, every time."""
    bench.layer.plans["a"] = [Decision(steps=steps)] * 50


def held(bench, *names):
    gates = [bench.layer.gates.setdefault(f"slow {name}", threading.Event()) for name in names]
    return gates[0]


def look_again(bench):
    before = bench.rounds()
    bench.wake()
    eventually(lambda: bench.rounds() > before)


def running(bench):
    return bench.layer.seen["a"][-1].running


def begun(bench, name):
    return bench.layer.count("act", f"slow {name}")


@pytest.fixture
def narrow():
    """One thread for what is put aside."""
    bench = Bench(msgspec.structs.replace(QUICK, aside=1))
    bench.loop.start()
    yield bench
    for gate in bench.layer.gates.values():
        gate.set()
    assert bench.loop.stop(20 * SECOND)


def test_its_round_ends_and_others_begin_while_it_hangs(bench):
    held(bench, "x")
    deciding(bench, Slow("x"), Do("y"))
    look_again(bench)
    eventually(lambda: begun(bench, "x") and bench.layer.count("act", "do y"))
    look_again(bench)
    assert running(bench) == {"slow x"}
    assert begun(bench, "x") == 1


def test_when_it_ends_its_key_is_looked_at_and_told(bench):
    gate = held(bench, "x")
    deciding(bench, Slow("x"))
    bench.wake()
    bench.layer.answers["slow x"] = [Outcome.refused(Slow("x"), "not now", 9 * SECOND)]
    eventually(lambda: begun(bench, "x") == 1)
    gate.set()
    bench.await_idle()
    bench.clock.advance(9)
    eventually(lambda: bench.rounds() >= 2)
    assert bench.layer.seen["a"][1].last["slow x"].message == "not now"
    assert bench.layer.seen["a"][1].running == frozenset()


def test_it_counts_as_running_until_the_store_shows_what_it_did(bench):
    bench.layer.plans["a"] = [Decision(steps=(Slow("x"),))]
    bench.layer.answers["slow x"] = [Outcome.done(Slow("x"), Seen(NODE, 7))]
    look_again(bench)
    bench.await_idle()
    look_again(bench)
    assert running(bench) == {"slow x"}
    bench.reached = 7
    look_again(bench)
    assert running(bench) == frozenset()


def test_other_rounds_do_not_wait_for_what_it_did(bench):
    bench.layer.plans["a"] = [Decision(steps=(Slow("x"),)), Decision(steps=(Do("y"),))]
    bench.layer.answers["slow x"] = [Outcome.done(Slow("x"), Seen(NODE, 7))]
    look_again(bench)
    bench.await_idle()
    look_again(bench)
    eventually(lambda: bench.layer.count("act", "do y") == 1)


def test_when_nothing_wakes_its_key_the_store_is_looked_at_again_by_itself(bench):
    bench.layer.plans["a"] = [Decision(steps=(Slow("x"),))]
    bench.layer.answers["slow x"] = [Outcome.done(Slow("x"), Seen(NODE, 7))]
    bench.wake()
    bench.await_idle()
    bench.clock.advance(1)
    bench.await_idle()
    assert running(bench) == {"slow x"}
    bench.reached = 7
    bench.clock.advance(1)
    eventually(lambda: not running(bench))


def wait_for_what_never_shows(bench):
    bench.layer.plans["a"] = [Decision(steps=(Slow("x"),))]
    bench.layer.answers["slow x"] = [Outcome.done(Slow("x"), Seen(NODE, 7))]
    look_again(bench)
    bench.await_idle()
    bench.clock.advance(31)
    bench.await_idle()


def test_a_store_that_never_shows_it_is_named_and_the_next_look_is_told(bench):
    wait_for_what_never_shows(bench)
    assert (Seen(NODE, 7),) in bench.hooks.lagging
    told = [one for one in bench.layer.seen["a"] if one.unsettled == (Seen(NODE, 7),)]
    assert len(told) == 1
    assert told[0].running == frozenset()


def test_what_it_did_and_the_store_never_showed_stays_named_until_it_does(bench):
    wait_for_what_never_shows(bench)
    look_again(bench)
    look_again(bench)
    assert bench.layer.seen["a"][-1].unsettled == (Seen(NODE, 7),)
    bench.reached = 7
    look_again(bench)
    assert bench.layer.seen["a"][-1].unsettled == ()


def test_those_of_one_lane_go_one_after_the_other_and_hold_up_no_other_lane(bench):
    gate = held(bench, "a1")
    deciding(bench, Slow("a1", "a"), Slow("a2", "a"), Slow("b1", "b"), Slow("free"))
    look_again(bench)
    eventually(lambda: begun(bench, "a1") and begun(bench, "b1") and begun(bench, "free"))
    assert not begun(bench, "a2")
    gate.set()
    eventually(lambda: begun(bench, "a2"))


def test_what_has_not_begun_and_is_not_wanted_any_more_is_dropped(narrow):
    gate = held(narrow, "x")
    deciding(narrow, Slow("x"), Slow("y"), Slow("z"))
    look_again(narrow)
    eventually(lambda: begun(narrow, "x"))
    deciding(narrow, Slow("z"))
    look_again(narrow)
    gate.set()
    eventually(lambda: begun(narrow, "z"))
    narrow.await_idle()
    assert not begun(narrow, "y")


def test_what_was_dropped_and_is_wanted_again_is_taken_once(narrow):
    gate = held(narrow, "x")
    deciding(narrow, Slow("x"), Slow("y"))
    look_again(narrow)
    deciding(narrow, Slow("x"))
    look_again(narrow)
    narrow.layer.answers["slow y"] = [Outcome.done(Slow("y"), Seen(NODE, 7))]
    deciding(narrow, Slow("x"), Slow("y"))
    look_again(narrow)
    deciding(narrow)
    gate.set()
    eventually(lambda: begun(narrow, "y"))
    narrow.await_idle()
    assert begun(narrow, "y") == 1


def test_what_has_begun_is_not_forgotten_when_it_is_not_wanted_any_more(bench):
    held(bench, "x")
    deciding(bench, Slow("x"))
    look_again(bench)
    eventually(lambda: begun(bench, "x"))
    deciding(bench)
    look_again(bench)
    assert running(bench) == {"slow x"}


def test_another_key_is_not_told_of_it_and_does_not_drop_it(narrow):
    gate = held(narrow, "x")
    deciding(narrow, Slow("x"), Slow("y"))
    look_again(narrow)
    narrow.wake("b")
    eventually(lambda: narrow.rounds("b") == 1)
    assert narrow.layer.seen["b"][-1].running == frozenset()
    gate.set()
    eventually(lambda: begun(narrow, "y"))


def test_stopping_waits_for_the_one_in_flight_and_starts_no_other():
    bench = Bench(msgspec.structs.replace(QUICK, aside=1))
    bench.loop.start()
    gate = held(bench, "x")
    deciding(bench, Slow("x"), Slow("y"))
    look_again(bench)
    eventually(lambda: begun(bench, "x"))
    assert not bench.loop.stop(SECOND / 10)
    gate.set()
    assert bench.loop.stop(20 * SECOND)
    assert not begun(bench, "y")


def test_one_that_hangs_is_named(bench):
    held(bench, "x")
    deciding(bench, Slow("x"))
    look_again(bench)
    eventually(lambda: begun(bench, "x"))
    for _ in range(13):
        bench.clock.advance(5)
        eventually(bench.clock.waits_anew)
    eventually(lambda: bench.loop.stuck(60 * SECOND) == "do the slow x thing has not moved for 65 s")


def test_one_that_is_refused_while_it_is_decided_again_waits_as_it_was_told(bench):
    gate, deciding_gate = held(bench, "x"), threading.Event()
    deciding(bench, Slow("x"))
    look_again(bench)
    eventually(lambda: begun(bench, "x"))
    bench.layer.answers["slow x"] = [Outcome.refused(Slow("x"), "not now", 900 * SECOND)]
    observed = threading.Event()
    decide = bench.layer.decide

    def slowly(view, now):
        observed.set()
        assert deciding_gate.wait(20)
        return decide(view, now)

    bench.layer.decide = slowly
    bench.wake()
    assert observed.wait(20)
    gate.set()
    eventually(lambda: bench.hooks.steps)
    bench.layer.decide = decide
    deciding(bench, Slow("x"))
    deciding_gate.set()
    eventually(lambda: bench.rounds() >= 2)
    bench.layer.plans["a"] = []
    bench.await_idle()
    assert begun(bench, "x") == 1
