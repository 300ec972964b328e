"""Silences in an Alertmanager, by its API version 2: ours is found by who made it, for which upgrade and
which receiver.

An expired one does not count, as it would not be renewed. One that holds is renewed in place.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import msgspec

from shiplift.kube.secrets import Hidden
from shiplift.notify.model import LASTS, Held, Silence
from shiplift.notify.names import CREATOR
from shiplift.outside.door import Call, Door
from shiplift.outside.errors import Answered

_HOLDS = ("active", "pending")
_SEVERITIES = "warning|info"
"""What is silenced; nothing that is critical ever is."""


class _State(msgspec.Struct, frozen=True):
    state: str = ""


class Found(msgspec.Struct, frozen=True, rename="camel"):
    """What is used of a silence."""

    id: str
    starts_at: str
    created_by: str = ""
    comment: str = ""
    status: _State = _State()


class Silences:
    """What this process holds; for many threads."""

    def __init__(self, now: Callable[[], datetime], wake: Callable[[], None]) -> None:
        self._now, self._wake = now, wake
        self._lock = threading.Lock()
        self._held: dict[str, Held] = {}

    def all(self) -> Mapping[str, Held]:
        """By their place; one that nobody could renew or end for so long is over by itself."""
        now = self._now()
        with self._lock:
            self._held = {place: one for place, one in self._held.items() if now < one.at + LASTS}
            return dict(self._held)

    def held(self, silence: Silence) -> None:
        with self._lock:
            self._held[silence.place] = Held(silence, self._now())
        self._wake()

    def ended(self, silence: Silence) -> None:
        with self._lock:
            held = self._held.get(silence.place)
            if held is not None and held.silence == silence:
                del self._held[silence.place]
        self._wake()


class Alertmanager:
    """One exchange with one Alertmanager."""

    def __init__(self, door: Door, silence: Silence, token: Hidden | None) -> None:
        self._door, self._silence, self._token = door, silence, token

    def hold(self, until: datetime) -> None:
        """The silence lasts until then; the one that holds already is renewed."""
        found = next(iter(self._ours()), None)
        now = datetime.now(UTC)
        body: dict[str, Any] = {
            "matchers": _matchers(self._silence.matchers),
            "startsAt": found.starts_at if found else _time(now),
            "endsAt": _time(until),
            "createdBy": CREATOR,
            "comment": self._silence.comment,
        }
        self._send("POST", "silences", body | ({"id": found.id} if found else {}))

    def end(self) -> None:
        """None of ours holds any more."""
        for one in self._ours():
            self._send("DELETE", f"silence/{quote(one.id, safe='')}")

    def _ours(self) -> list[Found]:
        got = self._send("GET", "silences")
        try:
            found = msgspec.json.decode(got, type=list[Found])
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise self._unusable() from None
        return [
            one
            for one in found
            if one.created_by == CREATOR
            and one.comment == self._silence.comment
            and one.status.state in _HOLDS
        ]

    def _unusable(self) -> Answered:
        return Answered(f"{self._silence.name} does not answer as an Alertmanager does", status=200)

    def _send(self, method: str, path: str, body: dict[str, Any] | None = None) -> bytes:
        url = f"{self._silence.url.rstrip('/')}/api/v2/{path}"
        content = msgspec.json.encode(body) if body is not None else b""
        headers = (("Content-Type", "application/json"),) if body is not None else ()
        return self._door.send(Call(method, url, headers, content, self._token)).good().body


def _matchers(labels: Mapping[str, str]) -> list[dict[str, Any]]:
    severity = {"name": "severity", "value": _SEVERITIES, "isRegex": True, "isEqual": True}
    others = [
        {"name": key, "value": value, "isRegex": False, "isEqual": True} for key, value in labels.items()
    ]
    return [severity, *others]


def _time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.000Z}"
