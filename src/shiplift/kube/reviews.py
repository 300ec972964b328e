"""Who sends a token, and whether they may read our metrics: as the API server says, the way other parts of a
cluster have it decided (TokenReview, SubjectAccessReview).

An answer is kept for a while, by a digest of the token. Where nobody can be asked, because the API server is
away, who was let in a while ago still is: Prometheus goes on to see us in the middle of an upgrade. Anybody
else is not.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from enum import Enum
from typing import Any, TypeVar

import msgspec

from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.kube.rbac import rule

METRICS = "/metrics"
RULES = (
    rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
    rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
)
_TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
_ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
KEPT_SECONDS, KEPT_REFUSED_SECONDS, KEPT_AWAY_SECONDS = 60.0, 5.0, 900.0
"""How long an answer counts: a yes, a no, and a yes while nobody can be asked."""
MOST_KEPT = 128
LONGEST_TOKEN = 16 << 10
_AT_ONCE = 4
_PATIENCE = 5.0
"""Seconds that somebody waits for others to be answered first."""


class Verdict(Enum):
    """What becomes of who asks."""

    ALLOWED = "allowed"
    NOBODY = "no token, or one that the API server does not know"
    REFUSED = "this user may not read it: that takes ClusterRole shiplift-metrics-reader"
    UNKNOWN = "the API server cannot be asked who this is"


class _User(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}


class _TokenStatus(msgspec.Struct):
    authenticated: bool = False
    user: _User = msgspec.field(default_factory=_User)


class _TokenReview(msgspec.Struct):
    status: _TokenStatus


class _AccessStatus(msgspec.Struct):
    allowed: bool = False


class _AccessReview(msgspec.Struct):
    status: _AccessStatus


_R = TypeVar("_R", _TokenReview, _AccessReview)


class _Kept(msgspec.Struct, frozen=True):
    verdict: Verdict
    at: float


class Reviews:
    """Safe to use from many threads."""

    def __init__(
        self, client: Client, path: str = METRICS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client, self._path, self._clock = client, path, clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, _Kept] = OrderedDict()
        self._asking = threading.Semaphore(_AT_ONCE)

    def verdict(self, authorization: str) -> Verdict:
        """For who sent this header."""
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token or len(token) > LONGEST_TOKEN:
            return Verdict.NOBODY
        key = hashlib.sha256(token.encode()).digest()
        kept = self._find(key)
        if kept is not None and self._clock() < kept.at + _lasting(kept.verdict):
            return kept.verdict
        return self._asked(token, key, kept)

    def close(self) -> None:
        self._client.close()

    def _find(self, key: bytes) -> _Kept | None:
        with self._lock:
            return self._kept.get(key)

    def _asked(self, token: str, key: bytes, kept: _Kept | None) -> Verdict:
        if not self._asking.acquire(timeout=_PATIENCE):
            return self._without_answer(kept)
        try:
            verdict = self._ask(token)
        except KubeError:
            return self._without_answer(kept)
        finally:
            self._asking.release()
        self._keep(key, verdict)
        return verdict

    def _without_answer(self, kept: _Kept | None) -> Verdict:
        was_allowed = kept is not None and kept.verdict is Verdict.ALLOWED
        recent = kept is not None and self._clock() < kept.at + KEPT_AWAY_SECONDS
        return Verdict.ALLOWED if was_allowed and recent else Verdict.UNKNOWN

    def _keep(self, key: bytes, verdict: Verdict) -> None:
        """Refusals go first where there are many: nobody who guesses pushes out who was let in."""
        with self._lock:
            self._kept[key] = _Kept(verdict, self._clock())
            self._kept.move_to_end(key, last=verdict is Verdict.ALLOWED)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)

    def _ask(self, token: str) -> Verdict:
        review = self._review(_TOKENS, {"token": token}, _TokenReview)
        if not review.status.authenticated:
            return Verdict.NOBODY
        user = review.status.user
        asked = {
            "user": user.username,
            "uid": user.uid,
            "groups": user.groups,
            "extra": user.extra,
            "nonResourceAttributes": {"path": self._path, "verb": "get"},
        }
        allowed = self._review(_ACCESS, asked, _AccessReview).status.allowed
        return Verdict.ALLOWED if allowed else Verdict.REFUSED

    def _review(self, path: str, spec: dict[str, Any], what: type[_R]) -> _R:
        body = msgspec.json.encode({"spec": spec})
        return self._client.ask("POST", path, what, body=body)


def _lasting(verdict: Verdict) -> float:
    return KEPT_SECONDS if verdict is Verdict.ALLOWED else KEPT_REFUSED_SECONDS
