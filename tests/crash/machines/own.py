"""`make crash LAYER=machines`: bootstrap interrupted at each command that it sends, and its mutants."""

from __future__ import annotations

import argparse

from shiplift.local.machines import needs
from tests.crash import generate, layers
from tests.crash.campaign import Campaign, Figures
from tests.crash.machines import making, mutants, scenarios
from tests.crash.plans import Plan
from tests.crash.runner import Lanes, say
from tests.machines import sshd

MUTANTS = mutants.ALL


class Bootstraps(Campaign):
    """With plans of its own."""

    def _plans(self, name: str) -> list[Plan]:
        scenario = next(one for one in scenarios.ALL if one.name == name)
        every = making.plans(scenario, self._books[name])
        kept = making.thinned(scenario, every)
        self.figures.thinned += len(every) - len(kept)
        say(f"{name}: {len(kept)} of {len(every)} plans, {len(every) - len(kept)} thinned")
        return kept


def refusal() -> str:
    """Why this computer cannot hold its machines; empty where it can."""
    if (why := needs.refusal()) is not None:
        return why.message
    try:
        sshd.found()
    except sshd.NoSshdError as error:
        return str(error)
    return ""


def run(asked: argparse.Namespace) -> Figures:
    """As the arguments of `python -m tests.crash` say."""
    with Lanes(asked.lanes, making.LAYER) as running:
        named = [layers.scenario(making.LAYER, name).name for name in asked.scenario]
        campaign = Bootstraps(running, making.LAYER, named)
        campaign.learn()
        if asked.command == "run":
            every = [plan for plan in campaign.every_plan() if _matches(str(plan), asked)]
            campaign.run(generate.sample(every, asked.sample, asked.seed) if asked.sample else every)
        if asked.command == "mutants" or not asked.no_mutants:
            campaign.hunt(lambda bug: asked.command == "run" or _matches(bug.name, asked))
    return campaign.figures


def _matches(text: str, asked: argparse.Namespace) -> bool:
    return not asked.match or any(words in text for words in asked.match)
