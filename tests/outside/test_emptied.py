"""An outbox that somebody else empties: GitOps, or a tool that makes its ConfigMap anew. What was told is not
told again, and what was not is."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from shiplift.kube.client import Client
from shiplift.kube.errors import Forbidden, KubeError
from shiplift.outside.letters import Letter
from shiplift.outside.outbox import Outbox

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
FIRST, SECOND = (Letter(name, "OCM", NOW) for name in ("p1/started", "p1/completed"))


class ConfigMap:
    """One, on an API server."""

    def __init__(self) -> None:
        self.data: dict[str, str] = {}
        self.writes = 0
        self.denied = False

    def get(self, *_: Any) -> dict[str, Any]:
        about = {"uid": "c1", "resourceVersion": str(self.writes)}
        return {"metadata": about, "data": dict(self.data)}

    def patch(self, _kind: Any, _name: str, patch: Mapping[str, Any], *_: Any, **__: Any) -> None:
        if self.denied:
            raise Forbidden("not now", status=403)
        self.data |= patch["data"]
        self.writes += 1


@pytest.fixture
def kept() -> ConfigMap:
    return ConfigMap()


@pytest.fixture
def outbox(kept: ConfigMap) -> Outbox:
    return Outbox(cast("Client", kept), "ops", "outbox")


def test_what_was_told_last_is_known_though_somebody_empties_it_after_every_write(
    outbox: Outbox, kept: ConfigMap
) -> None:
    for _ in range(5):
        outbox.put([FIRST])
        kept.data.clear()
        for letter in outbox.box().heads:
            outbox.done(letter)
            kept.data.clear()
    assert outbox.box().last == {"OCM": FIRST.id}
    assert outbox.box().letters == ()


def test_what_was_still_to_be_told_is_written_again_with_the_next_change(
    outbox: Outbox, kept: ConfigMap
) -> None:
    outbox.put([FIRST])
    kept.data.clear()
    outbox.put([SECOND])
    later = Outbox(cast("Client", kept), "ops", "outbox")
    assert later.box().letters == (FIRST, SECOND)


def test_a_write_that_fails_forgets_nothing_either(outbox: Outbox, kept: ConfigMap) -> None:
    outbox.put([FIRST])
    kept.denied = True
    with pytest.raises(KubeError, match="not now"):
        outbox.done(FIRST)
    kept.data.clear()
    assert outbox.box().letters == (FIRST,)


def test_one_that_was_never_used_is_not_written(outbox: Outbox, kept: ConfigMap) -> None:
    assert outbox.box().letters == ()
    outbox.done(FIRST)
    assert (kept.data, kept.writes) == ({}, 0)
