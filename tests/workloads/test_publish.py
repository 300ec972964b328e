"""The merge patch of a status: laid on what is stored, it gives exactly what is to be told."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from shiplift.api.values import Estimate, Progress
from shiplift.api.workloads import (
    MigrationState,
    Mode,
    NodesOfVersion,
    Wave,
    WorkloadMigrationStatus,
)
from shiplift.workloads.publish import _as_patch  # pyright: ignore[reportPrivateUsage]

Json = dict[str, Any]
progress = st.builds(Progress.of, st.integers(0, 3), st.integers(0, 3))
moments = st.sampled_from([datetime(2026, 11, day, tzinfo=UTC) for day in (1, 2, 3)])
statuses = st.builds(
    WorkloadMigrationStatus,
    state=st.sampled_from(MigrationState),
    target=st.sampled_from((None, "v1.35.4", "v1.36.3")),
    mode=st.sampled_from((None, Mode.INJECT)),
    started_at=st.none() | moments,
    message=st.sampled_from(("", "moving", "moved")),
    versions=st.sampled_from(((), (NodesOfVersion(version="v1.36.3", nodes=2),))),
    progress=progress,
    pods=progress,
    moves=st.integers(0, 2),
    eta=st.none()
    | st.builds(Estimate, likely=moments, earliest=st.none() | moments, latest=st.none() | moments),
    waves=st.lists(st.builds(Wave, number=st.integers(0, 2), workloads=progress), max_size=2).map(tuple),
    met=st.sampled_from(((), ("u1",), ("u1", "u2"))),
    emptying=st.sampled_from(("", "old-1")),
    notes=st.sampled_from(((), ("something",))),
)


def merged(old: Any, patch: Any) -> Any:
    """RFC 7386, word for word."""
    if not isinstance(patch, dict):
        return patch
    result: Json = dict(cast("Json", old)) if isinstance(old, dict) else {}
    for key, value in cast("Json", patch).items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


@given(statuses, statuses)
@settings(max_examples=300)
def test_the_patch_laid_on_the_old_status_gives_the_new_one(
    before: WorkloadMigrationStatus, after: WorkloadMigrationStatus
) -> None:
    old, new = msgspec.to_builtins(before), msgspec.to_builtins(after)
    assert merged(old, _as_patch(before, after)) == new


@given(statuses)
def test_what_is_the_same_is_not_written_again(status: WorkloadMigrationStatus) -> None:
    assert _as_patch(status, status) == {}


def test_only_what_differs_is_sent() -> None:
    before = WorkloadMigrationStatus(met=("u1",), message="moving", emptying="old-1")
    after = WorkloadMigrationStatus(met=("u1",), message="moved")
    assert _as_patch(before, after) == {"message": "moved", "emptying": None}
