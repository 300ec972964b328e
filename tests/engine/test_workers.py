"""The threads that loops share for their steps: how many, for whom, and in which order."""

import sys
import threading
import time

import pytest

from shiplift.engine.layer import Settings
from shiplift.engine.workers import SIZE, SURE_ASIDE, SURE_OPERATIONS, SURE_STEPS, Workers
from shiplift.kube.transport import CONNECTIONS
from tests.engine.virtual import eventually

SOON = 0.1
"""Seconds after which what was not begun is not going to be."""


class Jobs:
    """Jobs that wait until they are let go, and who of them began."""

    def __init__(self, share):
        self.share = share
        self.began = set()
        self.gates = {}

    def submit(self, name, lane=""):
        self.gates[name] = threading.Event()
        self.share.submit(lambda: self._run(name), lane)

    def submit_many(self, number):
        for one in range(number):
            self.submit(f"job {one}")

    def _run(self, name):
        self.began.add(name)
        self.gates[name].wait(20)

    def let_go(self, *names):
        for name in names or list(self.gates):
            self.gates[name].set()

    def end(self):
        self.share.stop()
        self.let_go()
        assert self.share.join(time.monotonic() + 20)


class Shared:
    """Workers of that many threads, and shares of them."""

    def __init__(self, size):
        self.workers = Workers(size)
        self.opened = []

    def share(self, most, sure=0):
        self.opened.append(Jobs(self.workers.share(most, sure)))
        return self.opened[-1]


@pytest.fixture
def shared():
    made = []

    def make(size):
        made.append(Shared(size))
        return made[-1]

    yield make
    for one in made:
        for jobs in one.opened:
            jobs.end()


def rests_at(*counts):
    """Each of the jobs has begun that many, and no more begin."""
    eventually(lambda: all(len(jobs.began) >= count for jobs, count in counts))
    time.sleep(SOON)
    assert [len(jobs.began) for jobs, _ in counts] == [count for _, count in counts]


def threads():
    return sum(one.name.startswith("worker-") for one in threading.enumerate())


def test_every_job_is_taken_however_many_lanes_wait_and_however_few_threads_there_are(shared):
    jobs = shared(3).share(3)
    names = [f"{lane}{number}" for number in range(3) for lane in "abcd"]
    for name in names:
        jobs.submit(name, name[0])
    jobs.let_go()
    eventually(lambda: jobs.began == set(names))


def test_what_has_not_begun_when_it_stops_never_does(shared):
    jobs = shared(1).share(1)
    jobs.submit("first")
    eventually(lambda: "first" in jobs.began)
    jobs.submit("second")
    jobs.share.stop()
    jobs.submit("third")
    jobs.let_go()
    assert jobs.share.join(time.monotonic() + 20)
    assert jobs.began == {"first"}


def test_all_shares_together_run_no_more_jobs_than_there_are_threads(shared):
    workers = shared(10)
    busy = [workers.share(8, 1) for _ in range(3)]
    for jobs in busy:
        jobs.submit_many(20)
    eventually(lambda: sum(len(jobs.began) for jobs in busy) == 10)
    time.sleep(SOON)
    assert sum(len(jobs.began) for jobs in busy) == 10
    eventually(lambda: threads() == 10)


def test_a_share_that_is_busy_alone_uses_all_that_others_are_not_sure_of(shared):
    workers = shared(10)
    busy, _, _ = workers.share(20, 2), workers.share(8, 2), workers.share(8, 1)
    busy.submit_many(20)
    rests_at((busy, 7))


def test_a_share_runs_no_more_than_its_most_however_much_is_free(shared):
    busy = shared(10).share(3, 1)
    busy.submit_many(20)
    rests_at((busy, 3))


def test_hanging_jobs_of_some_do_not_keep_another_from_what_it_is_sure_of(shared):
    workers = shared(12)
    hanging = [workers.share(12, 2) for _ in range(4)]
    late = workers.share(12, 2)
    for jobs in hanging:
        jobs.submit_many(12)
    eventually(lambda: sum(len(jobs.began) for jobs in hanging) == 10)
    late.submit_many(4)
    rests_at((late, 2))
    late.let_go("job 0", "job 1")
    eventually(lambda: {"job 2", "job 3"} <= late.began)


def test_what_is_free_goes_to_who_has_borrowed_least(shared):
    workers = shared(8)
    first, second = workers.share(8, 1), workers.share(8, 1)
    first.submit_many(20)
    rests_at((first, 7))
    second.submit_many(20)
    rests_at((second, 1))
    first.let_go("job 0", "job 1", "job 2")
    rests_at((first, 7), (second, 4))
    first.let_go("job 3")
    rests_at((first, 8), (second, 4))


def test_what_a_share_was_sure_of_is_lent_when_it_stops(shared):
    workers = shared(4)
    first, second = workers.share(4, 0), workers.share(4, 2)
    first.submit_many(4)
    rests_at((first, 2))
    second.share.stop()
    rests_at((first, 4))


def test_a_lane_belongs_to_its_share(shared):
    workers = shared(4)
    first, second = workers.share(4), workers.share(4)
    first.submit("x", "budget")
    first.submit("y", "budget")
    second.submit("z", "budget")
    rests_at((first, 1), (second, 1))
    second.let_go()
    time.sleep(SOON)
    assert first.began == {"x"}
    first.let_go("x")
    eventually(lambda: first.began == {"x", "y"})


def test_stopping_one_share_waits_for_its_own_jobs_only_and_leaves_the_others(shared):
    workers = shared(4)
    first, second = workers.share(2, 1), workers.share(2, 1)
    for jobs in (first, second):
        jobs.submit_many(3)
    rests_at((first, 2), (second, 2))
    first.share.stop()
    assert not first.share.join(time.monotonic() + SOON)
    first.let_go()
    begun = time.monotonic()
    assert first.share.join(begun + 20)
    assert time.monotonic() - begun < 10
    assert len(first.began) == 2
    second.let_go("job 0")
    rests_at((second, 3))


def test_jobs_that_outlive_their_share_narrow_what_is_lent_but_not_what_the_next_is_sure_of(shared):
    workers = shared(6)
    old = workers.share(5, 1)
    old.submit_many(5)
    rests_at((old, 5))
    old.share.stop()
    next_one = workers.share(6, 2)
    next_one.submit_many(6)
    rests_at((next_one, 2))
    old.let_go()
    rests_at((next_one, 6))


def test_threads_end_with_the_last_share_and_come_back_with_the_next(shared):
    workers = shared(4)
    first = workers.share(2)
    first.submit_many(2)
    rests_at((first, 2))
    first.end()
    eventually(lambda: threads() == 0)
    second = workers.share(2)
    second.submit_many(2)
    rests_at((second, 2))


def test_a_job_that_raises_costs_no_thread_and_is_told(shared, monkeypatch):
    told = []
    monkeypatch.setattr(threading, "excepthook", lambda args: told.append(args.exc_type))
    jobs = shared(1).share(1)
    jobs.share.submit(lambda: sys.exit("no"), "lane")
    jobs.submit("next", "lane")
    eventually(lambda: jobs.began == {"next"})
    assert told == [SystemExit]


def test_more_than_there_is_cannot_be_sure(shared):
    workers = shared(3)
    workers.share(5, 2)
    with pytest.raises(ValueError, match="3 threads are too few"):
        workers.share(5, 2)


def test_with_six_layers_one_migration_still_evicts_as_many_at_once_as_alone(shared):
    workers, pace = shared(SIZE), Settings()
    layers = [
        [
            workers.share(pace.steps, SURE_STEPS),
            workers.share(pace.aside, SURE_ASIDE),
            workers.share(pace.operations, SURE_OPERATIONS),
        ]
        for _ in range(6)
    ]
    steps, aside, _ = layers[0]
    aside.submit_many(60)
    steps.submit_many(60)
    rests_at((aside, 48), (steps, 8))


def test_workers_deciders_readers_and_the_rest_are_fewer_than_the_connections_of_a_client():
    deciders, readers, asking, lease_fence_events = 7, 25, 8, 3
    assert SIZE + deciders + readers + asking + lease_fence_events < CONNECTIONS
