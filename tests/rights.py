"""Granted is used: what the operator may do, and what of that it did in the tests of a run.

A test that plays all of a layer compares both itself (`unused`). Where a layer's rights are used by many
tests, their cluster is an `audited` one: what its operators asked for is noted when it ends, and the summary
of the run names the rights that no test had a use for.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shiplift.kube.part import LayerPart
from shiplift.local.cluster import Cluster
from shiplift.local.components import Settings
from shiplift.local.nodes import Pool
from shiplift.operator import install
from shiplift.operator.layers import LAYERS
from tests.operated import SPACE

Used = dict[str, set[str]]
"""What operators used of their rights, each as `verb resource`, by the layers that they ran."""
_used: Used = defaultdict(set)
_AUDITED = Settings(audit=True)
_SERIES = {"get events", "patch events"}
"""Used where an Event happens again: `tests/kube/test_events`."""
_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "impersonate")
_TEMPLATES = f"{install.ACCOUNT}-templates"


def granted(*parts: LayerPart, templates: bool = False) -> set[str]:
    """By all roles of the account, each right as `verb resource`."""
    names = (install.ACCOUNT, _TEMPLATES) if templates else (install.ACCOUNT,)
    roles = [
        one
        for one in install.manifests(SPACE, parts, templates=templates)
        if one["kind"] in ("ClusterRole", "Role") and one["metadata"]["name"] in names
    ]
    rules: list[Any] = [rule for one in roles for rule in one["rules"]]
    return {f"{verb} {resource}" for one in rules for verb in one["verbs"] for resource in one["resources"]}


def without_use(given: set[str], asked: set[str]) -> set[str]:
    """Rights that nobody used, but for those that have a test of their own: a server that does not stream
    lists, as 1.33, is asked for pages (`tests/kube/test_store`)."""
    return {one for one in given - asked - _SERIES if not one.startswith("list ") and _is_noted(one)}


def unused(
    part: LayerPart, asked: set[str], elsewhere: AbstractSet[str] = frozenset(), *, templates: bool = False
) -> set[str]:
    """Rights of a layer that the test which plays all of it had no use for. What it used counts in the
    summary of the run, and so does what has a test of its own elsewhere."""
    note({part.name: asked | elsewhere})
    return without_use(granted(part, templates=templates), asked | elsewhere)


def _is_noted(right: str) -> bool:
    """Verbs of our own, and the finalizers of owners, are asked for by admission alone, which notes nothing:
    `tests/api/test_authors`."""
    verb, resource = right.split()
    return verb in _VERBS and not resource.endswith("/finalizers")


@contextmanager
def audited(
    cluster: Cluster, *parts: LayerPart, settings: Settings = _AUDITED, pools: Iterable[Pool] = ()
) -> Iterator[Cluster]:
    """The cluster, up; when it ends it is noted what operators with these layers asked of it."""
    cluster.up(settings, pools=list(pools))
    yield cluster
    _used[" ".join(sorted(one.name for one in parts))] |= used(cluster.layout.audit_log)
    cluster.down()


def used(log: Path) -> set[str]:
    """By accounts of the operator's name, whatever their namespace."""
    found: set[str] = set()
    with log.open("rb") as lines:
        for line in lines:
            if b'"system:serviceaccount:' in line:
                found |= _asked(json.loads(line))
    return found


def _asked(event: Mapping[str, Any]) -> set[str]:
    about = event.get("objectRef")
    if about is None or not event["user"]["username"].endswith(f":{install.ACCOUNT}"):
        return set()
    resource = "/".join(about[key] for key in ("resource", "subresource") if key in about)
    return {f"{event['verb']} {resource}"}


def noted() -> dict[str, list[str]]:
    """What this process has noted, as one process tells another."""
    return {layers: sorted(asked) for layers, asked in _used.items()}


def note(told: Mapping[str, Iterable[str]]) -> None:
    for layers, asked in told.items():
        _used[layers] |= set(asked)


def summary() -> Iterator[str]:
    """A line for each layer of which rights were not used by any operator that ran it."""
    for name in sorted({name for layers in _used for name in layers.split()}):
        asked = {one for layers, those in _used.items() if name in layers.split() for one in those}
        given = granted(LAYERS[name])
        left = sorted(without_use(given, asked))
        counted = f"{len(given) - len(left)} of {len(given)} used"
        yield f"rights of {name}: {counted}; not used: {', '.join(left) or 'none'}"
