"""What can go wrong between shiplift and the API server, as one tree.

    KubeError
    ├── CredentialsError        kubeconfig, plugin, token or certificate cannot be used
    ├── Unreachable             no answer, and nothing was sent: trying again is safe
    ├── Unknown                 a write was sent, and neither its answer nor a live look settled it
    ├── BadAnswer               an answer that is no Kubernetes object: too large, cut off, something else
    └── ApiError                the server answered with a failure
        ├── Unauthorized        401
        ├── Forbidden           403
        ├── NotFound            404
        ├── Conflict            409, the same object has moved on: look again, decide again
        ├── AlreadyExists       409, the name is taken
        ├── PreconditionFailed  409 or 422, another object has the name now (its uid differs)
        ├── Gone                410, that resourceVersion or page is compacted
        ├── Invalid             422
        ├── Throttled           429, the server has too much to do; nothing was processed
        ├── BudgetExhausted     429, a PodDisruptionBudget says no
        ├── BudgetPending       429, a PodDisruptionBudget was just made or edited
        ├── TwoBudgets          500, the pod has several budgets: will fail for ever
        └── ServerError         5xx, anything else

Messages are cut to a bounded length and never hold a request's headers or body.
"""

# ruff: noqa: N818 - named for what the server said; many of them are everyday answers

from __future__ import annotations

from enum import Enum

import msgspec


class Cause(msgspec.Struct, frozen=True):
    """One entry of a Status's details: what exactly was wrong, and where."""

    reason: str = ""
    message: str = ""
    field: str = ""


class Look(Enum):
    """What a live look at the cluster said about a write that got no answer."""

    APPLIED = "applied"
    NOT_APPLIED = "not applied"
    STILL_UNKNOWN = "still unknown"


class KubeError(Exception):
    """The root: a message, and a hint for the person who reads it."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} (hint: {self.hint})" if self.hint else self.message


class CredentialsError(KubeError):
    """The credentials cannot be read or used."""


class Unreachable(KubeError):
    """No answer, and nothing was sent."""


class Unknown(KubeError):
    """A write was sent and its result is not known.

    `look` is NOT_APPLIED when the write was not there a moment later (it may still arrive), or
    STILL_UNKNOWN.
    """

    def __init__(self, message: str, *, look: Look = Look.STILL_UNKNOWN, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.look = look


class BadAnswer(KubeError):
    """An answer came, but it is no Kubernetes object."""


NOT_THE_SERVER = "does something before the API server, such as a load balancer, answer in its place?"
"""The hint where an answer is not what any API server says."""


class ApiError(KubeError):
    """The server answered with a failure."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        reason: str = "",
        causes: tuple[Cause, ...] = (),
        retry_after: float | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.reason = reason
        self.causes = causes
        self.retry_after = retry_after

    def __str__(self) -> str:
        label = f"{self.status} {self.reason}".rstrip()
        return f"{label}: {super().__str__()}"


class Unauthorized(ApiError):
    """The server does not know who we are."""


class Forbidden(ApiError):
    """The server knows who we are, and we may not."""


class NotFound(ApiError):
    """No such object, or no such kind."""


class Conflict(ApiError):
    """The object has changed since it was read."""


class AlreadyExists(ApiError):
    """An object of that name is there already."""


class PreconditionFailed(ApiError):
    """The name now belongs to another object: ours is gone."""


class Gone(ApiError):
    """The resourceVersion or the page is too old to be served."""


class Invalid(ApiError):
    """The server read the object and refused what it says."""


class Throttled(ApiError):
    """The server sheds load; the request was not processed."""


class BudgetExhausted(ApiError):
    """A PodDisruptionBudget does not allow the eviction; the message says what it needs and has."""


class BudgetPending(ApiError):
    """A PodDisruptionBudget is newer than the controller's view of it; ask again after `retry_after`."""


class TwoBudgets(ApiError):
    """Several PodDisruptionBudgets select the pod: it can never be evicted until one goes."""


class ServerError(ApiError):
    """The server failed in some other way."""
