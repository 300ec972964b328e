"""From reports to ratios."""

from __future__ import annotations

import pytest

from benchmarks.contender import Name, Report
from benchmarks.figures import LIMITS, Contest, Phase, Run, contest, ratios, tables, verdict

_MIB = 1 << 20


def _report(wall: float = 1.0, cpu: float = 1.0, rss: int = 100, peak: int = 100) -> Report:
    return Report("synced", wall, cpu, rss * _MIB, peak * _MIB)


def _contests(**walls: float) -> dict[Name, Contest]:
    return {
        name: contest([Run(_report(wall=walls.get(name, 1.0)), _report(peak=100, rss=90))]) for name in Name
    }


def _phases(relist_peak: int = 120, updates_cpu: float = 1.0) -> dict[Name, Phase]:
    tuned = Phase(_report(), _report(), _report(cpu=2.0))
    return {
        Name.TUNED: tuned,
        Name.OURS: Phase(_report(), _report(peak=relist_peak), _report(cpu=updates_cpu)),
    }


def test_a_contest_takes_the_median_and_keeps_the_spread() -> None:
    runs = [Run(_report(wall=wall), _report()) for wall in (3.0, 1.0, 2.0)]
    wall = contest(runs).wall
    assert (wall.median, wall.least, wall.most) == (2.0, 1.0, 3.0)


def test_cpu_is_taken_at_the_sync_and_peak_memory_a_while_later() -> None:
    one = contest([Run(_report(cpu=1.0, peak=50), _report(cpu=9.0, peak=70, rss=60))])
    assert (one.cpu.median, one.peak.median, one.steady.median) == (1.0, 70.0, 60.0)


def test_ratios_are_ours_against_the_others() -> None:
    found = ratios(_contests(ours=3.0, default=6.0, wire=2.0), _phases(relist_peak=130, updates_cpu=1.0))
    assert found["wall_vs_default"] == pytest.approx(0.5)
    assert found["wall_vs_wire"] == pytest.approx(1.5)
    assert found["relist_rss_vs_steady"] == pytest.approx(1.3)
    assert found["events_cpu_vs_tuned"] == pytest.approx(0.5)


def test_there_is_a_ratio_for_each_limit() -> None:
    assert ratios(_contests(), _phases()).keys() == LIMITS.keys()


def test_a_ratio_above_its_limit_is_called_missed_at_full_size_only() -> None:
    found = dict.fromkeys(LIMITS, 0.0) | {"cpu_vs_tuned": 0.6}
    missed = [line for line in verdict(found, judged=True).splitlines() if "MISSED" in line]
    assert [line.split()[0] for line in missed] == ["cpu_vs_tuned"]
    assert "MISSED" not in verdict(found, judged=False)


def test_the_tables_name_every_contender() -> None:
    text = tables(_contests(), _phases())
    assert all(name in text for name in Name)
