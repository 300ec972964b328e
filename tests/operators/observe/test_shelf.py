"""Catalogs as they are read, from a cluster that a few lines play: what is bad is named, and bounded."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, cast

import msgspec
import pytest

from shiplift.engine.probes import Asked, Probe, Question, Unanswered
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import OPERATOR_CATALOG, Kind
from shiplift.facts.meta import Labels
from shiplift.facts.selectors import Requirement, Selector
from shiplift.kube.client import Client
from shiplift.kube.errors import Forbidden, NotFound
from shiplift.kube.store import Store
from shiplift.operators.decide.decision import decide
from shiplift.operators.model import Decided, Key, Loop, SourceView
from shiplift.operators.observe import shelf as shelves
from shiplift.operators.observe.shelf import NoPayloadError, Shelf, label_selector
from tests.operators.bundles import in_maps
from tests.operators.decide.views import NOW, row
from tests.operators.rig import boats

Json = dict[str, Any]


class Maps:
    """The ConfigMaps of a namespace, as a client reads them."""

    def __init__(self, *found: Json) -> None:
        self.found = {one["metadata"]["name"]: one for one in found}
        self.forbidden = False

    def list(self, kind: Kind, namespace: str, selector: str = "", limit: int = 500) -> Iterator[Json]:
        if self.forbidden:
            raise Forbidden("configmaps is forbidden", status=403, reason="Forbidden")
        return iter(
            one for one in self.found.values() if "-index-" in one["metadata"]["name"] or not selector
        )

    def get(self, kind: Kind, name: str, namespace: str = "") -> Json:
        if name not in self.found:
            raise NotFound(f"{name} not found", status=404, reason="NotFound")
        return self.found[name]


class Rows:
    """A store that has some catalogs."""

    def __init__(self, *rows: Custom) -> None:
        self.rows = rows

    def snapshot(self, *_: Kind) -> Rows:
        return self

    def customs(self, _: Kind) -> tuple[Custom, ...]:
        return self.rows

    def custom(self, _: Kind, name: str) -> Custom | None:
        return next((one for one in self.rows if one.name == name), None)


class AtOnce:
    """Asks where it is wanted, on the thread of who wants it."""

    def open(self, question: Question[Any]) -> Asked[Any]:
        return cast("Asked[Any]", _Asked(question))


class _Asked:
    pending = False

    def __init__(self, question: Question[Any]) -> None:
        self._ask: Callable[[], Any] = question.ask
        self.probe: Probe[Any] = Probe(question.name, timedelta(hours=1))

    def again(self) -> None:
        try:
            self.probe = self.probe.answered(self._ask(), NOW)
        except Unanswered as error:
            self.probe = self.probe.failed(str(error), NOW)


def catalog(format_: str = "Index", **spec: Any) -> Custom:
    source = {"configMaps": {"namespace": "fleet", "selector": {"matchLabels": {"a": "b"}}}}
    return row(OPERATOR_CATALOG, "main", {"source": source, "format": format_, **spec})


def shelf(maps: Maps, of: Custom) -> Shelf:
    made = Shelf(cast("Client", maps), cast("Store", Rows(of)), AtOnce())
    made.want("main")
    return made


def offered(*versions: str) -> Maps:
    return Maps(*[one for one in in_maps("main", "fleet", boats(*versions)) if one["kind"] == "ConfigMap"])


def test_an_index_is_put_together_and_manifests_come_when_they_are_asked_for() -> None:
    made = shelf(offered("1.0.0", "1.1.0"), catalog())
    (held,) = made.held()
    assert [one.version for one in held.catalog.packages[0].bundles] == ["1.0.0", "1.1.0"]
    bundle = made.bundle("main", "boats", "boats.v1.1.0")
    assert bundle
    assert {one["kind"] for one in made.manifests(bundle.payload)} == {
        "ClusterServiceVersion",
        "CustomResourceDefinition",
    }
    (provider,) = made.providers("harbour.example", "Boat", "v1")
    assert (provider.package, provider.bundle) == ("boats", "boats.v1.1.0")
    assert made.plural("harbour.example", "Boat") == "boats"


def test_what_was_read_stays_when_it_cannot_be_read_any_more() -> None:
    maps = offered("1.0.0")
    of = catalog()
    made = shelf(maps, of)
    maps.forbidden = True
    made.want("main")
    assert made.held()
    reading = made.reading(of)
    assert "--catalogs fleet" in reading.trouble
    assert reading.catalog is not None


def test_another_catalog_of_the_same_name_was_not_read_yet() -> None:
    rows = Rows(catalog())
    maps = offered("1.0.0")
    made = Shelf(cast("Client", maps), cast("Store", rows), AtOnce())
    made.want("main")
    assert made.reading(rows.rows[0]).generation == 1
    again = msgspec.structs.replace(catalog(), uid="uid-of-another")
    rows.rows = (again,)
    assert (made.held(), made.reading(again).generation) == ((), 0)
    assert made.is_reading(rows.rows)
    made.want("main")
    assert [one.name for one in made.held()] == ["main"]
    assert made.reading(again).news


def test_news_stay_news_until_whoever_goes_by_them_was_woken() -> None:
    """A round may end without telling anybody: the Lease was late, a status could not be written."""
    of, maps = catalog(), offered("1.0.0")
    made = shelf(maps, of)
    first = made.reading(of).news
    assert first
    assert made.reading(of).news == first
    maps.found = offered("1.0.0", "1.1.0").found
    made.want("main")
    made.spread("main", first)
    second = made.reading(of).news
    assert second, "what was read meanwhile is not spread yet"
    made.spread("main", second)
    assert not made.reading(of).news


class Ending:
    """A question whose answer comes while somebody looks at it."""

    def __init__(self, question: Question[Any]) -> None:
        self._asked = _Asked(question)

    @property
    def pending(self) -> bool:
        self._asked.again()
        return True

    @property
    def probe(self) -> Probe[Any]:
        return self._asked.probe

    def again(self) -> None:
        """It is being asked already."""


class WhileLooked:
    def open(self, question: Question[Any]) -> Asked[Any]:
        return cast("Asked[Any]", Ending(question))


def test_what_ends_while_it_is_looked_at_has_its_content() -> None:
    of = catalog()
    made = Shelf(cast("Client", offered("1.0.0")), cast("Store", Rows(of)), WhileLooked())
    made.want("main")
    reading = made.reading(of)
    assert reading.ended is not None
    assert reading.catalog is not None, "it would be told as being read until it is read again"


class Silent:
    """A question that is asked, and never answered."""

    def __init__(self, question: Question[Any]) -> None:
        self.probe: Probe[Any] = Probe(question.name, timedelta(hours=1))
        self.pending = False

    def again(self) -> None:
        self.pending = True


class Nobody:
    def open(self, question: Question[Any]) -> Asked[Any]:
        return cast("Asked[Any]", Silent(question))


def test_a_catalog_that_never_answers_holds_nobody_up_for_ever() -> None:
    of, now = catalog(), [NOW]
    made = Shelf(cast("Client", offered("1.0.0")), cast("Store", Rows(of)), Nobody(), lambda: now[0])
    made.want("main")

    def decided() -> Decided:
        return decide(SourceView(row=of, reading=made.reading(of)), now[0], Loop.SOURCE)

    ready = {one.type: one for one in decided().told[0].status.conditions}["Ready"]
    assert (ready.reason, made.is_reading((of,))) == ("Reading", True)
    assert decided().look_again_after == timedelta(minutes=2)
    now[0] += timedelta(minutes=2)
    decision = decided()
    said = {one.type: one for one in decision.told[0].status.conditions}
    assert (said["Stalled"].status, said["Ready"].reason) == ("True", "Unreadable")
    assert "has not answered" in said["Ready"].message
    assert (made.is_reading((of,)), decision.wake) == (False, (Key(Loop.USHER),))


def test_manifests_that_are_not_there_are_named() -> None:
    maps = offered("1.0.0")
    made = shelf(maps, catalog())
    bundle = made.bundle("", "boats", "boats.v1.0.0")
    assert bundle
    maps.found = {name: one for name, one in maps.found.items() if "-index-" in name}
    with pytest.raises(NoPayloadError, match="cannot be had"):
        made.manifests(bundle.payload)
    with pytest.raises(NoPayloadError, match="no catalog"):
        made.manifests("sha256:none")


def test_manifests_that_are_others_than_their_digest_says_are_refused() -> None:
    maps = offered("1.0.0", "1.1.0")
    made = shelf(maps, catalog())
    bundles = [made.bundle("", "boats", f"boats.v{one}") for one in ("1.0.0", "1.1.0")]
    names = [f"main-{one.payload.removeprefix('sha256:')[:40]}" for one in bundles if one]
    maps.found[names[0]] = {**maps.found[names[1]], "metadata": maps.found[names[0]]["metadata"]}
    assert bundles[0]
    with pytest.raises(NoPayloadError, match="not what"):
        made.manifests(bundles[0].payload)


@pytest.mark.parametrize(
    ("format_", "data", "word"),
    [
        ("Index", {"data": {"x": "no gzip"}}, "gzip"),
        ("Index", {"binaryData": {"x": "§"}}, "cannot be read"),
        ("FileBased", {"data": {"x": "a: b: ["}}, "x"),
        ("FileBased", {}, "empty"),
        ("Bundles", {"data": {"x": "y"}}, "folder"),
    ],
)
def test_what_is_no_catalog_is_named(format_: str, data: Json, word: str) -> None:
    of = catalog(format_)
    made = shelf(Maps({"metadata": {"name": "c-index-0"}, **data}), of)
    assert word in made.reading(of).trouble
    assert made.held() == ()


def test_a_catalog_that_is_too_large_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelves, "_MOST_BYTES", 100)
    of = catalog()
    text = base64.b64encode(b"x" * 200).decode()
    made = shelf(Maps({"metadata": {"name": "c-index-0"}, "binaryData": {"data": text}}), of)
    assert "more than" in made.reading(of).trouble


def test_fifty_megabytes_of_something_else_are_named() -> None:
    of = catalog("FileBased")
    made = shelf(Maps({"metadata": {"name": "c-index-0"}, "data": {"x": "- a\n" * (50 << 18)}}), of)
    assert "MiB" in made.reading(of).trouble


@pytest.mark.parametrize(
    ("spec", "count"), [({"include": ["nets"]}, 0), ({"exclude": ["boats"]}, 0), ({}, 1)]
)
def test_only_packages_that_count_are_there(spec: Json, count: int) -> None:
    (held,) = shelf(offered("1.0.0"), catalog(**spec)).held()
    assert len(held.catalog.packages) == count


def test_a_selector_is_written_as_a_list_wants_it() -> None:
    selector = Selector(
        Labels({"b": "2", "a": "1"}),
        (
            Requirement("tier", "In", ("x", "y")),
            Requirement("zone", "NotIn", ("z",)),
            Requirement("there", "Exists"),
            Requirement("gone", "DoesNotExist"),
        ),
    )
    assert label_selector(selector) == "a=1,b=2,tier in (x,y),zone notin (z),there,!gone"
