"""`make crash LAYER=quorum`: every plan on real servers, one after the other, and the mutants."""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

from tests.crash.campaign import Figures
from tests.crash.quorum import mutants, plans
from tests.crash.quorum.running import ground
from tests.crash.runner import say

MUTANTS = mutants.ALL


def run(asked: argparse.Namespace) -> Figures:
    """As the arguments of `python -m tests.crash` say."""
    figures = Figures("quorum", scenarios=1)
    if asked.command == "run":
        _plans(figures, asked)
    if asked.command == "mutants" or not asked.no_mutants:
        _mutants(figures, asked)
    return figures


def _matches(text: str, asked: argparse.Namespace) -> bool:
    return not asked.match or any(words in text for words in asked.match)


def _plans(figures: Figures, asked: argparse.Namespace) -> None:
    chosen = [plan for plan in plans.ALL if _matches(str(plan), asked)]
    if asked.sample:
        chosen = random.Random(asked.seed).sample(chosen, min(asked.sample, len(chosen)))
    took: list[float] = []
    with (
        tempfile.TemporaryDirectory(prefix="shiplift-crash-") as folder,
        ground(Path(folder, "clusters"), Path(folder, "plans")) as place,
    ):
        for plan in chosen:
            result = place.perform(plan)
            took.append(result.seconds)
            verdict = "DIVERGES" if result.found else "ok" if result.fired else "not reached"
            say(f"{len(took)}/{len(chosen)} {verdict} {result.seconds:.0f} s {plan}")
            for line in result.found:
                say(f"    {line[:1500]}")
            figures.divergences += bool(result.found)
            figures.unfired += not result.fired
    figures.plans = len(took)
    figures.seconds_per_plan = round(sum(took) / max(1, len(took)), 1)
    figures.slowest = round(max(took, default=0.0), 1)


def _mutants(figures: Figures, asked: argparse.Namespace) -> None:
    for mutant in [one for one in MUTANTS if _matches(one.name, asked)]:
        with tempfile.TemporaryDirectory(prefix="shiplift-mutant-") as folder:
            by = mutants.caught(mutant, Path(folder, "code"))
        figures.mutants += 1
        figures.mutants_caught += bool(by)
        say(f"mutant {mutant.name}: {'caught by ' + by if by else 'NOT CAUGHT'}"[:300])
