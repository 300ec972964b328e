"""Whether it was somebody's webhook or policy that refused a write, or a webhook that did not answer: known
by what the API server says, since a webhook may choose any status. Pure.

A denial is no answer of the API server's own: it says neither that a right is missing, nor that an object is
gone or has moved on, nor what a schema thinks of it.
"""

from __future__ import annotations

_SAID = ('admission webhook "', 'failed calling webhook "', "denied request: ")
"""A webhook that denies, or cannot be asked in a dry run; one that cannot be called; a
ValidatingAdmissionPolicy."""


def is_denial(message: str) -> bool:
    return any(one in message for one in _SAID)
