"""What a reply means for the call that it answers. Pure.

Staged is what every server that was meant has staged, each told of once; a server that runs the target
already, by its own word, is excused. What may go better the next time is `REFUSED`; what will not before
somebody does something about it is `FAILED`. A switch is never believed: the servers say afterwards what they
run.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from shiplift.engine.step import Answer
from shiplift.quorum.engines.protocol import (
    Answered,
    HostAnswer,
    Lost,
    Refused,
    Reply,
    Server,
    Verdict,
    Why,
)

_FOR_GOOD = (Verdict.READ_ONLY, Verdict.NOT_TRUSTED, Verdict.FAILED)
_DOES_NOT_PASS = (Why.SWITCHED_OFF, Why.DENIED)
_COULD = (Verdict.NOT_TRUSTED, Verdict.GARBLED, Verdict.AT_TARGET)
"""They went as far as to look at the file, or need none."""
_COULD_NOT = (Verdict.READ_ONLY, Verdict.NOT_FETCHED, Verdict.FAILED)
"""Somebody has to see to it first."""
_MOST_NAMED = 4


class Judgement(msgspec.Struct, frozen=True):
    """What came of a call, in words."""

    answer: Answer
    message: str = ""


def staged(reply: Reply, servers: Sequence[Server], at_target: Collection[str]) -> Judgement:
    """Whether all of these servers have the binary; `at_target` are the names of those that run it."""
    match reply:
        case Refused():
            return _refused(reply)
        case Lost():
            return Judgement(Answer.REFUSED, reply.why)
        case Answered():
            return _all_staged(reply.hosts, servers, at_target)


def rehearsed(reply: Reply, servers: Sequence[Server]) -> Judgement:
    """Whether all of these servers could have taken a file: they refuse this one for its signature alone."""
    match reply:
        case Refused():
            for_good = reply.why in (*_DOES_NOT_PASS, Why.NO_ARTIFACT)
            return Judgement(Answer.FAILED if for_good else Answer.REFUSED, _in_words(reply))
        case Lost():
            return Judgement(Answer.REFUSED, reply.why)
        case Answered():
            return _all_could(reply.hosts, servers)


def _all_could(hosts: Sequence[HostAnswer], servers: Sequence[Server]) -> Judgement:
    missing = [server.name for server in servers if len(_of(server, hosts)) != 1]
    if missing:
        return Judgement(Answer.REFUSED, f"nothing was told of {_listed(missing)}, or more than once")
    told = [(server, _of(server, hosts)[0]) for server in servers]
    if taken := [server.name for server, host in told if host.verdict is Verdict.DONE]:
        return Judgement(Answer.FAILED, f"{_listed(taken)} took a file that nobody signed")
    left = [(server, host) for server, host in told if host.verdict not in _COULD]
    if not left:
        return Judgement(Answer.OK)
    for_good = any(host.verdict in _COULD_NOT for _, host in left)
    message = _listed([_said(server, host) for server, host in left])
    return Judgement(Answer.FAILED if for_good else Answer.REFUSED, message)


def switched(reply: Reply, servers: Sequence[Server]) -> Judgement:
    """Whether the call was carried out at all; on which servers they say themselves."""
    match reply:
        case Refused():
            return _refused(reply)
        case Lost():
            return Judgement(Answer.UNKNOWN, reply.why)
        case Answered():
            troubles = [_said(server, host) for server in servers for host in _of(server, reply.hosts)]
            return Judgement(Answer.OK, _listed([trouble for trouble in troubles if trouble]))


def _refused(reply: Refused) -> Judgement:
    answer = Answer.FAILED if reply.why in _DOES_NOT_PASS else Answer.REFUSED
    return Judgement(answer, _in_words(reply))


def _in_words(reply: Refused) -> str:
    return f"{reply.why.value}: {reply.message}"


def _all_staged(
    hosts: Sequence[HostAnswer], servers: Sequence[Server], at_target: Collection[str]
) -> Judgement:
    strangers = [host.endpoint for host in hosts if not any(server.owns(host.endpoint) for server in servers)]
    if strangers:
        return Judgement(Answer.FAILED, f"{_listed(strangers)} answered, and is none of the pods")
    missing = [server.name for server in servers if len(_of(server, hosts)) != 1]
    if missing:
        return Judgement(Answer.REFUSED, f"nothing was told of {_listed(missing)}, or more than once")
    left = [(server, _of(server, hosts)[0]) for server in servers]
    left = [(server, host) for server, host in left if not _has_it(server, host, at_target)]
    if not left:
        return Judgement(Answer.OK)
    for_good = any(host.verdict in _FOR_GOOD for _, host in left)
    message = _listed([_said(server, host) for server, host in left])
    return Judgement(Answer.FAILED if for_good else Answer.REFUSED, message)


def _has_it(server: Server, host: HostAnswer, at_target: Collection[str]) -> bool:
    """A server that is at the target is excused, whatever the other says: it needs nothing."""
    return host.verdict is Verdict.DONE or server.name in at_target


def _of(server: Server, hosts: Sequence[HostAnswer]) -> list[HostAnswer]:
    return [host for host in hosts if server.owns(host.endpoint)]


def _said(server: Server, host: HostAnswer) -> str:
    return "" if host.verdict is Verdict.DONE else f"{server.name}: {host.verdict.value} ({host.message})"


def _listed(lines: Sequence[str]) -> str:
    more = f" and {len(lines) - _MOST_NAMED} more" if len(lines) > _MOST_NAMED else ""
    return "; ".join(lines[:_MOST_NAMED]) + more
