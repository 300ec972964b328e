"""Steps on StatefulSets: each one patch of what was just read, so it changes just that, or nothing.

A swap begins in one write (`OnDelete`, marks, hold, image) and ends in one, after which nothing of ours is
left. Put back, a StatefulSet has byte for byte the template that it had: its controller then finds the
revision that its pods are of, and restarts none.
"""

from __future__ import annotations

from typing import Any

from shiplift.api.marks import QUORUM_HOLD, label_value
from shiplift.engine.step import Outcome, Step
from shiplift.facts.kinds import STATEFUL_SET
from shiplift.kube.changing import Edit, Subject, change
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError, ServerError, Unknown
from shiplift.kube.outcomes import Json, refusal
from shiplift.quorum.names import NEW_VERSION, OLD_VERSION, SWAP, Before, Record
from shiplift.quorum.records import written_on
from shiplift.quorum.steps import Begin, Finish, LiftHold, PutBack

_ON_DELETE = {"type": "OnDelete"}
_CONTAINERS = "/spec/template/spec/containers"
Operations = list[dict[str, Any]]


class Sets:
    """Writes the StatefulSets of one service."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        service: str,
        container: str,
        known: dict[str, Record] | None = None,
    ) -> None:
        """`known` has what was written on them, by uid: somebody may have taken it off meanwhile."""
        self._client, self._namespace = client, namespace
        self._service, self._container = service, container
        self._known = known if known is not None else {}
        self._written: Record | None = None
        """By the step that is being taken."""

    def take(self, step: Begin | PutBack | LiftHold | Finish) -> Outcome:
        self._written = None
        known = self._known.get(step.uid)
        subject = Subject(STATEFUL_SET, step.pool, self._namespace, step.uid, "StatefulSet")
        try:
            outcome = change(self._client, step, subject, lambda live: self._edit(step, live))
        except KubeError as error:
            if known is not None and not isinstance(error, (Unknown, ServerError)):
                # nothing was written, and who tries again has to know
                self._known[step.uid] = known
            return refusal(step, error)
        if outcome.ok and self._written is not None:
            # known from now on, whatever becomes of it before it is seen
            self._known[step.uid] = self._written
        return outcome

    def _edit(self, step: Step, live: Json) -> Edit | Outcome:
        match step:
            case Begin():
                return self._begin(step, live)
            case PutBack():
                return self._end(step, live, put_back=True)
            case Finish():
                return self._end(step, live, put_back=False)
            case LiftHold():
                return Edit(_without(live, "annotations", (QUORUM_HOLD,)))
            case _:
                raise TypeError(f"{type(step).__name__} is no step on a StatefulSet")

    def _begin(self, step: Begin, live: Json) -> Edit | Outcome:
        there = written_on(live)
        record = there or self._known.get(step.uid)
        container = _container(live, record, self._container)
        at = _place(live, container)
        if at is None:
            return Outcome.failed(step, f"statefulset/{step.pool} has no container {container}")
        if record is None:
            before = Before(_containers(live)[at]["image"], live["spec"]["updateStrategy"])
            record = Record(self._service, step.target, step.image, container, before, recreate=step.recreate)
        if record.service != self._service or record.image != step.image:
            return Outcome.failed(step, f"statefulset/{step.pool} is being swapped by {record.service}")
        self._written = record
        annotations = {SWAP: record.written(), QUORUM_HOLD: self._service}
        labels = {OLD_VERSION: _label(step.running), NEW_VERSION: _label(step.target)}
        labels = {} if there else {key: value for key, value in labels.items() if value}
        written = _with(live, "annotations", annotations) + _with(live, "labels", labels)
        strategy = _replaced("/spec/updateStrategy", live["spec"]["updateStrategy"], _ON_DELETE)
        image = _replaced(f"{_CONTAINERS}/{at}/image", _containers(live)[at]["image"], step.image)
        return Edit([*written, *strategy, *image])

    def _end(self, step: PutBack | Finish, live: Json, *, put_back: bool) -> Edit | Outcome:
        # forgotten before it is done: whether it was, the StatefulSet says
        record = self._known.pop(step.uid, None)
        record = written_on(live) or record
        if record is None:
            return Outcome.done(step, message="nothing of ours is on it")
        if record.service != self._service:
            return Outcome.failed(step, f"statefulset/{step.pool} is being swapped by {record.service}")
        operations = [
            *_without(live, "annotations", (SWAP, QUORUM_HOLD)),
            *_without(live, "labels", (OLD_VERSION, NEW_VERSION)),
            *_strategy_of_before(live, record),
            *(_image_of_before(live, record) if put_back else []),
        ]
        return Edit(operations)


def _label(version: str) -> str:
    """MinIO writes times with colons, which labels do not take."""
    return label_value(version.replace(":", "-"))


def _strategy_of_before(live: Json, record: Record) -> Operations:
    """Three-way: what a user has set meanwhile stays."""
    now = live["spec"]["updateStrategy"]
    return _replaced("/spec/updateStrategy", now, record.before.strategy) if now == _ON_DELETE else []


def _image_of_before(live: Json, record: Record) -> Operations:
    at = _place(live, record.container)
    if at is None or _containers(live)[at]["image"] != record.image:
        return []
    return _replaced(f"{_CONTAINERS}/{at}/image", record.image, record.before.image)


def _container(live: Json, record: Record | None, named: str) -> str:
    """The one that the swap began with, unless it has another name now."""
    begun = record is not None and _place(live, record.container) is not None
    return record.container if record is not None and begun else named


def _marks(live: Json, field: str) -> dict[str, str]:
    return live["metadata"].get(field) or {}


def _containers(live: Json) -> list[Json]:
    return live["spec"]["template"]["spec"]["containers"]


def _place(live: Json, name: str) -> int | None:
    places = (at for at, container in enumerate(_containers(live)) if container["name"] == name)
    return next(places, None)


def _replaced(path: str, now: object, value: object) -> Operations:
    return [] if now == value else [{"op": "replace", "path": path, "value": value}]


def _with(live: Json, field: str, values: dict[str, str]) -> Operations:
    have = _marks(live, field)
    if not have and values:
        return [{"op": "add", "path": f"/metadata/{field}", "value": values}]
    missing = {key: value for key, value in values.items() if have.get(key) != value}
    return [
        {"op": "add", "path": f"/metadata/{field}/{_escaped(key)}", "value": missing[key]} for key in missing
    ]


def _without(live: Json, field: str, keys: tuple[str, ...]) -> Operations:
    have = _marks(live, field)
    return [{"op": "remove", "path": f"/metadata/{field}/{_escaped(key)}"} for key in keys if key in have]


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
