"""A step for tests of those who take steps."""

from __future__ import annotations

from shiplift.engine.step import Step


class Write(Step, frozen=True):
    @property
    def key(self) -> str:
        return "write"

    def describe(self) -> str:
        return "write"
