"""Asks the servers of one service what they say of themselves, on a thread of its own.

Whether objects can be written through each of them, and whether each may stop, is asked only where a swap is
wanted or under way: a service at rest is not written to.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import msgspec

from shiplift.api.quorum import QuorumServiceSpec
from shiplift.engine import clock
from shiplift.engine.probes import Known, Probing, Question, Truth, Unanswered
from shiplift.kube import grants
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.kube.rights import allowed
from shiplift.kube.secrets import SecretUnusable
from shiplift.quorum.engines.making import connected
from shiplift.quorum.engines.protocol import Canary, Engine, Server, Silent, Stop, Told
from shiplift.quorum.model import Line, Reason
from shiplift.quorum.observe.members import Heard

_SIDE_BY_SIDE = 16
_MAX_AGE = timedelta(minutes=5)
"""The most that any look believes; a look may believe less."""
_RIGHTS_KEPT = timedelta(seconds=30)


class Target(msgspec.Struct, frozen=True):
    """Whom to ask, and how much."""

    namespace: str
    spec: QuorumServiceSpec
    servers: Mapping[str, Server]
    """By the uid of the pod."""
    thorough: bool
    """Whether objects are written through each, and each is asked whether it may stop."""
    rights: bool = True
    """Whether rights are looked at: a swap is wanted."""


class Answers(msgspec.Struct, frozen=True):
    """What was heard."""

    heard: Mapping[str, Heard]
    """By the uid of the pod."""
    began: datetime
    """When the first was asked."""
    obstacle: Line | None = None
    """Why nobody could be asked, or why nothing can be done."""


class Asking:
    """The questions to one service."""

    def __init__(self, client: Client, probing: Probing, key: str) -> None:
        self._client = client
        self._target: Target | None = None
        self._granted: datetime | None = None
        question = Question(name=f"servers of {key}", ask=self._ask, max_age=_MAX_AGE, keys=(key,))
        self._asked = probing.open(question)

    def want(self, target: Target, every: timedelta, now: datetime, since: datetime | None) -> None:
        """Ask now, unless it was asked so shortly ago, and after what was done since."""
        self._target = target
        probe = self._asked.probe
        known = probe.at(now)
        outdated = isinstance(known, Known) and since is not None and known.value.began < since
        due = probe.ended is None or now - probe.ended >= every
        if (due or outdated) and not self._asked.pending:
            self._asked.again()

    def answers(self, now: datetime, most: timedelta, since: datetime | None) -> Answers | None:
        """What is known, where it is young enough, and was asked after what was done since."""
        known = self._asked.probe.at(now)
        if not isinstance(known, Known) or known.age > most:
            return None
        return None if since is not None and known.value.began < since else known.value

    def close(self) -> None:
        """The service is gone."""
        self._asked.close()

    @property
    def trouble(self) -> str:
        """Why the last attempt got no answer."""
        return self._asked.probe.error

    def _ask(self) -> Answers:
        target, began = self._target, clock.now()
        if target is None:
            raise Unanswered("nobody is to be asked yet")
        try:
            obstacle = self._obstacle(target, began)
            engine = connected(self._client, target.namespace, target.spec)
        except SecretUnusable as error:
            return Answers({}, began, Line(Reason.SECRET_UNUSABLE, str(error), stalled=True))
        except KubeError as error:
            raise Unanswered(str(error)) from None
        return Answers(_heard(engine, target), began, obstacle)

    def _obstacle(self, target: Target, now: datetime) -> Line | None:
        """A right that is missing, while one is needed."""
        if not target.rights or (self._granted is not None and now - self._granted < _RIGHTS_KEPT):
            return None
        space = target.namespace
        missing = [
            f"{verb} {resource}"
            for group, resource, verb in grants.quorum_rights()
            if not allowed(self._client, verb, group, resource, space)
        ]
        if not missing:
            self._granted = now
            return None
        grant = grants.how_to_grant_quorum(space)
        text = f"shiplift may not {', '.join(missing)} in namespace {space}; an administrator runs: {grant}"
        return Line(Reason.RIGHTS_MISSING, text, stalled=True)


def _heard(engine: Engine, target: Target) -> dict[str, Heard]:
    if not target.servers:
        return {}
    with ThreadPoolExecutor(min(len(target.servers), _SIDE_BY_SIDE)) as pool:
        asked = dict(zip(target.servers, pool.map(engine.ask, target.servers.values()), strict=True))
        all_serve = all(isinstance(one, Told) and one.serving for one in asked.values())
        if not target.thorough or not all_serve:
            return {uid: Heard(answer) for uid, answer in asked.items()}
        servers = list(target.servers.values())
        stops = dict(zip(target.servers, pool.map(engine.may_stop, servers), strict=True))
        sung = {one.server: one for one in engine.canary(servers, target.spec.canary_bucket)}
    return {uid: _whole(answer, sung[target.servers[uid].name], stops[uid]) for uid, answer in asked.items()}


def _whole(answer: Told | Silent, canary: Canary, stop: Stop) -> Heard:
    return Heard(answer, Truth.of(canary.sings), stop.may, canary.trouble or stop.message)
