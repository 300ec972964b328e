"""Two loops on the same workers: neither takes from the other what that one is sure of."""

import threading

import pytest

from shiplift.engine.decision import Decision
from shiplift.engine.workers import Workers
from tests.engine.loop_bench import QUICK, SECOND, Bench, Do
from tests.engine.test_aside import Slow, begun, deciding, held
from tests.engine.virtual import eventually

pytestmark = pytest.mark.usefixtures("quiet_logs")


@pytest.fixture
def pair():
    workers = Workers(12)
    made = [Bench(QUICK, workers) for _ in range(2)]
    for bench in made:
        bench.loop.start()
    yield made
    for bench in made:
        for gate in bench.layer.gates.values():
            gate.set()
        assert bench.loop.stop(20 * SECOND)


def hang(bench):
    """More steps than there are threads, of both kinds, and none of them ends."""
    steps = (*(Do(str(number)) for number in range(20)), *(Slow(str(number)) for number in range(20)))
    bench.layer.gates = dict.fromkeys((step.key for step in steps), threading.Event())
    bench.layer.plans["a"] = [Decision(steps=steps)]
    bench.wake()
    eventually(lambda: sum(bench.layer.running.values()) == 6)


def test_a_loop_whose_steps_all_hang_leaves_another_its_rounds_and_its_steps(pair):
    hanging, other = pair
    hang(hanging)
    other.layer.plans["a"] = [Decision(steps=(Do("x"), Slow("y")))]
    other.wake()
    eventually(lambda: other.rounds() >= 1 and begun(other, "y"))
    assert other.layer.count("act", "do x") == 1


def test_lanes_of_the_same_name_in_two_loops_are_two(pair):
    first, second = pair
    held(first, "x")
    for bench in pair:
        deciding(bench, Slow("x", "budget"))
        bench.wake()
    eventually(lambda: begun(first, "x") and begun(second, "x"))


def test_stopping_a_loop_does_not_wait_for_the_steps_of_another(pair):
    hanging, other = pair
    hang(hanging)
    assert other.loop.stop(20 * SECOND)
    assert not hanging.loop.stop(SECOND / 10)


def test_a_loop_goes_on_when_another_is_stopped_while_its_steps_hang(pair):
    hanging, other = pair
    hang(hanging)
    assert not hanging.loop.stop(SECOND / 10)
    other.layer.plans["a"] = [Decision(steps=(Do("x"),))]
    other.wake()
    eventually(lambda: other.rounds() >= 1)
