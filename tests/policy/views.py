"""Views as decisions get them, said in a few words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from shiplift.api.marks import POLICY_APPLIED, POLICY_ID, PROVIDER_LABEL
from shiplift.api.upgrade import UpgradeConfig
from shiplift.engine.probes import Probe
from shiplift.facts.custom import Custom
from shiplift.facts.meta import Labels
from shiplift.outside.letters import Box
from shiplift.policy.config import Section
from shiplift.policy.decide.decision import decide
from shiplift.policy.document import Wanted, first
from shiplift.policy.model import Answer, Asking, Purpose, Record, Syncing, View
from shiplift.policy.names import KEY

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
OLD, NEW, LATER = "v1.35.4", "v1.36.3", "v1.36.9"
AT = "2026-11-20T02:00:00Z"
HTTP = msgspec.convert(
    {"provider": "HTTP", "watchInterval": 10, "http": {"url": "https://policies.example/c"}}, Section
)
OCM = msgspec.convert({"provider": "OCM", "watchInterval": 10}, Section)
LOCAL = Section()


def over(version: str = NEW, phase: str = "Upgraded") -> dict[str, Any]:
    """The status of an upgrade that has ended, as the conductor tells it: it goes nowhere any more, and is
    in the history."""
    past = {"version": version, "phase": phase, "startTime": AT, "completeTime": AT}
    return {"startTime": AT, "phase": phase, "targetVersion": None, "history": [past]}


def policy(version: str = NEW, name: str = "p1", **more: Any) -> Wanted:
    found = first({"id": name, "desired": {"version": version}, **more})
    assert found is not None
    return found


def row(
    of: Wanted | None = None,
    *,
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    provider: str = "HTTP",
    marks: dict[str, str] | None = None,
    deleting: int = 0,
) -> Custom:
    """An UpgradeConfig: of a policy, as we would have applied it, or made by hand."""
    said = {**(of.fields if of else {"desired": {"version": NEW}}), **(spec or {})}
    labels = {PROVIDER_LABEL: provider} if of else {}
    notes = {**({POLICY_ID: of.id, POLICY_APPLIED: of.digest} if of else {}), **(marks or {})}
    body = {
        "metadata": {
            "name": KEY,
            "uid": "u1",
            "resourceVersion": "7",
            "labels": labels,
            "annotations": notes,
        },
        "spec": said,
        "status": status or {},
    }
    return Custom(
        namespace="",
        name=KEY,
        uid="u1",
        resource_version=7,
        generation=1,
        created=0,
        deleting=deleting,
        labels=Labels(labels),
        annotations=Labels(notes),
        owners=(),
        finalizers=(),
        object=msgspec.convert(body, UpgradeConfig),
    )


def answered(said: Wanted | None, config: Section = HTTP, *, refresh: str = "", at: datetime = NOW) -> Asking:
    """The provider was asked, and said that."""
    purpose = Purpose(config.source, refresh)
    probe: Probe[Answer] = Probe("policy", timedelta(days=21))
    return Asking(probe.answered(Answer(purpose, said), at), purpose, attempts=1, jitter=0.5)


def failing(before: Asking, times: int = 1, error: str = "connection refused", **more: Any) -> Asking:
    """The provider was asked again, so often, without success."""
    probe = before.probe
    for _ in range(times):
        probe = probe.failed(error, NOW, **more)
    return msgspec.structs.replace(before, probe=probe, attempts=before.attempts + times)


NEVER_ASKED = Asking(Probe[Answer]("policy", timedelta(days=21)))


def view(asking: Asking = NEVER_ASKED, current: Custom | None = None, **more: Any) -> View:
    given: dict[str, Any] = {"config": HTTP, "box": Box(), "record": Record("HTTP"), **more}
    return View(asking=asking, current=current, **given)


def decided(seen: View, now: datetime = NOW) -> Syncing:
    return decide(seen, now)


def steps(seen: View, now: datetime = NOW) -> list[str]:
    """The names of the steps that follow."""
    return [type(one).__name__ for one in decided(seen, now).steps]
