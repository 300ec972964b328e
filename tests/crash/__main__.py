"""The crash harness.

usage: python -m tests.crash [--layer NAME]... [--scenario NAME]... [--sample N] [--seed S] [--lanes N]
                             [--match WORDS]... [--no-mutants]
       python -m tests.crash mutants [--layer NAME]... [--scenario NAME]... [--match WORDS]...
       python -m tests.crash replay FILE [--times N]

Layers run one after the other, all of the operator's where none is named; each ends with one line of JSON.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import msgspec

from tests.crash import generate, layers, mutants, plans
from tests.crash.campaign import Campaign, Figures
from tests.crash.runner import Lanes, cores, say


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.crash")
    parser.add_argument("command", nargs="?", choices=["run", "replay", "mutants"], default="run")
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--layer", action="append", default=[])
    parser.add_argument("--scenario", action="append", default=[])
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lanes", type=int, default=cores())
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument(
        "--match", action="append", default=[], help="only plans, or mutants, with these words"
    )
    parser.add_argument("--no-mutants", action="store_true")
    return parser.parse_args()


def replay(file: Path, times: int, lanes: int) -> int:
    plan = plans.read(file)
    with Lanes(min(lanes, times), plan.layer) as running:
        campaign = Campaign(running, plan.layer, [plan.scenario])
        campaign.learn()
        campaign.run([plan] * times)
    return campaign.figures.divergences


def _scenarios(layer: str, asked: list[str]) -> list[str]:
    """Those that are asked for and those that they repeat; any other name is an error."""
    found = [layers.scenario(layer, name) for name in asked]
    return list(dict.fromkeys(name for one in found for name in (one.repeats, one.name) if name))


def _matches(text: str, asked: argparse.Namespace) -> bool:
    return not asked.match or any(words in text for words in asked.match)


def hunt(layer: str, asked: argparse.Namespace) -> Figures:
    with Lanes(asked.lanes, layer) as running:
        campaign = Campaign(running, layer, _scenarios(layer, asked.scenario))
        campaign.learn()
        campaign.hunt(lambda bug: _matches(bug.name, asked))
    return campaign.figures


def run(layer: str, asked: argparse.Namespace) -> Figures:
    with Lanes(asked.lanes, layer) as running:
        campaign = Campaign(running, layer, _scenarios(layer, asked.scenario))
        campaign.learn()
        every = [
            plan
            for plan in campaign.every_plan()
            if _matches(str(plan), asked) and (not asked.scenario or plan.scenario in asked.scenario)
        ]
        campaign.run(generate.sample(every, asked.sample, asked.seed) if asked.sample else every)
        if not asked.no_mutants:
            campaign.hunt()
    return campaign.figures


def _figures(layer: str, asked: argparse.Namespace) -> Figures:
    if layers.is_own(layer):
        return layers.own(layer).run(asked)
    return hunt(layer, asked) if asked.command == "mutants" else run(layer, asked)


def _refusal(layer: str) -> str:
    """Why this computer cannot run that layer; empty where it can."""
    asked = getattr(layers.own(layer), "refusal", None) if layers.is_own(layer) else None
    return asked() if asked else ""


def each(asked: argparse.Namespace) -> int:
    """How much is wrong, over all layers."""
    chosen = asked.layer or [*layers.ALL, *layers.OWN]
    wrong = 0
    for layer in chosen:
        mutants.check(layers.own(layer).MUTANTS if layers.is_own(layer) else layers.suite(layer).mutants)
    for layer in chosen:
        if why := _refusal(layer):
            say(f"{layer} is left out: {why}")
            continue
        figures = _figures(layer, asked)
        print(msgspec.json.encode(figures).decode(), flush=True)
        wrong += figures.wrong(all_caught=asked.command == "mutants")
    return wrong


if __name__ == "__main__":
    given = _arguments()
    failed = replay(given.file, given.times, given.lanes) if given.command == "replay" else each(given)
    sys.exit(1 if failed else 0)
