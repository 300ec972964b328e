"""Since when nothing was heard of an agent that has an order.

An agent writes at least every ten seconds while an order is under way, and at once when it claims one. What
is told of its silence is a fact and no verdict: only `nodeTimeout` fails a node.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from shiplift.nodes.model import View

PATIENCE = timedelta(seconds=30)
"""An agent that says nothing for longer is told as silent."""


def silent_since(view: View, uid: str, now: datetime) -> datetime | None:
    """Since when the agent of a node, by uid, has said nothing, where that is long."""
    heard = view.heard.get(uid)
    return heard if heard is not None and now - heard >= PATIENCE else None


def noticed(view: View, uid: str, now: datetime) -> datetime:
    """When its silence will have become long, should it go on."""
    return view.heard.get(uid, now) + PATIENCE


def told(since: datetime) -> str:
    return f"nothing was heard of it since {since:%H:%M:%S} UTC; see whether it runs"
