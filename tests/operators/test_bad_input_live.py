"""Catalogs with all that can be wrong with them: what is bad is named, and costs itself."""

from __future__ import annotations

import msgspec
import yaml

from shiplift.facts.kinds import CONFIG_MAP, OPERATOR_CATALOG
from tests.operators.bundles import Written
from tests.operators.rig import CATALOGS, Json, Scene, boats


def status(scene: Scene, name: str) -> Json:
    return (scene.find(OPERATOR_CATALOG, name) or {}).get("status") or {}


def catalog(scene: Scene, name: str, text: str, format_: str = "FileBased") -> None:
    """Of one ConfigMap, which holds that text."""
    body = {"metadata": {"name": name, "labels": {"of": name}}, "data": {"catalog.yaml": text}}
    scene.client.create(CONFIG_MAP, body, CATALOGS)
    source = {"configMaps": {"namespace": CATALOGS, "selector": {"matchLabels": {"of": name}}}}
    spec = {"source": source, "format": format_, "pollInterval": "1s", "priority": 10}
    scene.client.create(OPERATOR_CATALOG, {"metadata": {"name": name}, "spec": spec})


def told(scene: Scene, name: str, word: str) -> str:
    """Until the status of a catalog says that somewhere."""

    def so() -> str:
        said = status(scene, name)
        text = said.get("message", "") + " ".join(
            f"{one['package']}: {one['message']}" for one in said.get("broken") or ()
        )
        return text if word in text else ""

    return scene.waits(so)


def entry(version: str, replaces: str = "") -> Json:
    return {"name": f"x.v{version}", **({"replaces": f"x.v{replaces}"} if replaces else {})}


def file_based(package: str, *entries: Json, versions: tuple[str, ...] = ()) -> str:
    documents: list[Json] = [
        {"schema": "olm.package", "name": package, "defaultChannel": "stable"},
        {"schema": "olm.channel", "package": package, "name": "stable", "entries": list(entries)},
    ]
    for version in versions:
        says = {"type": "olm.package", "value": {"packageName": package, "version": version}}
        documents.append(
            {
                "schema": "olm.bundle",
                "package": package,
                "name": f"x.v{version}",
                "image": "registry.example/x",
                "properties": [says],
            }
        )
    return yaml.safe_dump_all(documents)


def test_bad_catalogs_are_named_and_the_good_one_works(scene: Scene) -> None:
    bad = {
        f"{scene.name}-text": ("this: is: not: yaml: [", "cannot be read"),
        f"{scene.name}-self": (file_based("self", entry("1.0.0", "1.0.0"), versions=("1.0.0",)), "self"),
        f"{scene.name}-circle": (
            file_based(
                "circle", entry("1.0.0", "1.1.0"), entry("1.1.0", "1.0.0"), versions=("1.0.0", "1.1.0")
            ),
            "circle",
        ),
        f"{scene.name}-heads": (
            file_based("heads", entry("1.0.0"), entry("1.1.0"), versions=("1.0.0", "1.1.0")),
            "heads",
        ),
        f"{scene.name}-versions": (file_based("odd", entry("one"), versions=("one",)), "odd"),
    }
    for name, (text, _) in bad.items():
        catalog(scene, name, text)
    scene.offer(*boats("1.0.0"))
    scene.ask("boats", catalog=None)
    scene.come_to("boats", "1.0.0")
    for name, (_, word) in bad.items():
        if not name.endswith("-text"):
            told(scene, name, word)
    scene.waits(lambda: _reason(scene, f"{scene.name}-text") == "Unreadable")
    for name in bad:
        scene.remove(OPERATOR_CATALOG, name)
        scene.remove(CONFIG_MAP, name, CATALOGS)


def _reason(scene: Scene, name: str) -> str:
    said = status(scene, name).get("conditions") or ()
    return next((one["reason"] for one in said if one["type"] == "Ready"), "")


def test_an_index_that_is_none_is_named(scene: Scene) -> None:
    catalog(scene, f"{scene.name}-index", "no gzip", "Index")
    assert "gzip" in told(scene, f"{scene.name}-index", "gzip")
    scene.remove(OPERATOR_CATALOG, f"{scene.name}-index")


def test_a_catalog_in_a_namespace_that_may_not_be_read_is_named_with_the_right(scene: Scene) -> None:
    source = {"configMaps": {"namespace": scene.space, "selector": {"matchLabels": {"a": "b"}}}}
    body = {"metadata": {"name": f"{scene.name}-far"}, "spec": {"source": source}}
    scene.client.create(OPERATOR_CATALOG, body)
    assert f"--catalogs {scene.space}" in told(scene, f"{scene.name}-far", "manifests")
    scene.remove(OPERATOR_CATALOG, f"{scene.name}-far")


def test_a_folder_that_is_not_there_is_named(scene: Scene) -> None:
    body = {
        "metadata": {"name": f"{scene.name}-dir"},
        "spec": {"source": {"folder": {"path": "/nowhere/at-all"}}},
    }
    scene.client.create(OPERATOR_CATALOG, body)
    told(scene, f"{scene.name}-dir", "is not there")
    scene.remove(OPERATOR_CATALOG, f"{scene.name}-dir")


def test_versions_that_cannot_run_here_are_passed_over(scene: Scene) -> None:
    first, second, third = boats("1.0.0", "1.1.0", "1.2.0")
    second = msgspec.structs.replace(second, needs="1.99.0")
    hooks = msgspec.structs.replace(third, webhooks=True)
    scene.offer(first, second, hooks)
    scene.ask("boats")
    scene.come_to("boats", "1.0.0")
    assert "1.99.0" in scene.says("boats", "UpToDate", "NoWay")


def test_what_no_catalog_has_is_named(scene: Scene) -> None:
    scene.offer(*boats("1.0.0"))
    scene.ask("submarines")
    assert "submarines" in scene.says("submarines", "Resolved", "NoCatalog")
    scene.ask("boats", channel="beta")
    assert "stable" in scene.says("boats", "Resolved", "NoChannel")
    scene.edit("boats", channel=None, version="9.9.9")
    assert "9.9.9" in scene.says("boats", "Resolved", "NoVersion")


def test_one_package_has_room_for_one_apptype_in_a_namespace(scene: Scene) -> None:
    scene.offer(*boats("1.0.0"))
    scene.ask("boats")
    scene.come_to("boats", "1.0.0")
    scene.ask("boats", name="more-boats")
    scene.says("more-boats", "Resolved", "NameTaken")


def test_a_package_that_is_needed_and_not_there_is_named(scene: Scene) -> None:
    scene.offer(Written(package="nets", version="1.0.0", required=(("whales", "v1"),)), *boats("1.0.0"))
    scene.ask("nets")
    scene.says("nets.v1.0.0", "RequirementsProvided", "NoProvider")
    scene.ask("boats")
    scene.come_to("boats", "1.0.0")
