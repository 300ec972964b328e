"""What others do to operators while this layer is at work: whoever replaces, reverts, strips or withdraws
something, the end is right, and nothing that must not be was so on the way. A cluster in memory, with the
real layer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

from shiplift.engine.step import Answer
from shiplift.facts.kinds import APP_TYPE, CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, OPERATOR_VERSION
from shiplift.kube.client import Client
from shiplift.operators.act import objects
from shiplift.operators.crds.definition import content_of, stored_content_of
from shiplift.operators.handing.ownership import OWNER_UID, Owner
from shiplift.operators.model import Live
from shiplift.operators.names import FINALIZER, ORDER
from shiplift.operators.steps import PutPiece
from tests.operators.bundles import GROUP, Written, definition
from tests.operators.test_interrupted import Judge, renamed
from tests.operators.world import World

Json = dict[str, Any]


def running() -> World:
    """Version 1.0.0 runs; the next has a Deployment of another name, and is not asked for yet."""
    world = World()
    Judge(world)
    world.offer(*renamed())
    world.ask("boats", version="1.0.0")
    world.settle()
    assert world.installed("boats") == "1.0.0"
    return world


def deployment(world: World, name: str) -> Json:
    return world.of("deployments").get(name, {})


# --- somebody applies what stands in a repository ---


def test_the_old_deployment_is_replaced_whole_after_it_was_stopped() -> None:
    """It would act beside the new one, and stay for ever."""
    world, replaced = running(), list[str]()

    def bystander() -> None:
        stopped = deployment(world, "boats").get("spec", {}).get("replicas") == 0
        if stopped and not replaced and "fleet" not in world.of("deployments"):
            replaced.append("boats")
            world.replace(DEPLOYMENT, "boats", replicas=1)

    world.edit("boats", version=None)
    world.settle(between=bystander)
    assert replaced
    assert world.installed("boats") == "1.1.0"
    assert list(world.of("deployments")) == ["fleet"]
    assert list(world.of("operatorversions")) == ["boats.v1.1.0"]


def test_the_deployment_of_what_runs_is_replaced_whole() -> None:
    world = running()
    world.replace(DEPLOYMENT, "boats")
    world.settle()
    assert OWNER_UID in deployment(world, "boats")["metadata"]["annotations"]
    assert world.installed("boats") == "1.0.0"


def test_an_operator_whose_deployment_was_replaced_whole_is_uninstalled_with_it() -> None:
    world = running()
    world.delete("boats")
    world.replace(DEPLOYMENT, "boats")
    world.settle()
    assert not world.of("deployments")
    assert not world.of("apptypes")


def test_a_write_that_was_decided_before_the_next_version_stopped_it_does_not_start_it_again() -> None:
    world = running()
    place = ("deployments", "ops", "boats")
    before = world.server.objects[place]
    live = Live(uid=before["metadata"]["uid"], version="7", generation=before["metadata"]["generation"])
    late = PutPiece(
        namespace="ops",
        account="installer",
        kind=DEPLOYMENT,
        where="ops",
        name="boats",
        manifest={**before, "metadata": {"name": "boats", "namespace": "ops"}},
        digest="d",
        owner=Owner("ops", "boats.v1.0.0", before["metadata"]["annotations"][OWNER_UID]),
        uid=live.uid,
        seen_generation=live.generation,
    )
    world.server.put(DEPLOYMENT, "ops", {**before, "spec": {**before["spec"], "replicas": 0}})
    outcome = objects.take(cast("Client", world.client), late)
    assert outcome.answer is Answer.REFUSED
    assert deployment(world, "boats")["spec"]["replicas"] == 0


def test_all_that_we_note_is_taken_off_the_versions_in_a_hand_over() -> None:
    """Our finalizers, and what says which version comes after which."""
    world, stripped = running(), list[str]()

    def bystander() -> None:
        if stopped_for_the_next(world) and not stripped:
            for place, one in list(world.server.objects.items()):
                if place[0] in ("operatorversions", "apptypes"):
                    stripped.append(place[2])
                    meta = {**one["metadata"], "finalizers": [], "annotations": {}}
                    world.server.put(KINDS[place[0]], "ops", {**one, "metadata": meta})

    world.edit("boats", version=None)
    world.settle(between=bystander)
    assert sorted(stripped) == ["boats", "boats.v1.0.0", "boats.v1.1.0"]
    assert world.installed("boats") == "1.1.0"
    assert list(world.of("operatorversions")) == ["boats.v1.1.0"]
    for one in (world.of("apptypes")["boats"], world.of("operatorversions")["boats.v1.1.0"]):
        assert one["metadata"]["finalizers"] == [FINALIZER]
    assert world.of("operatorversions")["boats.v1.1.0"]["metadata"]["annotations"][ORDER] == "2"


KINDS = {one.plural: one for one in (APP_TYPE, OPERATOR_VERSION)}


def test_a_definition_that_somebody_changes_is_put_right_and_seen_by_who_pinned_its_content() -> None:
    world, pinned = World(), content_of(definition("boats"))
    nets = Written(package="nets", version="1.0.0", required=(("boats", "v1"),), asked={"sha256": pinned})
    world.offer(nets, *renamed()[:1])
    world.ask("nets")
    world.settle()
    assert (world.installed("nets"), world.installed("boats")) == ("1.0.0", "1.0.0")
    place, name = ("customresourcedefinitions", "", f"boats.{GROUP}"), f"boats.{GROUP}"
    before = world.server.objects[place]
    world.edit("boats", paused=True)
    tighter = definition("boats", size={"type": "integer", "maximum": 9})["spec"]
    world.server.put(CUSTOM_RESOURCE_DEFINITION, "", {**before, "spec": tighter})
    world.settle()
    (told,) = [
        one["message"]
        for one in world.of("operatorversions")["nets.v1.0.0"]["status"]["requirements"]
        if one["name"] == name
    ]
    assert told == f"somebody has changed {name}: it was the one with sha256 {pinned}"
    world.edit("boats", paused=False)
    world.settle()
    assert world.server.objects[place]["spec"] == before["spec"]
    assert world.installed("nets") == "1.0.0"


def test_certificates_that_others_put_into_a_definition_are_theirs() -> None:
    hook = {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://a"}}}
    live = {"spec": {**definition("boats")["spec"], "conversion": hook}}
    signed = {
        "spec": {**live["spec"], "conversion": {**hook, "webhook": {"clientConfig": {"url": "https://a"}}}}
    }
    signed["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = "Zg=="
    assert stored_content_of(live) == stored_content_of(signed)
    signed["spec"]["conversion"]["webhook"]["clientConfig"]["url"] = "https://b"
    assert stored_content_of(live) != stored_content_of(signed)


# --- somebody does so again and again ---


def fought(world: World, bystander: Callable[[], object], looks: int = 120) -> list[str]:
    """What was written while somebody undoes it after every look, a second apart."""
    world.log.clear()
    for _ in range(looks):
        world.now += timedelta(seconds=1)
        bystander()
        world.look()
    return [one for one in world.log if one.startswith("after") and "status" not in one]


def strip(world: World) -> None:
    for place, one in list(world.server.objects.items()):
        if place[0] in KINDS:
            meta = {**one["metadata"], "finalizers": [], "annotations": {}}
            world.server.put(KINDS[place[0]], "ops", {**one, "metadata": meta})


def test_who_takes_off_our_notes_again_and_again_is_told_and_not_fought_at_full_speed() -> None:
    world = running()
    written = fought(world, lambda: strip(world))
    assert 0 < len(written) < 40
    (app,), (version,) = world.of("apptypes").values(), world.of("operatorversions").values()
    assert "somebody takes our finalizer off AppType ops/boats" in str(app["status"])
    assert "somebody takes our finalizer off OperatorVersion ops/boats.v1.0.0" in str(version["status"])


def test_who_makes_again_what_is_uninstalled_is_told_and_not_fought_at_full_speed() -> None:
    world = running()
    manifest = deployment(world, "boats")
    world.delete("boats")

    def bystander() -> None:
        if not deployment(world, "boats"):
            bare = {"name": "boats", "namespace": "ops", "uid": f"uid-{world.server.version}"}
            world.server.put(DEPLOYMENT, "ops", {**manifest, "metadata": bare})

    written = fought(world, bystander)
    assert 0 < len([one for one in written if "Deployment" in one]) < 20
    (version,) = world.of("operatorversions").values()
    assert "somebody makes Deployment ops/boats again" in version["status"]["message"]


def test_who_deletes_the_version_again_and_again_is_told_and_not_fought_at_full_speed() -> None:
    world, said = running(), set[str]()

    def bystander() -> None:
        said.update(str(one["status"]) for one in world.of("apptypes").values())
        for name, one in world.of("operatorversions").items():
            if "deletionTimestamp" not in one["metadata"]:
                world.server.remove(("operatorversions", "ops", name))

    written = fought(world, bystander)
    assert 1 < len([one for one in written if "create OperatorVersion" in one]) < 10
    assert "somebody deletes OperatorVersion ops/boats.v1.0.0; keep them from it" in str(said)


def test_who_deletes_a_definition_that_is_required_again_and_again_is_told_and_not_fought() -> None:
    """Whose provider is uninstalled: nobody else makes it again."""
    world, name, said = uninstalled_provider(), f"boats.{GROUP}", set[str]()

    def bystander() -> None:
        said.update(str(one["status"]) for one in world.of("operatorversions").values())
        world.server.objects.pop(("customresourcedefinitions", "", name), None)

    written = fought(world, bystander)
    assert 1 < len([one for one in written if "create CustomResourceDefinition" in one]) < 10
    assert f"somebody deletes CustomResourceDefinition {name}; keep them from it" in str(said)


# --- a catalog changes ---


def stopped_for_the_next(world: World) -> bool:
    """The old version was stopped, and nothing of the new one runs yet."""
    replicas = deployment(world, "boats").get("spec", {}).get("replicas")
    return replicas == 0 and "fleet" not in world.of("deployments")


def test_a_version_that_is_taken_out_of_the_catalog_in_a_hand_over_leaves_somebody_running() -> None:
    world, done, said = running(), list[str](), set[str]()

    def bystander() -> None:
        (app,) = world.of("apptypes").values()
        said.update(one["message"] for one in app["status"]["conditions"] if one["reason"] == "GoingBack")
        if stopped_for_the_next(world) and not done:
            done.append("withdrawn")
            world.offer(*renamed()[:1])
            world.restart()

    world.edit("boats", version=None)
    world.settle(between=bystander)
    assert done
    assert deployment(world, "boats")["spec"]["replicas"] == 1
    assert world.installed("boats") == "1.0.0"
    assert list(world.of("operatorversions")) == ["boats.v1.0.0"]
    assert said == {"boats.v1.1.0 goes: no catalog has it any more; boats.v1.0.0 runs again"}


def test_manifests_that_cannot_be_had_for_a_while_take_nothing_back() -> None:
    """The catalog names the version, and whoever has the manifests may give them again."""
    world, hidden = running(), dict[Any, Json]()

    def bystander() -> None:
        if stopped_for_the_next(world) and not hidden:
            payloads = [place for place in world.server.objects if is_payload(place)]
            hidden.update({place: world.server.objects.pop(place) for place in payloads})
            world.restart()

    world.edit("boats", version=None)
    world.settle(between=bystander)
    assert len(world.of("operatorversions")) == 2
    world.server.objects.update(hidden)
    world.settle()
    assert world.installed("boats") == "1.1.0"


def through(world: World) -> Callable[[], None]:
    """Once the new version runs and has not taken over yet, no catalog has it any more, and the operator has
    forgotten its manifests."""
    done = list[str]()

    def bystander() -> None:
        new = world.of("operatorversions").get("boats.v1.1.0", {})
        said = {one["type"]: one["status"] for one in new.get("status", {}).get("conditions", ())}
        if said.get("Installed") == "True" and said.get("HandedOver") != "True" and not done:
            done.append("withdrawn")
            world.offer(*renamed()[:1])
            for place in [one for one in world.server.objects if is_payload(one)]:
                world.server.objects.pop(place)
            world.restart()

    return bystander


def test_a_version_that_runs_and_is_taken_out_of_the_catalog_takes_over_all_the_same() -> None:
    world = running()
    world.edit("boats", version=None)
    world.settle(between=through(world))
    assert world.installed("boats") == "1.1.0"
    assert list(world.of("deployments")) == ["fleet"]
    assert list(world.of("operatorversions")) == ["boats.v1.1.0"]
    assert [name for name in world.of("roles") if "1.0.0" in name] == []


def uninstalled_provider() -> World:
    """An operator requires a definition, and somebody has uninstalled the one that provided it."""
    world = World()
    nets = Written(package="nets", version="1.0.0", required=(("boats", "v1"),))
    world.offer(nets, *renamed()[:1])
    world.copy_catalog("main", "spare")
    world.ask("nets")
    world.settle()
    assert world.installed("boats") == "1.0.0"
    world.delete("boats")
    world.settle()
    assert list(world.of("apptypes")) == ["nets"]
    return world


def test_what_somebody_uninstalled_stays_so_when_its_catalog_goes() -> None:
    world = uninstalled_provider()
    world.server.remove(("operatorcatalogs", "", "main"))
    world.settle()
    assert list(world.of("apptypes")) == ["nets"]
    world.copy_catalog("spare", "third")
    world.settle()
    graves = world.of("operatorcatalogs")["third"]["status"]["tombstones"]
    assert [(one["namespace"], one["package"]) for one in graves] == [("ops", "boats")]


def test_what_somebody_uninstalled_stays_so_when_all_catalogs_go_and_come_again() -> None:
    world = uninstalled_provider()
    world.copy_catalog("main", "later")
    for name in ("main", "spare"):
        world.server.remove(("operatorcatalogs", "", name))
    world.settle()
    assert list(world.of("apptypes")) == ["nets"]
    world.ask("boats")
    world.settle()
    assert world.installed("boats") == "1.0.0", "but for who wants it again"
    assert "uninstalled" not in str(world.of("customresourcedefinitions"))


def is_payload(place: tuple[str, str, str]) -> bool:
    return place[0] == "configmaps" and place[2].startswith("main-") and "index" not in place[2]
