"""Takes steps: one change of the outbox, or one exchange with somebody outside. Nothing is decided here."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from shiplift.api.values import SecretKey
from shiplift.engine.step import Outcome, Step
from shiplift.kube import secrets
from shiplift.kube.client import Client
from shiplift.kube.config import ConfigReader
from shiplift.kube.errors import KubeError
from shiplift.kube.outcomes import refusal
from shiplift.kube.secrets import Hidden
from shiplift.notify.config import Section
from shiplift.notify.model import Address, Addressed, Deliver, EndSilence, Forget, HoldSilence, Put
from shiplift.notify.silences import Alertmanager, Silences
from shiplift.outside.door import Call, door_for
from shiplift.outside.errors import OutsideError
from shiplift.outside.letters import Letter
from shiplift.outside.outbox import Outbox
from shiplift.outside.reaching import Reaching

AGAIN = timedelta(seconds=15)
"""After something that could not be delivered now."""
_LATER = frozenset({408, 425, 429})
"""Refusals that pass, of those that begin with 4."""
_MOST_OF_SILENCES = 8 << 20
"""Bytes of the list of all silences: it has expired ones too, of days."""


class Actor:
    """Takes the steps of this layer."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        outbox: Outbox,
        reader: ConfigReader[Section],
        silences: Silences,
    ) -> None:
        self._client, self._namespace = client, namespace
        self._outbox, self._reader, self._silences = outbox, reader, silences
        self.trouble = ""
        """What was wrong with the settings when they were used last."""

    def act(self, step: Step) -> Outcome:
        """One step, and what came of it."""
        try:
            return self._take(step)
        except KubeError as error:
            return refusal(step, error)
        except OutsideError as error:
            wait = timedelta(seconds=error.retry_after) if error.retry_after else AGAIN
            return Outcome.refused(step, str(error), wait)

    def _take(self, step: Step) -> Outcome:
        match step:
            case Put(letters=letters):
                self._outbox.put(letters)
            case Forget(letter=letter):
                self._outbox.done(letter)
            case Deliver(letter=letter):
                return self._deliver(step, letter)
            case HoldSilence() | EndSilence():
                self._silence(step)
            case _:
                raise TypeError(f"{type(step).__name__} is no step of this layer")
        return Outcome.done(step)

    def _deliver(self, step: Deliver, letter: Letter) -> Outcome:
        """Whoever will never take it holds up nothing: it is left, and that is told."""
        try:
            body = msgspec.json.decode(letter.body, type=Addressed)
        except msgspec.MsgspecError:
            self._outbox.done(letter)
            return Outcome.done(step, message=f"what {letter.receiver} was to be told cannot be read")
        to = step.to or Address(body.url, body.token)
        headers = (("Content-Type", "application/cloudevents+json"),)
        content = msgspec.json.encode(body.event)
        got = door_for(self._reach()).send(Call("POST", to.url, headers, content, self._token(to.token)))
        never = 400 <= got.status < 500 and got.status not in _LATER
        if not never:
            got.good()
        self._outbox.done(letter)
        return Outcome.done(step, message=f"{letter.receiver} does not take it ({got.status})" * never)

    def _silence(self, step: HoldSilence | EndSilence) -> None:
        silence = step.silence
        door = door_for(self._reach(), _MOST_OF_SILENCES)
        there = Alertmanager(door, silence, self._token(silence.token))
        if isinstance(step, HoldSilence):
            there.hold(step.until)
            self._silences.held(silence)
        else:
            there.end()
            self._silences.ended(silence)

    def _reach(self) -> Reaching:
        looked = self._reader.look()
        self.trouble = looked.trouble
        return looked.value.reach if looked.value is not None else Reaching()

    def _token(self, reference: SecretKey | None) -> Hidden | None:
        if reference is None:
            return None
        return secrets.read(self._client, self._namespace, reference.name, reference.key)
