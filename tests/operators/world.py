"""A cluster in memory for this layer: an API server with preconditions, a garbage collector, a controller of
Deployments; the layer itself is the real one. Whoever writes may be killed before any write, or after it."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, cast

import msgspec

from shiplift import api
from shiplift.engine.barrier import Seen
from shiplift.engine.layer import Retry
from shiplift.engine.step import Outcomes
from shiplift.facts.cluster import CrdVersion, CustomResourceDefinition, Namespace
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import (
    APP_TYPE,
    CUSTOM_RESOURCE_DEFINITION,
    DEPLOYMENT,
    OPERATOR_CATALOG,
    OPERATOR_VERSION,
    Kind,
)
from shiplift.facts.meta import NO_LABELS, Labels
from shiplift.facts.pods import PodSpec
from shiplift.facts.workloads import Deployment
from shiplift.kube.client import Client, PatchType, Propagation, Written
from shiplift.kube.errors import AlreadyExists, Conflict, KubeError, NotFound, PreconditionFailed
from shiplift.kube.events import Recorder
from shiplift.kube.manifests import kind_of
from shiplift.kube.part import Context
from shiplift.kube.rows import custom
from shiplift.kube.store import Store
from shiplift.operators.controller import Operators
from shiplift.operators.model import Key, Loop
from shiplift.operators.observe.observer import OF_APP_TYPE, OF_VERSION
from tests.merging import edited, merged
from tests.operators.bundles import Written as Bundle
from tests.operators.bundles import in_maps
from tests.operators.observe.test_shelf import AtOnce

Json = dict[str, Any]
T = TypeVar("T")
Place = tuple[str, str, str]
"""Plural, namespace and name of an object."""
SPACE, CATALOGS = "ops", "fleet"


class Killed(Exception):  # noqa: N818 - says what became of the operator
    """The operator is killed."""


class Server:
    """Objects, and what the API server, the collector and the controllers do to them."""

    def __init__(self) -> None:
        self.objects: dict[Place, Json] = {}
        self.version = 0
        self.judges: list[Callable[[], None]] = []
        """Called after every change."""

    # --- for everybody ---

    def put(self, kind: Kind, namespace: str, body: Json) -> Json:
        """As the server stores it; the same as before is no change."""
        place = (kind.plural, namespace if kind.namespaced else "", body["metadata"]["name"])
        before = self.objects.get(place)
        body = stored(body)
        if before is not None and _content(before) == _content(body):
            return before
        self.version += 1
        meta = {**body["metadata"], "resourceVersion": str(self.version)}
        same = before is not None and before.get("spec") == body.get("spec")
        meta["generation"] = meta.get("generation", 0) + (0 if same else 1)
        self.objects[place] = {
            **body,
            "metadata": {key: one for key, one in meta.items() if one not in ({}, [])},
        }
        if "deletionTimestamp" in meta and not meta.get("finalizers"):
            self._gone(place)
        self._judged()
        return self.objects.get(place, {**body, "metadata": meta})

    def remove(self, place: Place) -> None:
        """Asked to go; what holds it holds it."""
        one = self.objects[place]
        if one["metadata"].get("finalizers"):
            self.version += 1
            meta = {
                **one["metadata"],
                "deletionTimestamp": "2026-11-17T12:00:00Z",
                "resourceVersion": str(self.version),
            }
            self.objects[place] = {**one, "metadata": meta}
        else:
            self._gone(place)
        self._judged()

    def _gone(self, place: Place) -> None:
        one = self.objects.pop(place)
        self.version += 1
        if place[0] == OPERATOR_VERSION.plural:
            self._collect(one)

    def _collect(self, owner: Json) -> None:
        """As the garbage collector does where nobody orphaned what refers to it: the cruel way."""
        uid = owner["metadata"]["uid"]
        for place, one in list(self.objects.items()):
            references = one["metadata"].get("ownerReferences") or []
            if not any(each["uid"] == uid for each in references):
                continue
            if kept := [each for each in references if each["uid"] != uid]:
                self.objects[place] = {**one, "metadata": {**one["metadata"], "ownerReferences": kept}}
            else:
                self.objects.pop(place, None)

    def _judged(self) -> None:
        for judge in self.judges:
            judge()

    def nature(self) -> None:
        """Deployments come to have the pods that they ask for."""
        for place, one in list(self.objects.items()):
            if place[0] == DEPLOYMENT.plural:
                wanted = one["spec"].get("replicas", 1)
                status = {"replicas": wanted, "generation": one["metadata"]["generation"]}
                if one.get("status") != status:
                    self.put(DEPLOYMENT, place[1], {**one, "status": status})


def stored(body: Json) -> Json:
    """With what the server adds to a definition."""
    if body.get("kind") != CUSTOM_RESOURCE_DEFINITION.kind:
        return body
    return {**body, "spec": {"conversion": {"strategy": "None"}, **body["spec"]}}


def _content(one: Json) -> Json:
    meta = {
        key: value for key, value in one["metadata"].items() if key not in ("resourceVersion", "generation")
    }
    return {**one, "metadata": {key: value for key, value in meta.items() if value not in ({}, [])}}


Admission = Callable[[str], KubeError | None]
"""What a webhook answers to `create`, `update`, `patch` or `delete` of a kind and name; None lets it pass."""


class FakeClient:
    """The verbs that the layer uses, with their preconditions; `fate` is asked around every write, and
    `admits` before each, in dry run as well."""

    def __init__(
        self, server: Server, fate: Callable[[str], None], admits: Admission = lambda _: None
    ) -> None:
        self._server, self._fate, self._admits = server, fate, admits

    def _admitted(self, what: str) -> None:
        if (denial := self._admits(what)) is not None:
            raise denial

    def acting_as(self, _: object) -> FakeClient:
        return self

    def ask(self, _: str, path: str, what: type[T], **__: object) -> T:
        if "selfsubjectaccessreviews" in path:
            return msgspec.convert({"status": {"allowed": True}}, what)
        return msgspec.convert({"major": "1", "minor": "36", "gitVersion": "v1.36.3"}, what)

    def get(self, kind: Kind, name: str, namespace: str = "") -> Json:
        place = (kind.plural, namespace if kind.namespaced else "", name)
        if place not in self._server.objects:
            raise NotFound(f"{kind} {name} not found", status=404, reason="NotFound")
        return copy.deepcopy(self._server.objects[place])

    def list(
        self,
        kind: Kind,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 500,
    ) -> Iterator[Json]:
        found = [
            one
            for place, one in self._server.objects.items()
            if place[0] == kind.plural and namespace in ("", place[1]) and selects(label_selector, one)
        ]
        if field_selector:
            found = [one for one in found if f"metadata.name={one['metadata']['name']}" == field_selector]
        return iter(copy.deepcopy(found))

    def create(
        self, kind: Kind, body: Mapping[str, Any], namespace: str = "", dry_run: bool = False
    ) -> Written:
        meta = body["metadata"]
        space = namespace or meta.get("namespace", "")
        if (kind.plural, space if kind.namespaced else "", meta["name"]) in self._server.objects:
            raise AlreadyExists(f"{kind} {meta['name']} exists", status=409, reason="AlreadyExists")
        where = {"namespace": space} if kind.namespaced else {}
        uid = f"uid-{self._server.version}-{meta['name']}"
        whole = {**body, "kind": kind.kind, "metadata": {**meta, **where, "uid": uid}}
        self._admitted(f"create {kind} {meta['name']}")
        if dry_run:
            return Written(stored(whole), None)
        return self._write(kind, space, f"create {kind} {meta['name']}", lambda: whole)

    def update(
        self, kind: Kind, body: Mapping[str, Any], subresource: str = "", dry_run: bool = False
    ) -> Written:
        meta = body["metadata"]
        live = self.get(kind, meta["name"], meta.get("namespace", ""))
        self._check(live, meta["uid"], meta["resourceVersion"])
        whole = {
            **body,
            "kind": kind.kind,
            "metadata": {**meta, "generation": live["metadata"]["generation"]},
        }
        self._admitted(f"update {kind} {meta['name']}")
        if dry_run:
            return Written(stored(whole), None)
        return self._write(kind, meta.get("namespace", ""), f"update {kind} {meta['name']}", lambda: whole)

    def patch(
        self,
        kind: Kind,
        name: str,
        patch: Any,
        namespace: str = "",
        *,
        type: PatchType = PatchType.MERGE,  # noqa: A002 - the word of the API
        uid: str,
        resource_version: str | None = None,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Written:
        live = self.get(kind, name, namespace)
        self._check(live, uid, resource_version)
        self._admitted(f"patch {kind} {name} {subresource}".strip())
        if dry_run:
            return Written(live, None)
        changed = edited(live, patch) if type is PatchType.JSON else merged(live, patch)
        return self._write(kind, namespace, f"patch {kind} {name} {subresource}", lambda: changed)

    def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str = "",
        *,
        uid: str,
        resource_version: str | None = None,
        propagation: Propagation = Propagation.BACKGROUND,
    ) -> Written:
        live = self.get(kind, name, namespace)
        self._check(live, uid, resource_version)
        self._admitted(f"delete {kind} {name}")
        self._fate(f"before delete {kind} {name}")
        self._server.remove((kind.plural, namespace if kind.namespaced else "", name))
        self._fate(f"after delete {kind} {name}")
        return Written(live, Seen(kind, self._server.version))

    def _check(self, live: Json, uid: str, version: str | None) -> None:
        if live["metadata"]["uid"] != uid:
            raise PreconditionFailed("another uid", status=409, reason="Conflict")
        if version is not None and live["metadata"]["resourceVersion"] != version:
            raise Conflict("it has changed", status=409, reason="Conflict")

    def _write(self, kind: Kind, namespace: str, what: str, body: Callable[[], Json]) -> Written:
        self._fate(f"before {what}")
        written = self._server.put(kind, namespace, copy.deepcopy(body()))
        self._fate(f"after {what}")
        return Written(written, Seen(kind, self._server.version))


def selects(selector: str, one: Json) -> bool:
    labels: Json = one["metadata"].get("labels") or {}
    if " in (" in selector:
        key, _, rest = selector.partition(" in (")
        return labels.get(key) in rest.rstrip(")").split(",")
    if "=" not in selector:
        return not selector or selector in labels
    return all(
        labels.get(key) == value for key, _, value in (part.partition("=") for part in selector.split(","))
    )


class Snap:
    """What a store has of the server at one moment."""

    def __init__(self, objects: Mapping[Place, Json]) -> None:
        self._objects = dict(objects)

    def customs(self, kind: Kind) -> list[Custom]:
        found = [one for place, one in self._objects.items() if place[0] == kind.plural]
        return [custom.decoder(kind)(msgspec.json.encode(one)) for one in found]

    def custom(self, kind: Kind, name: str, namespace: str = "") -> Custom | None:
        return next(
            (one for one in self.customs(kind) if (one.name, one.namespace) == (name, namespace)), None
        )

    def find(self, rows: type, name: str, namespace: str = "") -> Any:
        return next((one for one in self.all(rows) if one.name == name), None)

    def all(self, rows: type) -> list[Any]:
        if rows is Namespace:
            return []
        plural, make = {
            Deployment: (DEPLOYMENT.plural, _deployment),
            CustomResourceDefinition: (CUSTOM_RESOURCE_DEFINITION.plural, _definition),
        }[rows]
        return [make(one) for place, one in self._objects.items() if place[0] == plural]

    def stale(self, *_: Kind) -> tuple[Kind, ...]:
        return ()


def _meta(one: Json) -> Json:
    meta = one["metadata"]
    return {
        "namespace": meta.get("namespace", ""),
        "name": meta["name"],
        "uid": meta["uid"],
        "resource_version": int(meta["resourceVersion"]),
        "generation": meta["generation"],
        "created": 1,
        "deleting": int("deletionTimestamp" in meta),
        "labels": Labels(meta.get("labels") or {}),
        "annotations": Labels(meta.get("annotations") or {}),
        "owners": (),
        "finalizers": tuple(meta.get("finalizers") or ()),
    }


def _deployment(one: Json) -> Deployment:
    status: Json = one.get("status") or {}
    pods = status.get("replicas", 0)
    return Deployment(
        **_meta(one),
        selector=None,
        template=PodSpec(),
        template_labels=NO_LABELS,
        observed_generation=status.get("generation", 0),
        min_ready_seconds=0,
        replicas=one["spec"].get("replicas", 1),
        paused=False,
        strategy="RollingUpdate",
        max_unavailable=None,
        max_surge=None,
        progress_deadline=600,
        current_replicas=pods,
        updated_replicas=pods,
        ready_replicas=pods,
        available_replicas=pods,
        terminating_replicas=0,
        conditions=(),
    )


def _definition(one: Json) -> CustomResourceDefinition:
    spec = one["spec"]
    return CustomResourceDefinition(
        **_meta(one),
        group=spec["group"],
        kind=spec["names"]["kind"],
        plural=spec["names"]["plural"],
        scope=spec["scope"],
        versions=tuple(
            CrdVersion(each["name"], each["served"], each["storage"]) for each in spec["versions"]
        ),
        stored_versions=(),
        conditions=(),
    )


class FakeStore:
    """Behind in nothing but what is told to be silent: of that it has what there was then."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._old: dict[str, dict[Place, Json]] = {}

    def snapshot(self, *_: Kind) -> Snap:
        seen = {place: one for place, one in self._server.objects.items() if place[0] not in self._old}
        for old in self._old.values():
            seen |= old
        return Snap(seen)

    def silence(self, kind: Kind) -> None:
        """Its watch brings nothing any more, and nobody has noticed yet."""
        self._old[kind.plural] = {
            place: one for place, one in self._server.objects.items() if place[0] == kind.plural
        }

    def catch_up(self) -> None:
        self._old.clear()


class Heard:
    """Hears of Events, and keeps their notes."""

    def __init__(self) -> None:
        self.notes: set[str] = set()

    def record(self, _about: object, reason: str, note: str, **__: object) -> None:
        self.notes.add(f"{reason}: {note}")


class World:
    """The server, and an operator that may be killed at any write."""

    def __init__(self, seed: int = 0) -> None:
        self.server = Server()
        self.now = datetime(2026, 11, 17, 12, tzinfo=UTC)
        self.dice = random.Random(seed)
        self.writes = 0
        self.kill_at = -1
        self.log: list[str] = []
        self.webhook: Admission = lambda _: None
        self.denied: list[str] = []
        self.events = Heard()
        self._outcomes: dict[Key, Outcomes] = {}
        self.store = FakeStore(self.server)
        self.client = FakeClient(self.server, self._fate, self._admits)
        self._quiet = FakeClient(self.server, lambda _: None)
        self._layer = self._operator()

    def _fate(self, what: str) -> None:
        self.log.append(what)
        self.writes += 1
        if self.writes == self.kill_at:
            raise Killed(what)

    def _admits(self, what: str) -> KubeError | None:
        denial = self.webhook(what)
        self.denied += [what] if denial is not None else []
        return denial

    def _operator(self) -> Operators:
        self._outcomes.clear()
        context = Context(
            cast("Client", self.client),
            cast("Store", self.store),
            cast("Recorder", self.events),
            epoch=1,
            probing=AtOnce(),
        )
        return Operators(context, lambda: self.now)

    def restart(self) -> None:
        """Another operator, which knows nothing."""
        self._layer = self._operator()

    # --- what people do ---

    def offer(self, *versions: Bundle) -> None:
        for one in in_maps("main", CATALOGS, versions):
            kind, meta = kind_of(one), one["metadata"]
            try:
                live = self._quiet.get(kind, meta["name"], meta.get("namespace", ""))
            except NotFound:
                self._quiet.create(kind, one, meta.get("namespace", ""))
            else:
                data = {key: one[key] for key in ("binaryData",) if key in one}
                self._quiet.patch(
                    kind, meta["name"], data, meta.get("namespace", ""), uid=live["metadata"]["uid"]
                )

    def ask(self, package: str, **spec: Any) -> None:
        wanted = {"package": package, "serviceAccountName": "installer", **spec}
        self._quiet.create(APP_TYPE, {"metadata": {"name": package}, "spec": wanted}, SPACE)

    def edit(self, name: str, **spec: Any) -> None:
        uid = self._quiet.get(APP_TYPE, name, SPACE)["metadata"]["uid"]
        self._quiet.patch(APP_TYPE, name, {"spec": spec}, SPACE, uid=uid)

    def copy_catalog(self, of: str, name: str) -> None:
        """Another catalog that reads the same."""
        spec = self.of(OPERATOR_CATALOG.plural)[of]["spec"]
        self._quiet.create(OPERATOR_CATALOG, {"metadata": {"name": name}, "spec": spec})

    def delete(self, name: str) -> None:
        self.server.remove((APP_TYPE.plural, SPACE, name))

    def replace(self, kind: Kind, name: str, **more: Any) -> None:
        """As somebody does from a manifest that knows nothing of us: another uid, none of our marks."""
        place = (kind.plural, SPACE if kind.namespaced else "", name)
        before = self.server.objects.pop(place)
        where = {"namespace": SPACE} if kind.namespaced else {}
        body = {"kind": kind.kind, "spec": {**before["spec"], **more}}
        uid = f"uid-{self.server.version}-{name}-anew"
        self.server.put(kind, SPACE, {**body, "metadata": {"name": name, "uid": uid, **where}})

    # --- what the operator does ---

    def settle(self, most: int = 120, between: Callable[[], None] = lambda: None) -> None:
        """Look at all keys, in any order, until nothing has changed for some looks: a catalog may have to be
        read anew first. Between two looks, others do what they do."""
        quiet = 0
        for _ in range(most):
            before = (self.server.version, len(self.log))
            self.now += timedelta(seconds=20)
            self.look(between)
            quiet = quiet + 1 if before == (self.server.version, len(self.log)) else 0
            if quiet == 3:
                return
        raise AssertionError(f"it does not come to rest: {self.log[-12:]}")

    def look(self, between: Callable[[], None] = lambda: None) -> None:
        """At all keys once."""
        keys = list(self._keys())
        self.dice.shuffle(keys)
        for key in keys:
            self._round(key)
        between()
        self.server.nature()

    def _keys(self) -> Iterator[Key]:
        for plural, space, name in list(self.server.objects):
            if plural == APP_TYPE.plural:
                yield from (Key(loop, space, name) for loop in OF_APP_TYPE)
            elif plural == OPERATOR_VERSION.plural:
                yield from (Key(loop, space, name) for loop in OF_VERSION)
            elif plural == OPERATOR_CATALOG.plural:
                yield Key(Loop.SOURCE, "", name)
            elif plural == CUSTOM_RESOURCE_DEFINITION.plural:
                yield Key(Loop.CRD, "", name)

    def _round(self, key: Key) -> None:
        """One look; who is killed comes back knowing nothing."""
        layer, outcomes = self._layer, self._outcomes.get(key, Outcomes())
        try:
            decision = layer.decide(layer.observe(key, outcomes), self.now)
            answers = [layer.act(step) for step in decision.steps]
            self._outcomes[key] = outcomes.remember(answers, self.now)
            list(layer.publish(key, decision))
        except Retry:
            pass
        except Killed:
            self._layer = self._operator()

    # --- what is seen ---

    def of(self, plural: str) -> dict[str, Json]:
        return {place[2]: one for place, one in self.server.objects.items() if place[0] == plural}

    def installed(self, name: str) -> str:
        return (self.of(APP_TYPE.plural).get(name, {}).get("status") or {}).get("installed", "")


def decoded(kind: Kind, one: Json) -> Any:
    return api.decode(kind, msgspec.json.encode(one))
