"""Claims on the control plane: one of its nodes is changed at a time, by whoever changes it.

A claim is opened before a control-plane node is touched and closed when nothing of ours is on it any more.
While one is open, or while nobody can tell, no other control-plane node is begun.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from shiplift.engine.claims import ANNOTATION
from shiplift.nodes.decide.case import Case, unanswered
from shiplift.nodes.model import Member, View
from shiplift.nodes.names import CLAIMS
from shiplift.nodes.steps import Claim

_NO_JSON = f"annotation {ANNOTATION} is no JSON, take it off once nobody changes the control plane"
_OLD = timedelta(minutes=30)
READ_AGAIN = timedelta(seconds=2)
"""Claims that cannot be read are read again then: no event tells when they can."""


def claim_of(rollout_uid: str, node_uid: str) -> str:
    """How a claim of a rollout on a node is called."""
    return f"{rollout_uid}.{node_uid}"


def others(view: View, mine: str = "") -> str:
    """Why the control plane is not ours now; empty where it is."""
    if view.claims is None:
        return (
            f"ConfigMap {CLAIMS} of the operator's namespace, which says who changes the control plane,"
            " cannot be read: where it is gone, apply again what installed shiplift (docs/install.md);"
            f" where its {_NO_JSON}"
        )
    for claim in view.claims:
        if claim.step != mine:
            return f"{claim.target} is being changed by somebody else: claim {claim.step}"
    return ""


def forgotten(view: View, now: datetime) -> str | None:
    """Of a claim that is old and on a node that is not there: who has made it will hardly end it."""
    nodes = {one.uid for one in view.members.values()}
    for claim in view.claims or ():
        if claim.target.uid not in nodes and now - claim.at >= _OLD:
            return (
                f"{claim.target} is claimed by somebody else ({claim.step}), and there is no such node: take"
                f" {ANNOTATION} off ConfigMap {CLAIMS} once nobody changes the control plane"
            )
    return None


def to_open(case: Case) -> Claim | None:
    """What has to be done before a control-plane node is touched; None where its claim is open."""
    name = claim_of(case.rollout.metadata.uid, case.member.uid)
    if _is_open(case.view, name):
        return None
    return Claim(case.member.name, case.member.uid, case.member.row.resource_version, name)


def to_close(case: Case) -> Claim | None:
    """What ends the claim on a node that is through; None where none is open."""
    name = claim_of(case.rollout.metadata.uid, case.member.uid)
    if not _is_open(case.view, name):
        return None
    return Claim(case.member.name, case.member.uid, case.member.row.resource_version, name, ended=True)


def left_open(view: View, known: frozenset[str]) -> Iterator[Claim]:
    """What closes claims that nobody has a record for any more, once no agent is at work there."""
    members = {one.uid: one for one in view.members.values() if one.control_plane}
    for claim in view.claims or ():
        rollout, _, node = claim.step.partition(".")
        if not node or node != claim.target.uid or claim.step in known:
            continue
        member: Member | None = members.get(node)
        if member is None or not (unanswered(member) and _orders(member, rollout)):
            yield Claim(claim.target.name, node, int(claim.target.resource_version or 0), claim.step, True)


def _orders(member: Member, rollout: str) -> bool:
    return member.order is not None and member.order.token.rollout == rollout


def _is_open(view: View, name: str) -> bool:
    return any(claim.step == name for claim in view.claims or ())
