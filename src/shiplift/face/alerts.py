"""An alert as a value: what a person is woken for, and what to do then."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

LEADS = "max(shiplift_leading) == 1"
"""Some operator leads."""


class Severity(StrEnum):
    """How soon somebody has to come; the most urgent first."""

    CRITICAL = "critical"
    WARNING = "warning"


class Alert(msgspec.Struct, frozen=True):
    """One alert of Prometheus; it has to be so for as long as `wait` says."""

    name: str
    expression: str
    wait: str
    severity: Severity
    summary: str
    action: str

    def rule(self) -> dict[str, Any]:
        """As Prometheus reads it."""
        return {
            "alert": self.name,
            "expr": self.expression,
            "for": self.wait,
            "labels": {"severity": self.severity.value},
            "annotations": {"summary": self.summary, "action": self.action},
        }
