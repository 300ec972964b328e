"""Each figure, against its limit where the cluster is as large as the limits are meant for."""

from __future__ import annotations

from collections.abc import Mapping

Limits = Mapping[str, float]


def verdict(
    found: Mapping[str, float], at_most: Limits, below: Limits | None = None, *, judged: bool, meant_for: str
) -> str:
    """One line a figure; `meant_for` says for which sizes the limits are."""
    lines = [
        f"{name:30}{value:>10.3f}{_against(name, value, at_most, below or {}) if judged else ''}"
        for name, value in found.items()
    ]
    return "\n".join(lines if judged else [*lines, f"the limits are for {meant_for}: run without --short"])


def _against(name: str, value: float, at_most: Limits, below: Limits) -> str:
    if name in at_most:
        return f"   at most {at_most[name]:<6} {'met' if value <= at_most[name] else 'MISSED'}"
    if name in below:
        return f"   below {below[name]:<8} {'met' if value < below[name] else 'MISSED'}"
    return ""
