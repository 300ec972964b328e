import threading
from collections import Counter
from datetime import timedelta

import pytest

from shiplift.engine.barrier import Seen
from shiplift.engine.decision import Decision, requeue
from shiplift.engine.layer import Settings, Stage
from shiplift.engine.loop import Loop, SystemClock
from shiplift.engine.step import Answer, Outcome, Started, Step
from shiplift.facts.kinds import NODE
from tests.engine.loop_bench import SECOND, Bench, Do, Run, Script
from tests.engine.virtual import START, eventually

pytestmark = pytest.mark.usefixtures("quiet_logs")


def test_a_key_is_observed_decided_acted_upon_and_published_in_that_order(bench):
    bench.layer.plans["a"] = [Decision(steps=(Do("x"),))]
    bench.wake()
    eventually(lambda: bench.rounds() >= 1)
    first_round = bench.layer.calls[:4]
    assert first_round == [("observe", "a"), ("decide", "a"), ("act", "do x"), ("publish", "a")]


def test_a_decision_without_steps_is_published_and_left_until_something_changes(bench):
    bench.wake()
    bench.await_rounds(1)
    bench.clock.advance(3600)
    bench.await_rounds(1)


def test_wishes_within_the_debounce_become_one_round(bench):
    for _ in range(50):
        bench.loop.wake("a")
    bench.await_idle()
    assert bench.rounds() == 0
    bench.clock.advance(1)
    bench.await_rounds(1)


def test_further_wishes_do_not_put_a_key_off(bench):
    bench.loop.wake("a")
    bench.clock.advance(0.6)
    bench.loop.wake("a")
    bench.clock.advance(0.4)
    bench.await_rounds(1)


def test_a_requeue_is_honoured_and_an_earlier_wish_wins(bench):
    bench.layer.plans["a"] = [Decision(look_again=requeue(60 * SECOND))] * 3
    bench.wake()
    bench.await_rounds(1)
    bench.clock.advance(59)
    bench.await_rounds(1)
    bench.clock.advance(1)
    bench.await_rounds(2)
    bench.wake(after=5 * SECOND)
    bench.clock.advance(5)
    bench.await_rounds(3)


def test_after_steps_the_key_is_looked_at_again_until_there_is_nothing_to_do(bench):
    bench.layer.plans["a"] = [Decision(steps=(Do("x"),)), Decision(steps=(Do("y"),))]
    bench.wake()
    bench.await_rounds(3)
    assert [call for call in bench.layer.calls if call[0] == "act"] == [("act", "do x"), ("act", "do y")]


def test_outcomes_are_handed_to_the_next_look(bench):
    bench.layer.plans["a"] = [Decision(steps=(Do("x"),))]
    bench.layer.answers["do x"] = [Outcome.refused(Do("x"), "pdb web needs 3 has 2", 10 * SECOND)]
    bench.wake()
    bench.await_rounds(1)
    bench.clock.advance(9)
    bench.await_rounds(1)
    bench.clock.advance(1)
    bench.await_rounds(2)
    outcome = bench.layer.seen["a"][1].last["do x"]
    assert (outcome.answer, outcome.message, outcome.at) == (Answer.REFUSED, "pdb web needs 3 has 2", START)


def test_a_failing_step_is_tried_ever_more_slowly(bench):
    bench.layer.plans["a"] = [Decision(steps=(Do("x"),))] * 4
    bench.layer.answers["do x"] = [Outcome.failed(Do("x"), "422")] * 4
    bench.wake()
    for number, wait in ((1, 1), (2, 2), (3, 4)):
        bench.await_rounds(number)
        bench.clock.advance(wait - 0.5)
        bench.await_rounds(number)
        bench.clock.advance(0.5)
    bench.await_rounds(4)
    assert bench.layer.seen["a"][3].last["do x"].attempt == 3


def test_a_step_that_goes_well_and_changes_nothing_does_not_spin(bench):
    bench.layer.plans["a"] = [Decision(steps=(Do("x"),))] * 100
    bench.wake()
    bench.await_rounds(2)
    bench.clock.advance(1)
    bench.await_rounds(3)
    bench.clock.advance(1.5)
    bench.await_rounds(3)
    bench.clock.advance(0.5)
    bench.await_rounds(4)


def test_steps_of_one_decision_run_side_by_side_but_not_more_than_allowed(bench):
    steps = tuple(Do(str(number)) for number in range(7))
    gate = threading.Event()
    bench.layer.gates = dict.fromkeys((step.key for step in steps), gate)
    bench.layer.plans["a"] = [Decision(steps=steps)]
    bench.wake()
    eventually(lambda: sum(bench.layer.running.values()) == 3)
    assert bench.rounds() == 0
    gate.set()
    bench.await_rounds(2)
    assert bench.layer.most_running == 3
    assert {call[1] for call in bench.layer.calls if call[0] == "act"} == {step.key for step in steps}


def test_a_key_is_in_one_round_at_a_time_and_a_wish_meanwhile_is_kept(bench):
    gate = bench.layer.gates["do x"] = threading.Event()
    bench.layer.plans["a"] = [Decision(steps=(Do("x"),))]
    bench.wake()
    eventually(lambda: bench.layer.running["do x"])
    bench.wake()
    bench.wake("b")
    eventually(lambda: bench.rounds("b") == 1)
    assert bench.layer.count("observe", "a") == 1
    gate.set()
    eventually(lambda: bench.rounds() == 2)


def test_a_key_is_not_decided_again_before_the_store_shows_its_writes(bench):
    bench.layer.plans["a"] = [Decision(steps=(Do("x"),))]
    bench.layer.answers["do x"] = [Outcome.done(Do("x"), Seen(NODE, 7))]
    bench.wake()
    bench.await_rounds(1)
    bench.wake()
    bench.clock.advance(5)
    bench.loop.notify()
    bench.await_rounds(1)
    bench.reached = 7
    bench.loop.notify()
    bench.await_rounds(2)
    assert bench.layer.seen["a"][1].unsettled == ()


def test_what_publishing_wrote_is_waited_for_too(bench):
    bench.layer.published = (Seen(NODE, 3),)
    bench.wake()
    bench.await_rounds(1)
    bench.wake()
    bench.await_idle()
    assert bench.layer.count("observe", "a") == 1
    bench.reached = 3
    bench.loop.notify()
    bench.await_rounds(2)


def test_a_store_that_lags_too_long_is_named_and_the_next_look_is_told(bench, quiet_logs):
    barrier = Seen(NODE, 7)
    bench.layer.plans["a"] = [Decision(steps=(Do("x"),)), Decision(steps=(Do("y"),))]
    bench.layer.answers["do x"] = [Outcome.done(Do("x"), barrier)]
    bench.wake()
    bench.await_rounds(1)
    bench.clock.advance(29)
    bench.await_rounds(1)
    bench.clock.advance(1)
    bench.await_rounds(3)
    assert [outcomes.unsettled for outcomes in bench.layer.seen["a"]] == [(), (barrier,), (barrier,)]
    assert bench.hooks.lagging == [(barrier,)], "said once"
    (warning,) = [entry for entry in quiet_logs if entry["event"] == "store lags behind our writes"]
    assert warning["key"] == "a"
    assert "resource_version=7" in warning["waiting_for"]


def test_what_the_store_did_not_show_in_time_stays_named_until_it_does(bench):
    barrier = Seen(NODE, 7)
    bench.layer.plans["a"] = [Decision(steps=(Do("x"),))]
    bench.layer.answers["do x"] = [Outcome.done(Do("x"), barrier)]
    bench.wake()
    bench.await_rounds(1)
    bench.clock.advance(30)
    bench.await_rounds(2)
    bench.wake()
    bench.await_rounds(3)
    bench.reached = 7
    bench.wake()
    bench.await_rounds(4)
    told = [outcomes.unsettled for outcomes in bench.layer.seen["a"]]
    assert told == [(), (barrier,), (barrier,), ()]
    assert bench.hooks.lagging == [(barrier,)], "said once"


def test_one_key_that_waits_for_the_store_does_not_hold_up_another(bench):
    bench.layer.plans["a"] = [Decision(steps=(Do("x"),))]
    bench.layer.answers["do x"] = [Outcome.done(Do("x"), Seen(NODE, 7))]
    bench.wake()
    bench.await_rounds(1)
    bench.wake("b")
    bench.await_rounds(1, "b")


def test_a_store_that_cannot_answer_counts_as_not_there_yet(bench):
    bench.loop._settled = lambda barriers: 1 / 0
    bench.layer.plans["a"] = [Decision(steps=(Do("x"),))]
    bench.layer.answers["do x"] = [Outcome.done(Do("x"), Seen(NODE, 7))]
    bench.wake()
    bench.await_rounds(1)
    bench.clock.advance(30)
    bench.await_rounds(2)
    assert Stage.SETTLE in bench.hooks.failures


def test_changes_in_the_store_cost_nothing_while_nobody_waits_for_them(bench):
    bench.wake()
    bench.await_rounds(1)
    for _ in range(1000):
        bench.loop.notify()
    assert bench.settled_calls == 0


@pytest.mark.parametrize("stage", ["observe", "decide", "publish"])
@pytest.mark.parametrize("error", [ValueError("boom"), SystemExit(3), RecursionError()])
def test_whatever_a_layer_raises_is_counted_and_tried_again_more_slowly(bench, quiet_logs, stage, error):
    bench.layer.errors[stage, "a"] = [error, error]
    bench.wake()
    eventually(lambda: bench.layer.count(stage, "a") == 1)
    bench.await_idle()
    bench.clock.advance(1)
    eventually(lambda: bench.layer.count(stage, "a") == 2)
    bench.await_idle()
    bench.clock.advance(1)
    bench.await_idle()
    assert bench.layer.count(stage, "a") == 2
    bench.clock.advance(1)
    eventually(lambda: bench.layer.count(stage, "a") == 3)
    bench.await_idle()
    assert bench.hooks.failures == [Stage(stage)] * 2
    logged = [entry for entry in quiet_logs if entry["event"] == "layer failed"]
    assert [(entry["key"], entry["stage"]) for entry in logged] == [("a", stage)] * 2
    bench.wake("b")
    bench.await_rounds(1, "b")


def test_a_step_that_raises_may_have_happened(bench):
    bench.layer.plans["a"] = [Decision(steps=(Do("x"), Do("y")))]
    bench.layer.answers["do x"] = [ConnectionResetError("peer went away")]
    bench.wake()
    bench.await_rounds(2)
    outcome = bench.layer.seen["a"][1].last["do x"]
    assert (outcome.answer, outcome.message) == (Answer.UNKNOWN, "ConnectionResetError: peer went away")
    assert bench.hooks.failures == [Stage.ACT]


def test_a_step_that_answers_nonsense_is_unknown_and_ends_its_round(bench):
    bench.layer.plans["a"] = [Decision(steps=(Do("x"),))]
    bench.layer.act = lambda step: None
    bench.wake()
    bench.await_rounds(1)
    bench.clock.advance(1)
    bench.await_rounds(2)
    assert bench.layer.seen["a"][1].last["do x"].answer is Answer.UNKNOWN


def test_a_decision_that_is_none_does_not_end_the_loop(bench):
    bench.layer.plans["a"] = [None]
    bench.wake()
    eventually(lambda: bench.hooks.failures == [Stage.DECIDE])
    bench.await_idle()
    bench.clock.advance(1)
    bench.await_rounds(1)


def test_a_hook_that_raises_harms_nobody(bench, quiet_logs):
    bench.hooks.decided = lambda decision, seconds: 1 / 0
    bench.wake()
    bench.await_rounds(1)
    assert any(entry["event"] == "hook failed" for entry in quiet_logs)


def test_hooks_and_logs_say_what_was_done(bench, quiet_logs):
    bench.layer.plans["a"] = [Decision(steps=(Do("x"),))]
    bench.wake()
    bench.await_rounds(2)
    assert bench.hooks.steps == [("do x", Answer.OK, 0.0)]
    assert bench.hooks.rounds == 2
    (entry,) = [entry for entry in quiet_logs if entry["event"] == "step taken"]
    assert (entry["what"], entry["answer"], entry["key"]) == ("do the x thing", "ok", "a")
    assert (entry["step"], entry["name"], entry["loop"]) == ("Do", "x", "test")


def operation(name="kubeadm", attempt=1, limit=90 * SECOND):
    return Run(Started.begin(name, START, limit, attempt), name)


def test_an_operation_runs_while_its_key_goes_on_being_decided(bench):
    gate = bench.layer.gates["run kubeadm"] = threading.Event()
    bench.layer.plans["a"] = [Decision(steps=(operation(),))] * 3
    bench.wake()
    eventually(lambda: bench.rounds() == 1 and bench.layer.running["run kubeadm"] == 1)
    bench.wake()
    eventually(lambda: bench.rounds() == 2)
    assert bench.layer.count("act", "run kubeadm") == 1
    bench.layer.plans["a"] = []
    gate.set()
    bench.await_rounds(3)
    assert bench.layer.seen["a"][2].last["run kubeadm"].ok


def test_the_next_attempt_starts_even_while_the_last_one_hangs(bench):
    bench.layer.gates["run kubeadm"] = threading.Event()
    bench.layer.plans["a"] = [Decision(steps=(operation(),)), Decision(steps=(operation(attempt=2),))]
    bench.wake()
    eventually(lambda: bench.layer.running["run kubeadm"] == 1)
    eventually(lambda: bench.rounds() == 1)
    bench.wake()
    eventually(lambda: bench.layer.running["run kubeadm"] == 2)


def test_operations_never_take_the_steps_places(bench):
    for name in ("one", "two", "three"):
        bench.layer.gates[f"run {name}"] = threading.Event()
    steps = (operation("one"), operation("two"), operation("three"), Do("x"))
    bench.layer.plans["a"] = [Decision(steps=steps)]
    bench.wake()
    eventually(lambda: bench.layer.count("act", "do x") == 1 and bench.rounds() >= 1)
    assert bench.layer.running["run three"] == 0


def test_what_an_operation_wrote_is_waited_for(bench):
    bench.layer.plans["a"] = [Decision(steps=(operation(),))]
    bench.layer.answers["run kubeadm"] = [Outcome.done(operation(), Seen(NODE, 9))]
    bench.wake()
    eventually(lambda: bench.hooks.steps)
    bench.await_idle()
    before = bench.layer.count("observe", "a")
    bench.wake()
    bench.await_idle()
    assert bench.layer.count("observe", "a") == before
    bench.reached = 9
    bench.loop.notify()
    eventually(lambda: bench.layer.count("observe", "a") > before)


def test_nothing_is_stuck_while_all_goes_well(bench):
    bench.wake()
    bench.await_rounds(1)
    assert bench.loop.stuck(60 * SECOND) is None


def test_a_step_that_hangs_is_named(bench):
    bench.layer.gates["do x"] = threading.Event()
    bench.layer.plans["a"] = [Decision(steps=(Do("x"),))]
    bench.wake()
    eventually(lambda: bench.layer.running["do x"])
    for _ in range(13):
        bench.clock.advance(5)
        eventually(bench.clock.waits_anew)
    assert bench.loop.stuck(70 * SECOND) is None
    eventually(lambda: bench.loop.stuck(60 * SECOND) == "do the x thing has not moved for 65 s")


def test_publishing_much_is_not_stuck_as_long_as_it_makes_progress():
    """The status of many objects on a slow API server: each write takes a while, all of them take minutes."""
    bench = Bench()
    steps = [threading.Event() for _ in range(4)]
    reached = []

    def publish(key, decision):
        for number, step in enumerate(steps):
            reached.append(number)
            assert step.wait(20)
            yield Seen(NODE, 0)

    bench.layer.publish = publish
    bench.loop.start()
    bench.wake()
    for number, step in enumerate(steps):
        eventually(lambda so_far=number: len(reached) > so_far)
        for _ in range(10):
            bench.clock.advance(5)
            eventually(bench.clock.waits_anew)
        assert bench.loop.stuck(60 * SECOND) is None
        if number + 1 < len(steps):
            step.set()
    bench.clock.advance(15)
    eventually(lambda: "publish of a" in (bench.loop.stuck(60 * SECOND) or ""))
    steps[-1].set()
    assert bench.loop.stop(20 * SECOND)


def test_what_was_published_before_it_failed_is_waited_for(bench):
    def publish(key, decision):
        yield Seen(NODE, 7)
        raise RuntimeError("half of it")

    bench.layer.publish = publish
    bench.wake()
    eventually(lambda: Stage.PUBLISH in bench.hooks.failures)
    bench.await_idle()
    bench.wake()
    bench.clock.advance(2)
    bench.await_idle()
    assert bench.layer.count("observe", "a") == 1
    bench.reached = 7
    bench.loop.notify()
    eventually(lambda: bench.layer.count("observe", "a") > 1)


def test_a_look_that_hangs_is_named():
    bench = Bench()
    gate, entered = threading.Event(), threading.Event()

    def observe(key, outcomes):
        entered.set()
        gate.wait(20)
        return key

    bench.layer.observe = observe
    bench.loop.start()
    bench.wake()
    assert entered.wait(20)
    bench.clock.advance(61)
    assert bench.loop.stuck(60 * SECOND) == "observe of a in loop test has not moved for 61 s"
    assert not bench.loop.stop(timedelta(milliseconds=20))
    gate.set()
    assert bench.loop.stop(20 * SECOND)


def test_an_operation_is_stuck_only_when_past_its_own_deadline(bench):
    bench.layer.gates["run kubeadm"] = threading.Event()
    bench.layer.plans["a"] = [Decision(steps=(operation(),))]
    bench.wake()
    eventually(lambda: bench.layer.running["run kubeadm"] == 1 and bench.rounds() == 1)

    def after(seconds):
        bench.clock.advance(seconds)
        bench.wake("b")
        eventually(bench.clock.waits_anew)

    after(140)
    eventually(lambda: bench.loop.stuck(60 * SECOND) is None)
    after(11)
    eventually(lambda: bench.loop.stuck(60 * SECOND) == "run kubeadm on the machine is past its deadline")


def test_a_loop_that_was_not_started_is_not_stuck():
    bench = Bench()
    bench.clock.advance(3600)
    assert bench.loop.stuck(SECOND) is None
    assert bench.loop.stop(SECOND)


def test_stopping_finishes_the_steps_in_flight_and_starts_nothing_more():
    bench = Bench()
    gate = threading.Event()
    steps = tuple(Do(str(number)) for number in range(6))
    bench.layer.gates = dict.fromkeys((step.key for step in steps), gate)
    bench.layer.plans["a"] = [Decision(steps=steps)]
    bench.loop.start()
    bench.wake()
    eventually(lambda: sum(bench.layer.running.values()) == 3)
    stopped: list[bool] = []
    stopper = threading.Thread(target=lambda: stopped.append(bench.loop.stop(20 * SECOND)))
    stopper.start()
    eventually(lambda: bench.loop._stopping)
    bench.wake("b")
    assert stopped == []
    gate.set()
    stopper.join(20)
    assert stopped == [True]
    assert len([call for call in bench.layer.calls if call[0] == "act"]) == 3
    assert bench.rounds() == 0
    assert bench.layer.count("observe", "b") == 0


def held_up_in(step: Step) -> tuple[Bench, threading.Event]:
    """The step is under way until the gate is opened."""
    bench = Bench()
    gate = bench.layer.gates[step.key] = threading.Event()
    bench.layer.plans["a"] = [Decision(steps=(step,))]
    bench.loop.start()
    bench.wake()
    eventually(lambda: bench.layer.running[step.key])
    return bench, gate


def test_a_round_that_ends_while_stopping_publishes_nothing():
    bench, gate = held_up_in(Do("x"))
    assert not bench.loop.stop(timedelta(milliseconds=20))
    gate.set()
    assert bench.loop.stop(20 * SECOND)
    assert bench.layer.count("act", "do x") == 1
    assert bench.rounds() == 0


def test_stopping_does_not_wait_for_ever_for_a_step_that_hangs():
    bench, gate = held_up_in(Do("x"))
    assert not bench.loop.stop(timedelta(milliseconds=50))
    gate.set()
    assert bench.loop.stop(20 * SECOND)


def test_stopping_does_not_wait_for_operations():
    bench, gate = held_up_in(operation())
    assert bench.loop.stop(20 * SECOND)
    assert bench.layer.running["run kubeadm"] == 1
    gate.set()
    eventually(lambda: bench.layer.running["run kubeadm"] == 0)


def test_the_depth_counts_keys_that_wait(bench):
    bench.wake("a", 60 * SECOND)
    bench.wake("b", 60 * SECOND)
    bench.wake("b", 70 * SECOND)
    assert bench.loop.depth() == 2


def test_the_loop_runs_on_the_computers_own_clock_too():
    layer = Script()
    layer.plans["a"] = [Decision(steps=(Do("x"),)), Decision(look_again=requeue(timedelta(milliseconds=5)))]
    settings = Settings(debounce=timedelta(milliseconds=1))
    loop: Loop[str, str, Decision] = Loop("real", layer, settled=lambda _: True, settings=settings)
    loop.start()
    loop.wake("a")
    eventually(lambda: layer.count("publish", "a") == 3)
    assert loop.stop(20 * SECOND)


def test_the_system_clock_is_aware_and_moves():
    clock = SystemClock()
    assert clock.now().utcoffset() == timedelta(0)
    before = clock.monotonic()
    condition = threading.Condition()
    with condition:
        clock.wait(condition, 0.001)
    assert clock.monotonic() > before


def test_many_keys_woken_from_many_threads_are_never_in_two_rounds_at_once():
    inside: Counter[str] = Counter()
    overlaps: list[str] = []
    lock = threading.Lock()

    class Strict(Script):
        def observe(self, key, outcomes):
            with lock:
                inside[key] += 1
                if inside[key] > 1:
                    overlaps.append(key)
            return super().observe(key, outcomes)

        def publish(self, key, decision):
            with lock:
                inside[key] -= 1
            return super().publish(key, decision)

    layer = Strict()
    settings = Settings(debounce=timedelta(0), steps=4)
    loop: Loop[str, str, Decision] = Loop("busy", layer, settled=lambda _: True, settings=settings)
    loop.start()

    def wake_all():
        for number in range(200):
            loop.wake(f"k{number % 10}")

    wakers = [threading.Thread(target=wake_all) for _ in range(4)]
    for waker in wakers:
        waker.start()
    for waker in wakers:
        waker.join(20)
    eventually(lambda: loop.depth() == 0 and not +inside)
    assert loop.stop(20 * SECOND)
    assert overlaps == []
    assert all(layer.count("publish", f"k{number}") >= 1 for number in range(10))
