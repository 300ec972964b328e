"""From what probe and watcher of the benchmark `quorum` saw to its figures."""

from __future__ import annotations

import os

import msgspec
import pytest

from benchmarks.quorum import figures, watcher
from benchmarks.quorum.figures import Run
from benchmarks.quorum.probe import Log, Seen
from benchmarks.quorum.watcher import Moment

KEYS = {
    "mixed_s",
    "mixed_max_s",
    "mixed_vs_rolling",
    "partial_runs",
    "partial_recovery_s",
    "gap_any_s",
    "gap_worst_server_s",
    "failed_after_retry",
    "lost",
    "gated_rolling_finished",
}
RUN = Run(
    mixed=0.2,
    recovery=0.2,
    gap_any=2.0,
    gap_worst=4.0,
    step5_gap_worst=6.0,
    failed=50,
    stale=1.0,
    failed_after_retry=0,
    lost=0,
    seconds=60.0,
)
PARTIAL = msgspec.structs.replace(RUN, mixed=20.0, recovery=20.0)


def moments(*seen: tuple[float, str]) -> list[Moment]:
    return [Moment(at, runs) for at, runs in seen]


def puts(server: int, *times: float, ok: bool = True) -> list[Seen]:
    return [Seen(at, server, "PUT", ok) for at in times]


@pytest.mark.parametrize(
    ("seen", "mixed"),
    [
        (moments((0, "oooo"), (10, "oonn"), (10.2, "nnnn")), 0.2),
        (moments((0, "oooo"), (10, "ooo-"), (12, "ooon"), (20, "nnnn")), 8.0),
        (moments((0, "oooo"), (10, "----"), (12, "nnnn")), 0.0),
        (moments((0, "oooo"), (10, "onnn")), 90.0),
    ],
    ids=["in place", "pod by pod", "all at once", "for ever"],
)
def test_versions_are_mixed_while_old_and_new_servers_run(seen: list[Moment], mixed: float) -> None:
    assert figures.mixed(seen, end=100.0) == pytest.approx(mixed)


def test_the_gap_of_a_switch_and_the_gaps_of_step_five_are_told_apart() -> None:
    seen = moments((0, "oooo"), (10, "oonn"), (10.2, "nnnn"), (30, "nnn-"), (35, "nnnn"))
    log = Log([], [], 0)
    for server in range(3):
        log.seen += puts(server, *range(10), *(13 + at for at in range(40)))
    log.seen += puts(3, *range(10), *(15 + at for at in range(15)), *(36 + at for at in range(16)))
    log.seen += puts(0, 10.5, ok=False)
    found = figures.run_of(seen, log, 0, 0.0, 50.0)
    assert found.recovery == pytest.approx(0.2)
    assert not found.partial
    assert (found.gap_any, found.gap_worst) == (4.0, 6.0)
    assert found.step5_gap_worst == 6.0
    assert found.failed == 1


def test_what_was_acknowledged_and_is_not_there_is_stale_until_it_is_read() -> None:
    log = Log([], [], 0)
    log.seen += puts(0, *range(20))
    log.seen += [Seen(5, 1, "GET", False, True), Seen(6, 1, "GET", False, True), Seen(7.5, 1, "GET", True)]
    found = figures.run_of(moments((0, "oooo"), (4, "nnnn")), log, 0, 0.0, 20.0)
    assert found.stale == 2.5


def test_every_key_is_told_and_partial_runs_are_kept_out_of_what_a_clean_one_costs() -> None:
    slow = msgspec.structs.replace(RUN, mixed=10.0)
    found = figures.figures([RUN, RUN, PARTIAL], [PARTIAL], slow, RUN, gated_finished=False)
    assert found.keys() >= KEYS
    assert (found["mixed_s"], found["mixed_max_s"]) == (0.2, 0.2)
    assert found["mixed_vs_rolling"] == pytest.approx(0.02)
    assert (found["clean_runs"], found["partial_runs"], found["partial_recovery_s"]) == (2, 2, 20.0)
    assert set(figures.AT_MOST) <= found.keys()


def test_without_a_clean_run_none_is_counted() -> None:
    found = figures.figures([PARTIAL], [], RUN, RUN, gated_finished=True)
    assert (found["clean_runs"], found["mixed_s"], found["gated_rolling_finished"]) == (0, 20.0, 1.0)


def test_what_no_limit_is_about_is_told_of_every_contender() -> None:
    found = figures.told_of_all({"in place": [RUN, PARTIAL], "all at once": [RUN], "none": []})
    assert found.keys() == {"in place", "all at once"}
    assert found["in place"] == {"failed_total": 50, "stale_read_s": 1.0, "step5_gap_worst_s": 6.0}
    table = figures.table({"in place": [RUN]})
    assert all(key in table for key in ("failed_total", "stale_read_s", "step5_gap_worst_s", "lost"))


def test_only_servers_in_pods_are_watched() -> None:
    assert os.getpid() not in watcher.servers().values()
