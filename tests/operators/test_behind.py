"""Watches that bring nothing for a while, one kind apart from the others: nothing is done on what was so
before. A cluster in memory, with the real layer."""

from __future__ import annotations

from shiplift.facts.kinds import DEPLOYMENT
from tests.operators.test_denied import looks
from tests.operators.test_interrupted import Judge, renamed
from tests.operators.world import World


def test_a_deployment_of_the_old_version_that_is_not_seen_yet_does_not_act_beside_the_new_one() -> None:
    world = World()
    Judge(world)
    world.offer(*renamed())
    world.store.silence(DEPLOYMENT)
    world.ask("boats", version="1.0.0")
    looks(world, 8)
    assert "boats" in world.of("deployments")
    world.edit("boats", version="1.1.0")
    looks(world, 12)
    assert list(world.of("deployments")) == ["boats"]
    said = str(world.of("operatorversions")["boats.v1.1.0"]["status"])
    assert "Deployment ops/boats of boats.v1.0.0 is there, and was not seen yet" in said
    world.store.catch_up()
    world.settle()
    assert world.installed("boats") == "1.1.0"
    assert list(world.of("deployments")) == ["fleet"]
