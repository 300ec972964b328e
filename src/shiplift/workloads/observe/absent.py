"""Workloads that an order names and that are not there: whoever mistyped a name is told, with what may be
meant.

What is written of such a workload is followed by nobody, so nothing waits as its author believes.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice

from shiplift.api.orders import WorkloadOrder
from shiplift.facts.custom import Custom
from shiplift.workloads.identity import WorkloadId, referenced
from shiplift.workloads.model import Absent

_MOST_COMPARED = 16
"""So many names are compared with those that are there: a namespace may have thousands."""


def absent(
    orders: Iterable[Custom], there: Collection[WorkloadId], apart: Collection[str]
) -> tuple[Absent, ...]:
    """Those that are named as waiting and are not `there`; namespaces that are `apart` are not known."""
    found = [
        Absent(f"{row.namespace}/{row.name}", id_)
        for row in sorted(orders, key=lambda row: (row.namespace, row.name))
        for id_ in _named(row)
        if id_ not in there and id_.namespace not in apart
    ]
    return tuple(
        Absent(one.order, one.workload, near(one.workload, there)) if number < _MOST_COMPARED else one
        for number, one in enumerate(found)
    )


def like(missing: Iterable[WorkloadId], there: Collection[WorkloadId]) -> Mapping[WorkloadId, WorkloadId]:
    """What may be meant by the first of those that are missing."""
    first = islice(dict.fromkeys(missing), _MOST_COMPARED)
    return {id_: meant for id_ in first if (meant := near(id_, there)) is not None}


def near(wanted: WorkloadId, there: Iterable[WorkloadId]) -> WorkloadId | None:
    """The one that is there and may be meant: nearly that name in its namespace, or that name in another."""
    known = list(there)
    at_home = [id_ for id_ in known if id_.namespace == wanted.namespace]
    close = difflib.get_close_matches(wanted.name, {id_.name for id_ in at_home}, n=1)
    elsewhere = [id_ for id_ in known if id_.name == wanted.name]
    fitting = [id_ for id_ in at_home if id_.name in close] or elsewhere
    return min(fitting, key=lambda id_: (id_.kind != wanted.kind, id_), default=None)


def _named(row: Custom) -> Iterator[WorkloadId]:
    """Of its own namespace: of others it does not speak."""
    order: WorkloadOrder = row.object
    named = (referenced(one, row.namespace) for one in order.spec.workloads)
    return (one for one in named if one.namespace == row.namespace)
