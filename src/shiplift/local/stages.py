"""How nodes and pods live under kwok: our own stages, without jitter, with delays that can be set.

Delays are in seconds: the cluster's `Timing`, overridden by a pod's annotations. A terminating
pod never outlives its grace period, whatever the delay says.
"""

from __future__ import annotations

from importlib import resources

from shiplift.local.components import Timing

READY_AFTER = "local.shiplift.dev/ready-after"
GONE_AFTER = "local.shiplift.dev/gone-after"
DONE_AFTER = "local.shiplift.dev/done-after"
NODE_READY = "local.shiplift.dev/ready"


def render(timing: Timing) -> str:
    """The stage file for kwok's --config."""
    text = resources.files("shiplift.local").joinpath("stages.yaml").read_text()
    for placeholder, expression in _expressions(timing).items():
        text = text.replace(placeholder, expression)
    return text


def _expressions(timing: Timing) -> dict[str, str]:
    gone = _seconds(GONE_AFTER, timing.gone_after)
    grace = ".metadata.deletionGracePeriodSeconds // 0"
    return {
        "NODE_READY": f'.metadata.annotations["{NODE_READY}"]',
        "READY_AFTER": _seconds(READY_AFTER, timing.ready_after),
        "DONE_AFTER": _seconds(DONE_AFTER, timing.done_after),
        "GONE_AFTER": f"([{gone}, ({grace})] | min)",
    }


def _seconds(annotation: str, default: float) -> str:
    """A jq expression for a number; what is not a number counts as the default."""
    return f'((.metadata.annotations["{annotation}"] | tonumber?) // {default})'
