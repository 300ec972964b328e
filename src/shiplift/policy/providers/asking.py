"""Asks the provider that the settings name, on the thread of the probe runner; remembers what for.

Everything that can go wrong becomes one sentence without a token in it.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from datetime import timedelta

import msgspec

from shiplift.engine.probes import Probing, Question, Unanswered
from shiplift.kube.client import Client
from shiplift.kube.documents import DocumentError
from shiplift.kube.errors import KubeError
from shiplift.outside.errors import OutsideError
from shiplift.policy.config import LONGEST, Provider, Section
from shiplift.policy.document import Wanted
from shiplift.policy.model import Answer, Asking, Purpose
from shiplift.policy.names import KEY
from shiplift.policy.providers.http import HttpProvider
from shiplift.policy.providers.ocm import OcmProvider

_dice = random.Random()
"""Our own: threads of ours leave the one that all share alone."""


class Asker:
    """The one question of this layer; `want` is called by who acts, `state` by who observes."""

    def __init__(
        self, client: Client, namespace: str, probing: Probing, chance: Callable[[], float] = _dice.random
    ) -> None:
        self._http, self._ocm = HttpProvider(client, namespace), OcmProvider(client, namespace)
        self._chance = chance
        self._lock = threading.Lock()
        self._wanted: tuple[Section, Purpose] | None = None
        self._last: Purpose | None = None
        self._attempts, self._jitter = 0, 0.5
        question = Question(name="policy", ask=self._ask, max_age=3 * LONGEST, keys=(KEY,))
        self._asked = probing.open(question)

    def want(self, config: Section, purpose: Purpose) -> None:
        """Ask, by these settings."""
        with self._lock:
            self._wanted = (config, purpose)
        self._asked.again()

    def state(self) -> Asking:
        """How far it has come."""
        probe, pending = self._asked.probe, self._asked.pending
        with self._lock:
            return Asking(probe, self._last, pending, self._attempts, self._jitter)

    def _ask(self) -> Answer:
        """On the question's own thread."""
        with self._lock:
            if self._wanted is None:
                raise Unanswered("nobody said whom to ask")
            config, purpose = self._wanted
            self._last, self._attempts, self._jitter = purpose, self._attempts + 1, self._chance()
        return Answer(purpose, self._policy(config))

    def _policy(self, config: Section) -> Wanted | None:
        try:
            return self._ocm.ask(config) if config.provider is Provider.OCM else self._http.ask(config)
        except OutsideError as error:
            wait = timedelta(seconds=error.retry_after) if error.retry_after is not None else None
            raise Unanswered(str(error), wait) from None
        except (KubeError, DocumentError, msgspec.ValidationError) as error:
            raise Unanswered(str(error)) from None
