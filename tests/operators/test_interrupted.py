"""Whoever is killed at whichever write, in whichever order the loops look: the end is the same. On the way
nothing is without an owner, controlled by two, or lost. A cluster in memory, with the real layer."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from shiplift.operators.handing.ownership import OWNER, OWNER_UID
from tests.examples import tries
from tests.operators.bundles import GROUP, Written
from tests.operators.rig import boats
from tests.operators.world import SPACE, World

Json = dict[str, Any]
SETTINGS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings"},
    "data": {"speed": "slow"},
}
THREE = boats("1.0.0", "1.1.0", "1.2.0", beside=(SETTINGS,))
Story = Callable[[World], None]


def renamed() -> list[Written]:
    first, second = boats("1.0.0", "1.1.0", beside=(SETTINGS,))
    return [first, msgspec.structs.replace(second, deployment="fleet", selects="fleet")]


def install(world: World) -> None:
    world.offer(*THREE)
    world.ask("boats")
    world.settle()
    assert world.installed("boats") == "1.2.0"


def upgrade(world: World) -> None:
    world.offer(*THREE)
    world.ask("boats", version="1.0.0")
    world.settle()
    world.edit("boats", version=None)
    world.settle()
    assert world.installed("boats") == "1.2.0"
    assert list(world.of("operatorversions")) == ["boats.v1.2.0"]
    assert [name for name in world.of("roles") if "1.2.0" not in name] == []


def hand_over(world: World) -> None:
    world.offer(*renamed())
    world.ask("boats", version="1.0.0")
    world.settle()
    world.edit("boats", version=None)
    world.settle()
    assert list(world.of("deployments")) == ["fleet"]


def outlived(world: World) -> None:
    """What only the first version brought is the last one's in the end."""
    first, *later = boats("1.0.0", "1.1.0", "1.2.0")
    world.offer(msgspec.structs.replace(first, beside=(SETTINGS,)), *later)
    world.ask("boats", version="1.0.0")
    world.settle()
    world.edit("boats", version=None)
    world.settle()
    assert list(world.of("operatorversions")) == ["boats.v1.2.0"]
    assert labels(world.of("configmaps")["settings"])[OWNER] == f"{SPACE}.boats.v1.2.0"


def back(world: World) -> None:
    world.offer(*renamed())
    world.ask("boats")
    world.settle()
    world.edit("boats", version="1.0.0")
    world.settle()
    assert world.installed("boats") == "1.0.0"
    assert list(world.of("deployments")) == ["boats"]


def requirement(world: World) -> None:
    nets = Written(package="nets", version="1.0.0", required=(("boats", "v1"),))
    world.offer(nets, *boats("1.0.0"))
    world.ask("nets")
    world.settle()
    assert (world.installed("nets"), world.installed("boats")) == ("1.0.0", "1.0.0")


def uninstall(world: World) -> None:
    world.offer(*THREE[:1])
    world.ask("boats")
    world.settle()
    world.delete("boats")
    world.settle()
    assert not world.of("apptypes")
    assert not world.of("operatorversions")
    assert not world.of("deployments")
    assert "settings" in world.of("configmaps")
    assert not [one for one in everything(world) if OWNER in labels(one) or OWNER_UID in notes(one)]
    (catalog,) = world.of("operatorcatalogs").values()
    assert [one["package"] for one in catalog["status"]["tombstones"]] == ["boats"]


STORIES: tuple[Story, ...] = (install, upgrade, hand_over, outlived, back, requirement, uninstall)


def everything(world: World) -> list[Json]:
    return list(world.server.objects.values())


def labels(one: Json) -> Json:
    return one["metadata"].get("labels") or {}


def notes(one: Json) -> Json:
    return one["metadata"].get("annotations") or {}


class Judge:
    """Looks after every single change."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._seen: dict[str, str] = {}
        world.server.judges.append(self.look)

    def look(self) -> None:
        versions = {one["metadata"]["uid"] for one in self._world.of("operatorversions").values()}
        for one in everything(self._world):
            references = one["metadata"].get("ownerReferences") or []
            assert sum(bool(each.get("controller")) for each in references) <= 1, "two controllers"
            ours = [each for each in references if each["kind"] == "OperatorVersion"]
            assert not ours or one["metadata"]["namespace"] == SPACE, "a deadly owner"
            if notes(one).get(OWNER_UID) in versions and one["metadata"].get("namespace") == SPACE:
                assert ours, f"{one['kind']} {one['metadata']['name']} has no owner"
        running = [
            name
            for name, one in self._world.of("deployments").items()
            if one.get("status", {}).get("replicas")
        ]
        assert not {"boats", "fleet"} <= set(running), "two versions act at once"
        self._never_lost(f"boats.{GROUP}", self._world.of("customresourcedefinitions"))
        self._never_lost("settings", self._world.of("configmaps"))

    def _never_lost(self, name: str, found: dict[str, Json]) -> None:
        uid = found[name]["metadata"]["uid"] if name in found else ""
        assert uid == self._seen.get(name, uid), f"{name} was lost"
        if uid:
            self._seen[name] = uid


def ended(world: World) -> Json:
    """The end, without what is free to differ: uids, versions, times."""
    known = {one["metadata"]["uid"]: one["metadata"]["name"] for one in everything(world)}
    found: Json = {}
    for place, one in sorted(world.server.objects.items()):
        references = one["metadata"].get("ownerReferences") or []
        said = {key: known.get(value, value) for key, value in notes(one).items() if "order" not in key}
        owners = sorted((each["name"], each.get("controller", False)) for each in references)
        found["/".join(place)] = (
            labels(one),
            said,
            owners,
            one.get("spec"),
            one.get("data"),
            one.get("rules"),
        )
    return found


def chosen(writes: int) -> list[int]:
    """Moments all over the story, before a write and after one; others in each story."""
    count = min(tries(45), writes)
    return sorted(random.Random(writes).sample(range(1, writes + 1), count))


@pytest.mark.parametrize("story", STORIES, ids=lambda one: one.__name__)
def test_whichever_write_is_the_last_of_an_operator_the_end_is_the_same(story: Story) -> None:
    clean = World()
    Judge(clean)
    story(clean)
    wanted, writes = ended(clean), clean.writes
    for number in chosen(writes):
        world = World(seed=number)
        Judge(world)
        world.kill_at = number
        story(world)
        assert ended(world) == wanted, f"killed {world.log[number - 1]}"
