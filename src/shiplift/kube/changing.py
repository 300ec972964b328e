"""Changing an object that has to be read first: read live, see that it is the one that was meant, patch it.

The patch carries uid and resourceVersion of what was read, so that it changes just that, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from shiplift.engine.step import Outcome, Step
from shiplift.facts.kinds import Kind
from shiplift.kube.client import Client, PatchType
from shiplift.kube.outcomes import Json, done, uid_of, version_of

Patch = Mapping[str, Any] | list[dict[str, Any]]
"""A merge patch, or the operations of a JSON patch."""


class Edit(NamedTuple):
    """What to change, nothing where it is empty, and what there is to tell about it."""

    patch: Patch
    message: str = ""


class Subject(NamedTuple):
    """The object that a step means, by uid; `noun` is what people call it."""

    kind: Kind
    name: str
    namespace: str
    uid: str
    noun: str
    subresource: str = ""


def change(client: Client, step: Step, subject: Subject, edit: Callable[[Json], Edit | Outcome]) -> Outcome:
    """Change the object as `edit` says of what it is now; an outcome instead of an edit ends the step."""
    live = client.get(subject.kind, subject.name, subject.namespace)
    if uid_of(live) != subject.uid:
        return Outcome.done(step, message=f"another {subject.noun} has its name now")
    wanted = edit(live)
    if isinstance(wanted, Outcome):
        return wanted
    if not wanted.patch:
        return Outcome.done(step, message=wanted.message)
    written = client.patch(
        subject.kind,
        subject.name,
        wanted.patch,
        subject.namespace,
        type=PatchType.JSON if isinstance(wanted.patch, list) else PatchType.MERGE,
        uid=subject.uid,
        resource_version=version_of(live),
        subresource=subject.subresource,
    )
    return done(step, written, wanted.message)


def label_changes(live: Json, ours: Collection[str], wanted: Mapping[str, str]) -> dict[str, str | None]:
    """What makes those of the labels that are ours as wanted; None takes one off."""
    have: Json = live["metadata"].get("labels") or {}
    return {key: wanted.get(key) for key in ours if have.get(key) != wanted.get(key)}


def taint_changes(live: Json, ours: Collection[str], wanted: list[Json]) -> list[Json] | None:
    """The whole list of a node's taints with ours as wanted; None where it is so already."""
    old: list[Json] = live["spec"].get("taints") or []
    taints = [one for one in old if one["key"] not in ours] + wanted
    return None if _shapes(taints) == _shapes(old) else taints


def _shapes(taints: list[Json]) -> list[tuple[str, str, str]]:
    return [(one["key"], one.get("value", ""), one["effect"]) for one in taints]
