"""Definitions on a real API server: who goes by one is heard, and objects are stored anew
before the version that they are stored in goes."""

from __future__ import annotations

import msgspec

from shiplift.facts.kinds import APP_TYPE, CUSTOM_RESOURCE_DEFINITION, Kind
from shiplift.operators.crds.definition import content_of
from tests.operators.bundles import GROUP, Written, definition
from tests.operators.rig import Json, Scene, boats

CRD = f"boats.{GROUP}"
V1, V2 = (Kind("Boat", "boats", GROUP, version) for version in ("v1", "v2"))


def fleet() -> list[Written]:
    """The first version knows v1, the second stores v2, the third does not know v1 any more."""
    first, second, third = boats("1.0.0", "1.1.0", "1.2.0")
    return [
        first,
        msgspec.structs.replace(second, owned=(definition("boats", ("v1", "v2")),)),
        msgspec.structs.replace(third, owned=(definition("boats", ("v2",)),)),
    ]


def stored(scene: Scene) -> list[str]:
    return (scene.find(CUSTOM_RESOURCE_DEFINITION, CRD) or {})["status"]["storedVersions"]


def sizes(scene: Scene, kind: Kind) -> dict[str, Json]:
    return {one["metadata"]["name"]: one["spec"] for one in scene.client.list(kind, scene.space)}


def test_objects_are_stored_anew_before_their_version_goes(scene: Scene) -> None:
    scene.offer(*fleet())
    scene.ask("boats", version="1.0.0")
    scene.come_to("boats", "1.0.0")
    for number in range(20):
        body = {"metadata": {"name": f"b{number}"}, "spec": {"size": number}}
        scene.client.create(V1, body, scene.space)
    before = sizes(scene, V1)
    scene.edit("boats", version="1.1.0")
    scene.come_to("boats", "1.1.0", 120)
    assert stored(scene) == ["v1", "v2"]
    scene.edit("boats", version=None)
    scene.come_to("boats", "1.2.0", 120)
    assert stored(scene) == ["v2"]
    assert sizes(scene, V2) == before
    scene.edit("boats", version="1.0.0")
    assert "StoredVersionRemoval" in scene.says("boats.v1.0.0", "Installed", "CRDUnsafe")
    scene.edit("boats", version="1.1.0")
    scene.come_to("boats", "1.1.0", 120)
    assert sizes(scene, V1) == before, "what knows how objects are stored may come back"


def test_who_goes_back_keeps_a_definition_that_serves_what_it_knows(scene: Scene) -> None:
    scene.offer(*fleet()[:2])
    scene.ask("boats")
    scene.come_to("boats", "1.1.0", 120)
    scene.client.create(V2, {"metadata": {"name": "ferry"}, "spec": {"size": 3}}, scene.space)
    scene.edit("boats", version="1.0.0")
    scene.come_to("boats", "1.0.0", 120)
    assert sizes(scene, V1) == sizes(scene, V2) == {"ferry": {"size": 3}}


def test_a_definition_may_be_pinned_by_its_content_or_be_done_without(scene: Scene) -> None:
    right = content_of(definition("boats"))
    wrong = Written(package="nets", version="1.0.0", required=(("boats", "v1"),), asked={"sha256": "0" * 64})
    pinned = Written(package="ropes", version="1.0.0", required=(("boats", "v1"),), asked={"sha256": right})
    free = Written(package="flags", version="1.0.0", required=(("whales", "v1"),), asked={"optional": True})
    scene.offer(wrong, pinned, free, *boats("1.0.0"))
    for name in ("flags", "nets"):
        scene.ask(name)
    scene.come_to("flags", "1.0.0")
    assert "sha256" in scene.says("nets.v1.0.0", "RequirementsProvided", "WrongContent")
    assert scene.find(CUSTOM_RESOURCE_DEFINITION, CRD) is None
    scene.ask("ropes")
    scene.come_to("ropes", "1.0.0", 120)
    scene.come_to("boats", "1.0.0", 120)
    assert "sha256" in scene.says("nets.v1.0.0", "Installed", "RequirementsNotMet")
    scene.come_to("ropes", "1.0.0")


def test_a_version_that_a_running_operator_requires_stays(scene: Scene) -> None:
    nets = Written(package="nets", version="1.0.0", required=(("boats", "v1"),))
    scene.offer(nets, *fleet())
    scene.ask("boats", version="1.1.0")
    scene.come_to("boats", "1.1.0")
    scene.ask("nets")
    scene.come_to("nets", "1.0.0", 120)
    scene.edit("boats", version=None)
    told = scene.says("boats.v1.2.0", "Installed", "OwnerConflict")
    assert f"would not serve v1 any more, which {scene.space}/nets.v1.0.0 requires" in told
    versions = (scene.find(CUSTOM_RESOURCE_DEFINITION, CRD) or {})["spec"]["versions"]
    assert [one["name"] for one in versions] == ["v1", "v2"]
    uid = scene.client.get(APP_TYPE, "nets", scene.space)["metadata"]["uid"]
    scene.client.delete(APP_TYPE, "nets", scene.space, uid=uid)
    scene.come_to("boats", "1.2.0", 120)
