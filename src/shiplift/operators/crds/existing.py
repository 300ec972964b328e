"""Whether the objects that exist would be accepted by a new definition: asked of the API server itself.

For a moment there is a second definition, a shadow, with the new schema and a group of its own; a copy of
each object is created of it, dry run. Kept true: nothing of what exists is touched, the shadow goes whatever
happens, and an object that the old schema would refuse as well does not count against the new one.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Generator, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from shiplift.api.operators import CrdFinding, CrdRule, RuleAction
from shiplift.engine.denials import is_denial
from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION, Kind
from shiplift.kube.client import Client
from shiplift.kube.errors import ApiError, Forbidden, Invalid, NotFound
from shiplift.operators.crds.definition import Definition, read

Json = dict[str, Any]
SHADOW = "operators.shiplift.dev/shadow"
GROUP = "shadow.shiplift.dev"
"""The API group of all shadows."""
MARK = "true"
"""What the label of a shadow says; a term of an operator has its own."""
_PATIENCE = 30.0
_LOOK = 0.1
_LEFT_BEHIND = 600.0
"""A shadow that is older, in seconds, was left by somebody who was killed."""
_MOST = 20
"""So many objects are named."""
_DEEPEST = 3


_COPIED = ("name", "namespace", "labels", "annotations")
"""Of an object's metadata, for its copy: policies of others look at labels, too."""


class ExistingError(RuntimeError):
    """The objects cannot be checked."""

    hint = "is the definition one that this API server accepts?"


class Checked(msgspec.Struct, frozen=True):
    """How many objects there are, and which of them the new definition would refuse, with the reason."""

    objects: int
    refused: tuple[tuple[str, str], ...] = ()
    already: int = 0
    """Refused by the old schema as well."""


def check(client: Client, new: Json, mark: str = MARK, most_seconds: float = float("inf")) -> Checked | None:
    """All objects of the kind; none where the cluster does not know the kind yet. Shadows carry the mark. An
    `ExistingError` where that takes longer than somebody can wait."""
    try:
        live = client.get(CUSTOM_RESOURCE_DEFINITION, read(new).name)
    except NotFound:
        return None
    remove_leftovers(client, mark)
    old, wanted = read(live), read(new)
    version = _common_version(old, wanted)
    if not version:
        return _unreadable(client, old)
    if next(iter(client.list(_kind(old, version), limit=1)), None) is None:
        return Checked(0)
    with contextlib.ExitStack() as stack:
        after = stack.enter_context(shadow(client, new, version, mark))
        before = _Lazily(lambda: stack.enter_context(shadow(client, live, version, mark)))
        return _checked(client, _kind(old, version), after, before, time.monotonic() + most_seconds)


def findings(crd: str, checked: Checked, action: RuleAction) -> list[CrdFinding]:
    """A line for each object that would be refused, up to a bound."""
    if action is RuleAction.ALLOW:
        return []
    named = [f"{name} would be refused: {why}" for name, why in checked.refused[:_MOST]]
    more = len(checked.refused) - _MOST
    named += [f"and {more:,} more objects"] if more > 0 else []
    rule = CrdRule.EXISTING_OBJECTS
    return [CrdFinding(crd=crd, rule=rule, action=action, message=message[:4096]) for message in named]


class _Lazily:
    """A shadow that is made when it is first asked for."""

    def __init__(self, make: Callable[[], Kind]) -> None:
        self._make, self._made = make, None

    def __call__(self) -> Kind:
        made: Kind = self._made or self._make()
        self._made = made
        return made


def _common_version(old: Definition, new: Definition) -> str:
    """A version that is served now and exists then, preferably the one in which objects are stored then."""
    served = [name for name, version in old.versions.items() if version.served and name in new.versions]
    stored = [name for name in served if new.versions[name].storage]
    return next(iter(stored or served), "")


def _unreadable(client: Client, old: Definition) -> Checked:
    """No version that is served now exists then: every object would be out of reach."""
    served = next((name for name, version in old.versions.items() if version.served), "")
    if not served:
        return Checked(0)
    names = [_name(one) for one in client.list(_kind(old, served))]
    why = "no version that is served now would be there"
    return Checked(len(names), tuple((name, why) for name in names))


def _checked(client: Client, kind: Kind, after: Kind, before: _Lazily, until: float) -> Checked:
    objects = already = 0
    refused: list[tuple[str, str]] = []
    for one in client.list(kind):
        if time.monotonic() > until:
            raise ExistingError(
                f"there are more than {objects:,} objects of {kind}, too many to check in time"
            )
        objects += 1
        why = _refusal(client, after, one)
        if why and _refusal(client, before(), one):
            already += 1
        elif why:
            refused.append((_name(one), why))
    return Checked(objects, tuple(refused), already)


def _refusal(client: Client, kind: Kind, one: Json) -> str:
    """Why the API server would not create a copy of it; empty where it would. Who may not ask knows nothing:
    that somebody denies a copy says nothing about the schema, whatever status the denial has."""
    meta = {key: one["metadata"][key] for key in _COPIED if key in one["metadata"]}
    try:
        client.create(kind, {**one, "metadata": meta}, meta.get("namespace", ""), dry_run=True)
    except ApiError as error:
        if isinstance(error, Forbidden) or is_denial(error.message):
            raise ExistingError(f"{_name(one)} cannot be checked: {error.message}") from error
        if not isinstance(error, Invalid):
            raise
        return (
            "; ".join(f"{cause.field}: {cause.message}" for cause in error.causes[:_DEEPEST]) or error.message
        )
    return ""


def _name(one: Json) -> str:
    meta = one["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta["name"])


def _kind(definition: Definition, version: str) -> Kind:
    return Kind(definition.kind, definition.plural, definition.group, version, definition.namespaced)


@contextlib.contextmanager
def shadow(client: Client, definition: Json, version: str, mark: str = MARK) -> Generator[Kind]:
    """A definition with that version's schema under a name of its own, until the end of the block."""
    manifest = shadow_of(definition, version, f"s{uuid.uuid4().hex[:10]}", mark)
    made = client.create(CUSTOM_RESOURCE_DEFINITION, manifest).object
    try:
        kind = _kind(read(manifest), version)
        _wait(client, kind, made["metadata"]["name"])
        yield kind
    finally:
        _remove(client, made)


def _remove(client: Client, one: Json) -> None:
    """Who denies that a shadow goes is told so: otherwise each check would leave one more behind."""
    meta = one["metadata"]
    try:
        client.delete(CUSTOM_RESOURCE_DEFINITION, meta["name"], uid=meta["uid"])
    except ApiError as error:
        if is_denial(error.message):
            told = f"CustomResourceDefinition {meta['name']}, made for the check, cannot be removed"
            raise ExistingError(f"{told}: {error.message}") from error
        if not isinstance(error, NotFound):
            raise


def shadow_of(definition: Json, version: str, name: str, mark: str = MARK) -> Json:
    """Without what would be seen elsewhere (short names, categories), converts, or hides a part of objects
    from the schema (the subresource `status`). All are in one group, so that a role can name it."""
    spec = definition["spec"]
    names = {
        "kind": name.capitalize(),
        "plural": name,
        "singular": name,
        "listKind": f"{name.capitalize()}List",
    }
    listed = [one for one in spec.get("versions") or () if one["name"] == version]
    schema: Json = (listed[0].get("schema") if listed else None) or spec.get("validation") or {}
    return {
        "apiVersion": CUSTOM_RESOURCE_DEFINITION.api_version,
        "kind": CUSTOM_RESOURCE_DEFINITION.kind,
        "metadata": {"name": f"{name}.{GROUP}", "labels": {SHADOW: mark}},
        "spec": {
            "group": GROUP,
            "names": names,
            "scope": spec.get("scope", "Namespaced"),
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }


def _wait(client: Client, kind: Kind, name: str) -> None:
    """Until the server serves it: asking it for objects is the only proof."""
    give_up = time.monotonic() + _PATIENCE
    while time.monotonic() < give_up:
        with contextlib.suppress(NotFound):
            next(iter(client.list(kind, limit=1)), None)
            return
        time.sleep(_LOOK)
    raise ExistingError(
        f"CustomResourceDefinition {name} is not served after {_PATIENCE:.0f} s{_why(client, name)}"
    )


def _why(client: Client, name: str) -> str:
    try:
        found: Json = client.get(CUSTOM_RESOURCE_DEFINITION, name).get("status") or {}
    except ApiError:
        return ""
    conditions: list[Json] = found.get("conditions") or []
    wrong = [one.get("message", "") for one in conditions if one.get("status") == "False"]
    return f": {wrong[0]}" if wrong else ""


def remove_leftovers(client: Client, mark: str = MARK) -> None:
    """Shadows that somebody who was killed left behind: of earlier terms where this is one, and old ones."""
    for one in _shadows(client):
        of = one["metadata"]["labels"][SHADOW]
        if _age(one) > _LEFT_BEHIND or (MARK not in (of, mark) and of != mark):
            _remove(client, one)


def _shadows(client: Client) -> Iterator[Json]:
    return client.list(CUSTOM_RESOURCE_DEFINITION, label_selector=SHADOW)


def _age(one: Json) -> float:
    made = datetime.fromisoformat(one["metadata"]["creationTimestamp"].replace("Z", "+00:00"))
    return (datetime.now(UTC) - made).total_seconds()
