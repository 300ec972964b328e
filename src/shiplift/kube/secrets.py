"""One value of one Secret, read live by name: nothing is watched, nothing is kept, nothing is ever shown.

A right that is missing, a Secret or a key that is not there: each is an error that names it and says what to
do, so that a condition can carry it as it is.
"""

from __future__ import annotations

import base64
import binascii

from shiplift.facts.kinds import SECRET
from shiplift.kube.client import Client
from shiplift.kube.errors import Forbidden, KubeError, NotFound
from shiplift.kube.grants import how_to_grant_secret

MOST_BYTES = 64 << 10
"""Of one value: tokens, keys and certificates are smaller."""


class SecretUnusable(KubeError):  # noqa: N818 - says what the Secret is
    """The value cannot be had; the message has no part of any value in it."""


class Hidden:
    """A value that no log, traceback or message shows."""

    __slots__ = ("_value",)

    def __init__(self, value: bytes) -> None:
        self._value = value

    def reveal(self) -> bytes:
        """To hand it to whom it is for."""
        return self._value

    def __repr__(self) -> str:
        return "Hidden(…)"


def read(client: Client, namespace: str, name: str, key: str) -> Hidden:
    """The value, or `SecretUnusable`."""
    about = f"Secret {namespace}/{name}"
    try:
        data: dict[str, str] = client.get(SECRET, name, namespace).get("data") or {}
    except Forbidden:
        grant = how_to_grant_secret(namespace, name)
        raise SecretUnusable(f"shiplift may not read {about}; an administrator runs: {grant}") from None
    except NotFound:
        raise SecretUnusable(f"{about} does not exist; create it with the key {key}") from None
    if key not in data:
        raise SecretUnusable(f"{about} has no key {key}; it has {_listed(data)}")
    return Hidden(_decoded(f"key {key} of {about}", data[key]))


def _decoded(about: str, text: str) -> bytes:
    try:
        value = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise SecretUnusable(f"{about} cannot be decoded") from None
    if not value or len(value) > MOST_BYTES:
        raise SecretUnusable(f"{about} has {len(value)} bytes; from 1 to {MOST_BYTES} will do")
    return value


def _listed(data: dict[str, str]) -> str:
    return ", ".join(sorted(data)[:10]) or "none"
