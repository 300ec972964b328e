"""What an answer of the API server makes of a step, and how a step reads what it is about to change."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from shiplift.engine.denials import is_denial
from shiplift.engine.step import Outcome, Step
from shiplift.facts.selectors import Selector
from shiplift.kube.client import Written
from shiplift.kube.errors import (
    AlreadyExists,
    ApiError,
    BudgetExhausted,
    BudgetPending,
    Conflict,
    KubeError,
    NotFound,
    PreconditionFailed,
    ServerError,
    Throttled,
    Unknown,
    Unreachable,
)
from shiplift.kube.lease import NotLeading

Json = dict[str, Any]

SOON = timedelta(milliseconds=200)
"""After a refusal that the next look at the cluster clears up."""
LATER = timedelta(milliseconds=500)
"""After a refusal that is over when somebody else has done its part."""


def done(step: Step, written: Written, message: str = "") -> Outcome:
    """The write happened; the store has to show it before the next decision."""
    return Outcome.done(step, *([written.barrier] if written.barrier else []), message=message)


def refusal(step: Step, error: KubeError) -> Outcome:
    """Most are everyday: the object has moved on, or not now; where no answer came, nobody knows."""
    if isinstance(error, Unknown):
        return Outcome.unknown(step, error.message)
    if isinstance(error, _MOVED_ON):
        return _moved_on(step, error)
    match error:
        case BudgetExhausted() | BudgetPending() | Unreachable() | ServerError() | Throttled():
            return Outcome.refused(step, error.message, _asked(error))
        case NotLeading():
            return Outcome.refused(step, error.message)
        case _:
            return Outcome.failed(step, str(error))


_MOVED_ON = (NotFound, PreconditionFailed, Conflict, AlreadyExists)
"""What the API server says of an object that the next look shows; a webhook may say so of any."""


def _moved_on(step: Step, error: ApiError) -> Outcome:
    if is_denial(error.message):
        return Outcome.failed(step, str(error))
    is_gone = isinstance(error, NotFound | PreconditionFailed)
    why = "the object is gone" if is_gone else "somebody else was faster"
    return Outcome.refused(step, f"{why}: {error.message}", SOON)


def gone(step: Step, error: ApiError) -> Outcome:
    """Of what is deleted, and is not there: unless somebody says so who denies it."""
    if is_denial(error.message):
        return Outcome.failed(step, str(error))
    return Outcome.done(step, message="it is gone already")


def _asked(error: KubeError) -> timedelta | None:
    """For how long to wait; None where an event announces that it may be tried again."""
    if isinstance(error, Throttled):
        return timedelta(seconds=error.retry_after or 1)
    return None if isinstance(error, BudgetExhausted) else LATER


def uid_of(live: Json) -> str:
    """The uid of an object as it was read."""
    return live["metadata"]["uid"]


def version_of(live: Json) -> str:
    """The resourceVersion of an object as it was read."""
    return live["metadata"]["resourceVersion"]


def selector_json(selector: Selector) -> Json:
    """A label selector as the API writes it."""
    body: Json = {}
    if selector.labels:
        body["matchLabels"] = dict(selector.labels)
    if selector.expressions:
        body["matchExpressions"] = [
            {"key": one.key, "operator": one.operator, **({"values": list(one.values)} if one.values else {})}
            for one in selector.expressions
        ]
    return body
