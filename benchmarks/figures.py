"""From the contenders' reports to medians, spreads, ratios and a table."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import msgspec

from benchmarks import verdict as verdicts
from benchmarks.contender import Name, Report

LIMITS = {
    "cpu_vs_default": 0.5,
    "cpu_vs_tuned": 0.5,
    "wall_vs_default": 0.65,
    "wall_vs_wire": 2.0,
    "rss_vs_default": 0.08,
    "rss_vs_tuned": 0.33,
    "relist_rss_vs_steady": 1.5,
    "events_cpu_vs_tuned": 1.0,
}
_MIB = 1 << 20


class Run(msgspec.Struct, frozen=True):
    """One sync of one contender: when it had synced, and a while later."""

    synced: Report
    steady: Report


class Figure(msgspec.Struct, frozen=True):
    """What several runs gave."""

    median: float
    least: float
    most: float


class Contest(msgspec.Struct, frozen=True):
    """The figures of one contender's syncs: seconds and MiB."""

    wall: Figure
    cpu: Figure
    peak: Figure
    steady: Figure


class Phase(msgspec.Struct, frozen=True):
    """One contender in the phases after the sync, each reported from its mark on."""

    steady: Report
    relisted: Report
    updated: Report


def contest(runs: Sequence[Run]) -> Contest:
    return Contest(
        wall=_figure([run.synced.wall for run in runs]),
        cpu=_figure([run.synced.cpu for run in runs]),
        peak=_figure([run.steady.peak / _MIB for run in runs]),
        steady=_figure([run.steady.rss / _MIB for run in runs]),
    )


def ratios(contests: Mapping[Name, Contest], phases: Mapping[Name, Phase]) -> dict[str, float]:
    """Ours against the others, medians against medians."""
    default, tuned, ours = (contests[name] for name in (Name.DEFAULT, Name.TUNED, Name.OURS))
    return {
        "cpu_vs_default": ours.cpu.median / default.cpu.median,
        "cpu_vs_tuned": ours.cpu.median / tuned.cpu.median,
        "wall_vs_default": ours.wall.median / default.wall.median,
        "wall_vs_wire": ours.wall.median / contests[Name.WIRE].wall.median,
        "rss_vs_default": ours.peak.median / default.peak.median,
        "rss_vs_tuned": ours.peak.median / tuned.peak.median,
        "relist_rss_vs_steady": phases[Name.OURS].relisted.peak / phases[Name.OURS].steady.rss,
        "events_cpu_vs_tuned": phases[Name.OURS].updated.cpu / phases[Name.TUNED].updated.cpu,
    }


def tables(contests: Mapping[Name, Contest], phases: Mapping[Name, Phase]) -> str:
    return "\n".join([*_contest_lines(contests), "", *_phase_lines(phases), ""])


def verdict(found: Mapping[str, float], *, judged: bool) -> str:
    """Each figure; against its limit where the cluster is as large as the limits are meant for."""
    return verdicts.verdict(found, LIMITS, judged=judged, meant_for="the full size")


def _contest_lines(contests: Mapping[Name, Contest]) -> list[str]:
    columns = f"{'wall, s':>24}{'CPU, s':>24}{'peak RSS, MiB':>26}{'steady, MiB':>14}"
    return [
        f"{'sync: median (least to most)':30}{columns}",
        *(
            f"{name:30}{_cell(one.wall):>24}{_cell(one.cpu):>24}{_cell(one.peak):>26}{one.steady.median:>14.0f}"
            for name, one in contests.items()
        ),
    ]


def _phase_lines(phases: Mapping[Name, Phase]) -> list[str]:
    columns = f"{'steady, MiB':>14}{'peak of relist, MiB':>22}{'updates':>10}{'CPU of updates, s':>20}"
    return [
        f"{'after the sync':30}{columns}",
        *(
            f"{name:30}{one.steady.rss / _MIB:>14.0f}{one.relisted.peak / _MIB:>22.0f}"
            f"{one.updated.events:>10}{one.updated.cpu:>20.2f}"
            for name, one in phases.items()
        ),
    ]


def _cell(figure: Figure) -> str:
    digits = 2 if figure.median < 100 else 0
    return f"{figure.median:.{digits}f} ({figure.least:.{digits}f} to {figure.most:.{digits}f})"


def _figure(values: Sequence[float]) -> Figure:
    return Figure(statistics.median(values), min(values), max(values))
