"""Threads for steps, and the lanes that their jobs go in."""

import threading
import time

import pytest

from shiplift.engine.workers import Workers
from tests.engine.virtual import eventually


class Jobs:
    """Jobs that wait until they are let go, and who of them began."""

    def __init__(self, workers):
        self.workers = workers
        self.began = set()
        self.gates = {}

    def submit(self, name, lane=""):
        self.gates[name] = threading.Event()
        self.workers.submit(lambda: self._run(name), lane)

    def _run(self, name):
        self.began.add(name)
        self.gates[name].wait(20)

    def let_go(self, *names):
        for name in names or list(self.gates):
            self.gates[name].set()


@pytest.fixture
def made():
    opened = []

    def make(size):
        jobs = Jobs(Workers("test", size))
        opened.append(jobs)
        return jobs

    yield make
    for jobs in opened:
        jobs.workers.stop()
        jobs.let_go()
        assert jobs.workers.join(time.monotonic() + 20)


def test_every_job_is_taken_however_many_lanes_wait_and_however_few_threads_there_are(made):
    jobs = made(3)
    names = [f"{lane}{number}" for number in range(3) for lane in "abcd"]
    for name in names:
        jobs.submit(name, name[0])
    jobs.let_go()
    eventually(lambda: jobs.began == set(names))


def test_what_has_not_begun_when_it_stops_never_does(made):
    jobs = made(1)
    jobs.submit("first")
    eventually(lambda: "first" in jobs.began)
    jobs.submit("second")
    jobs.workers.stop()
    jobs.let_go()
    assert jobs.workers.join(time.monotonic() + 20)
    assert "second" not in jobs.began
