"""An HTTP failure becomes exactly one error of the tree, whatever shape its body has.

A failure may come as a Status, as plain text (load shedding, a panic, a proxy in between), with no content
type, or empty; each is survived, and what is kept of it is bounded.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from shiplift.kube import errors
from shiplift.kube.errors import ApiError, Cause

MESSAGE_LIMIT = 1000
CAUSES_LIMIT = 20
RETRY_AFTER_LIMIT = 3600.0

_BUDGET_CAUSE = "DisruptionBudget"
_BUDGET_PENDING = "still being processed by the server"
_TWO_BUDGETS = "more than one PodDisruptionBudget"
_OTHER_UID = (
    "Precondition failed: UID in precondition",  # delete, update
    "the UID in the precondition",  # evict
    "uid mismatch",  # apply, where no object has the name any more
)


class _Details(msgspec.Struct, frozen=True):
    causes: list[Cause] | None = None
    retry_after_seconds: int | None = msgspec.field(default=None, name="retryAfterSeconds")


class _Status(msgspec.Struct, frozen=True):
    message: str | None = None
    reason: str | None = None
    details: _Details | None = None


_status_decoder = msgspec.json.Decoder(_Status)


def error_for(status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """The error that this answer means."""
    said = _read_status(body)
    details = said.details or _Details()
    causes = tuple(_cut_cause(cause) for cause in (details.causes or [])[:CAUSES_LIMIT])
    message = cut(said.message or "") or f"the server answered {status} and said nothing"
    kind = _classify(status, said.reason or "", message, causes)
    return kind(
        _with_budget(message, causes),
        status=status,
        reason=cut(said.reason or "", 100),
        causes=causes,
        retry_after=_retry_after(headers, details.retry_after_seconds),
        hint=_HINTS.get(kind, ""),
    )


def cut(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """The text on one line, without control characters, and no longer than the limit."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: limit * 2]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _read_status(body: bytes) -> _Status:
    try:
        return _status_decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Status(message=body[: MESSAGE_LIMIT * 4].decode(errors="replace"))


def _cut_cause(cause: Cause) -> Cause:
    return Cause(cut(cause.reason, 100), cut(cause.message), cut(cause.field, 200))


def _classify(status: int, reason: str, message: str, causes: tuple[Cause, ...]) -> type[ApiError]:
    if status == 429:
        return _classify_429(causes)
    if status in (409, 422) and _names_another_object(message, causes):
        return errors.PreconditionFailed
    if status == 409 and reason == "AlreadyExists":
        return errors.AlreadyExists
    if status >= 500:
        return errors.TwoBudgets if _TWO_BUDGETS in message else errors.ServerError
    return _BY_STATUS.get(status, ApiError)


def _classify_429(causes: tuple[Cause, ...]) -> type[ApiError]:
    budget = [cause.message for cause in causes if cause.reason == _BUDGET_CAUSE]
    if not budget:
        return errors.Throttled
    if any(_BUDGET_PENDING in message for message in budget):
        return errors.BudgetPending
    return errors.BudgetExhausted


def _names_another_object(message: str, causes: tuple[Cause, ...]) -> bool:
    return any(text in message for text in _OTHER_UID) or any(c.field == "metadata.uid" for c in causes)


def _with_budget(message: str, causes: tuple[Cause, ...]) -> str:
    """The server hides which budget, and why, in the causes; a person wants to read it first."""
    budget = [cause.message for cause in causes if cause.reason == _BUDGET_CAUSE]
    return f"{message} {' '.join(budget)}" if budget else message


def _retry_after(headers: Mapping[str, str], in_body: int | None) -> float | None:
    said = headers.get("retry-after", "").strip()
    if said.isascii() and said.isdigit():
        return min(float(said[:10]), RETRY_AFTER_LIMIT)
    if in_body is not None and in_body > 0:
        return min(float(in_body), RETRY_AFTER_LIMIT)
    return None


_BY_STATUS: dict[int, type[ApiError]] = {
    401: errors.Unauthorized,
    403: errors.Forbidden,
    404: errors.NotFound,
    409: errors.Conflict,
    410: errors.Gone,
    422: errors.Invalid,
}

_HINTS: dict[type[ApiError], str] = {
    errors.Unauthorized: "the credentials are expired or not for this cluster",
    errors.TwoBudgets: "leave one PodDisruptionBudget that selects this pod",
}
