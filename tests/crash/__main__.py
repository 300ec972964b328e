"""The crash harness.

usage: python -m tests.crash [--scenario NAME]... [--sample N] [--seed S] [--lanes N] [--no-mutants]
       python -m tests.crash replay FILE [--times N]
       python -m tests.crash mutants
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import msgspec

from tests.crash import generate, mutants, plans
from tests.crash.campaign import Campaign
from tests.crash.runner import Lanes, cores, say
from tests.crash.scenarios import BY_NAME


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.crash")
    parser.add_argument("command", nargs="?", choices=["run", "replay", "mutants"], default="run")
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--scenario", action="append", default=[], choices=list(BY_NAME))
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lanes", type=int, default=cores())
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--match", default="", help="only plans with these words")
    parser.add_argument("--no-mutants", action="store_true")
    return parser.parse_args()


def replay(file: Path, times: int, lanes: int) -> int:
    plan = plans.read(file)
    with Lanes(min(lanes, times)) as running:
        campaign = Campaign(running, [plan.scenario])
        campaign.learn()
        campaign.run([plan] * times)
    return campaign.figures.divergences


def hunt(lanes: int) -> int:
    mutants.check()
    needed = {scenario for bug in mutants.ALL for scenario, _ in bug.plans}
    with Lanes(lanes) as running:
        campaign = Campaign(running, sorted(needed))
        campaign.learn()
        campaign.hunt()
    print(msgspec.json.encode(campaign.figures).decode())
    return campaign.figures.mutants - campaign.figures.mutants_caught


def run(asked: argparse.Namespace) -> int:
    mutants.check()
    with Lanes(asked.lanes) as running:
        campaign = Campaign(running, asked.scenario)
        campaign.learn()
        every = [plan for plan in campaign.every_plan() if asked.match in str(plan)]
        say(f"{len(every)} plans")
        campaign.run(generate.sample(every, asked.sample, asked.seed) if asked.sample else every)
        if not asked.no_mutants:
            campaign.hunt()
    figures = campaign.figures
    print(msgspec.json.encode(figures).decode())
    return figures.divergences


if __name__ == "__main__":
    given = _arguments()
    match given.command:
        case "replay":
            wrong = replay(given.file, given.times, given.lanes)
        case "mutants":
            wrong = hunt(given.lanes)
        case _:
            wrong = run(given)
    sys.exit(1 if wrong else 0)
