"""Tells people on standard error what is going on; standard output is for results."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
