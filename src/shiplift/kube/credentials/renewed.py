"""A token that is asked for again and again: renewed well before it expires, and at once after a 401.

    fresh    less than 80 % of its life is over: used as it is
    due      used as it is, while one thread asks for the next; a failure is tried again a little later
    over     expired, or refused by the server: one thread asks, the others wait for what it gets

No request waits for a renewal while its token is valid. A failure is logged when it changes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import msgspec
import structlog

from shiplift.kube.credentials.identity import Anonymous, bearer
from shiplift.kube.errors import KubeError

_DUE = 0.8
_OVER = 0.98
"""The server's clock may be a little ahead of ours."""
_PAUSE_SECONDS = 5.0
"""Between a failure and the next try."""

log = structlog.get_logger(__name__)


class Grant(msgspec.Struct, frozen=True):
    """A token, and for how many seconds it was given."""

    token: str
    seconds: float

    def __repr__(self) -> str:
        return "<Grant>"


class _Held(msgspec.Struct, frozen=True):
    """A grant, and when, by our clock, it was asked for."""

    grant: Grant
    asked_at: float

    def __repr__(self) -> str:
        return "<_Held>"

    def lasts(self, share: float, now: float) -> bool:
        return now < self.asked_at + share * self.grant.seconds


class _Failure(msgspec.Struct, frozen=True):
    """Why there is no new token, and until when nobody asks again."""

    error: KubeError
    until: float


class Renewed(Anonymous):
    """The bearer of such a token; safe to use from many threads."""

    def __init__(
        self, where: str, first: Grant, ask: Callable[[], Grant], clock: Callable[[], float]
    ) -> None:
        self._where = where
        self._ask = ask
        self._clock = clock
        self._held: _Held | None = _Held(first, clock())
        self._failure: _Failure | None = None
        self._asking = threading.Lock()

    def __repr__(self) -> str:
        return f"<token of {self._where}>"

    def authorization(self) -> str:
        held = self._held
        if held is None or not held.lasts(_OVER, self._clock()):
            held = self._wait_for_another()
        elif not held.lasts(_DUE, self._clock()):
            self._renew_meanwhile()
        return bearer(held.grant.token.encode(), self._where)

    def forget(self, authorization: str = "") -> None:
        """The server has refused it; unless another one has come since."""
        held = self._held
        if held is not None and authorization in ("", f"Bearer {held.grant.token}"):
            self._held = None

    def _wait_for_another(self) -> _Held:
        with self._asking:
            held = self._held
            if held is not None and held.lasts(_OVER, self._clock()):
                return held
            if self._failure is not None and self._clock() < self._failure.until:
                raise self._failure.error
            return self._get()

    def _renew_meanwhile(self) -> None:
        """On a thread of its own: whoever found the token due has something to send."""
        if self._failure is not None and self._clock() < self._failure.until:
            return
        if self._asking.acquire(blocking=False):
            threading.Thread(target=self._renew, name="token", daemon=True).start()

    def _renew(self) -> None:
        try:
            held = self._held
            if held is None or not held.lasts(_DUE, self._clock()):
                self._get()
        except KubeError as error:
            # kept by `_get`, which has said it: the token in use is still valid
            log.debug("the token in use stays", of=self._where, reason=str(error))
        finally:
            self._asking.release()

    def _get(self) -> _Held:
        """By whoever holds `_asking`."""
        asked_at = self._clock()
        try:
            held = _Held(self._ask(), asked_at)
        except KubeError as error:
            self._note(error)
            raise
        self._held, self._failure = held, None
        return held

    def _note(self, error: KubeError) -> None:
        if self._failure is None or str(self._failure.error) != str(error):
            log.warning("no new token", of=self._where, reason=str(error))
        self._failure = _Failure(error, self._clock() + _PAUSE_SECONDS)
