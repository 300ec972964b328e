"""Takes steps: one write each, or one call outside. Nothing is decided here."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec

from shiplift.api.marks import (
    MANAGED_BY,
    MANAGER,
    POLICY_APPLIED,
    POLICY_ID,
    PROVIDER_LABEL,
    REFRESH_AT,
    REFRESH_DONE,
)
from shiplift.engine.step import Outcome, Step
from shiplift.facts.kinds import UPGRADE_CONFIG
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError, NotFound, PreconditionFailed
from shiplift.kube.outcomes import SOON, done, gone, refusal
from shiplift.outside.errors import OutsideError
from shiplift.outside.letters import Letter
from shiplift.outside.outbox import Outbox
from shiplift.policy.config import Section
from shiplift.policy.decide.reports import Report
from shiplift.policy.document import Wanted
from shiplift.policy.names import KEY
from shiplift.policy.providers.asking import Asker
from shiplift.policy.providers.ocm import OcmProvider
from shiplift.policy.steps import Ask, Confirm, Create, Delete, Deliver, Forget, Put, Replace

_NEVER = frozenset({400, 404, 405, 409, 410, 422})
"""What OCM answers to a report that it will not take, however often it is sent."""
AGAIN = timedelta(seconds=30)
"""After a report that OCM could not take now."""
_SETTINGS = "the settings have changed meanwhile"


class Actor:
    """Takes the steps of this layer; `config` has the settings that are in force."""

    def __init__(
        self,
        client: Client,
        asker: Asker,
        outbox: Outbox,
        ocm: OcmProvider,
        config: Callable[[], Section | None],
    ) -> None:
        self._client, self._asker, self._outbox, self._ocm = client, asker, outbox, ocm
        self._config = config

    def act(self, step: Step) -> Outcome:
        """One step, and what came of it."""
        try:
            return self._take(step)
        except KubeError as error:
            return refusal(step, error)

    def _take(self, step: Step) -> Outcome:
        match step:
            case Ask():
                return self._ask(step)
            case Create() | Replace() | Delete() | Confirm():
                return self._change(step)
            case Put() | Deliver() | Forget():
                return self._post(step)
            case _:
                raise TypeError(f"{step} is no step of this layer")

    def _change(self, step: Create | Replace | Delete | Confirm) -> Outcome:
        """The UpgradeConfig."""
        match step:
            case Create():
                return self._create(step)
            case Replace():
                return self._replace(step)
            case Delete():
                return self._delete(step)
            case Confirm():
                return self._confirm(step)

    def _post(self, step: Put | Deliver | Forget) -> Outcome:
        """What is to be reported."""
        match step:
            case Put(letters=letters):
                self._outbox.put(letters)
            case Forget(letter=letter):
                self._outbox.done(letter)
            case Deliver(letter=letter):
                return self._deliver(step, letter)
        return Outcome.done(step)

    def _ask(self, step: Ask) -> Outcome:
        config = self._config()
        if config is None or config.source != step.purpose.source:
            return Outcome.refused(step, _SETTINGS)
        self._asker.want(config, step.purpose)
        return Outcome.done(step)

    def _create(self, step: Create) -> Outcome:
        """What somebody made by hand meanwhile is neither overwritten nor, where it says the same, adopted:
        an apply without force does that."""
        with contextlib.suppress(NotFound):
            self._client.get(UPGRADE_CONFIG, KEY)
            return Outcome.refused(step, "somebody else was faster: an UpgradeConfig is there", SOON)
        body = applied(step.provider, step.policy)
        return done(step, self._client.apply(UPGRADE_CONFIG, body, uid=None))

    def _replace(self, step: Replace) -> Outcome:
        """In place, and only what is the policy's: no moment without an UpgradeConfig, its history kept."""
        body = applied(step.provider, step.policy)
        if step.anew:
            body["spec"]["abort"] = False
        written = self._client.apply(
            UPGRADE_CONFIG, body, uid=step.uid, resource_version=str(step.version), force=True
        )
        return done(step, written)

    def _delete(self, step: Delete) -> Outcome:
        try:
            version = str(step.version)
            return done(
                step, self._client.delete(UPGRADE_CONFIG, KEY, uid=step.uid, resource_version=version)
            )
        except (NotFound, PreconditionFailed) as error:
            return gone(step, error)

    def _confirm(self, step: Confirm) -> Outcome:
        marks = {REFRESH_DONE: step.refresh, REFRESH_AT: step.answered}
        patch = {"metadata": {"annotations": marks}}
        version = str(step.version)
        return done(
            step,
            self._client.patch(UPGRADE_CONFIG, KEY, patch, uid=step.uid, resource_version=version),
        )

    def _deliver(self, step: Deliver, letter: Letter) -> Outcome:
        config = self._config()
        if config is None:
            return Outcome.refused(step, _SETTINGS, AGAIN)
        try:
            report = msgspec.json.decode(letter.body, type=Report)
        except msgspec.MsgspecError:
            self._outbox.done(letter)
            return Outcome.done(step, message=f"report {letter.id} cannot be read, and is left")
        try:
            got = self._ocm.tell(config, report)
            if got.status not in _NEVER:
                got.good()
        except OutsideError as error:
            wait = timedelta(seconds=error.retry_after) if error.retry_after else AGAIN
            return Outcome.refused(step, str(error), wait)
        self._outbox.done(letter)
        refused = f"OCM does not take it ({got.status})" if got.status in _NEVER else ""
        return Outcome.done(step, message=refused)


def applied(provider: str, policy: Wanted) -> dict[str, Any]:
    """What server-side apply says of an UpgradeConfig: the policy's own fields, and where it came from."""
    return {
        "metadata": {
            "name": KEY,
            "labels": {MANAGED_BY: MANAGER, PROVIDER_LABEL: provider},
            "annotations": {POLICY_ID: policy.id, POLICY_APPLIED: policy.digest},
        },
        "spec": dict(policy.fields),
    }
