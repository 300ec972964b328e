"""Takes the steps of one service: one write, or one call to one server. Nothing is decided here.

What a call was answered is judged by `judging`; what it led to, the servers say when they are asked next.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import msgspec

from shiplift.api.quorum import QuorumServiceSpec
from shiplift.engine import clock
from shiplift.engine.step import Answer, Outcome, Step
from shiplift.facts.kinds import POD, QUORUM_SERVICE
from shiplift.kube.changing import Subject, change
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.kube.finalizers import finalizer_edit
from shiplift.kube.outcomes import done, refusal, uid_of, version_of
from shiplift.quorum import judging
from shiplift.quorum.act.pull_secrets import pull_secrets
from shiplift.quorum.act.sets import Sets
from shiplift.quorum.artifacts import Artifacts, CannotServe, base_url
from shiplift.quorum.engines.making import comparing, connected
from shiplift.quorum.engines.protocol import Reply, Server
from shiplift.quorum.images.errors import RegistryAway
from shiplift.quorum.memory import Memory
from shiplift.quorum.names import FINALIZER
from shiplift.quorum.serving import Artifact
from shiplift.quorum.steps import (
    Begin,
    DeletePod,
    Finish,
    LiftHold,
    PutBack,
    Rehearse,
    SetFinalizer,
    Stage,
    Switch,
    Validate,
)
from shiplift.quorum.validating import Opening, Validator, trust_of

_RESTART, _NOTHING = timedelta(seconds=1.5), timedelta(0)
"""Servers answer before they restart: what they say in the moment after a switch is of before it."""
_GONE = "a pod is gone, or has no address"


class About(msgspec.Struct, frozen=True):
    """Which service it is, and what it wants."""

    namespace: str
    name: str
    spec: QuorumServiceSpec


class Actor:
    """Takes the steps of one service."""

    def __init__(
        self, client: Client, about: About, artifacts: Artifacts, opening: Opening, memory: Memory
    ) -> None:
        self._client, self._about, self._artifacts = client, about, artifacts
        self._opening, self._memory = opening, memory

    def act(self, step: Step) -> Outcome:
        try:
            outcome = self._take(step)
        except KubeError as error:
            return refusal(step, error)
        except CannotServe as error:
            return Outcome.failed(step, f"the operator cannot hand the binary to pods: {error}")
        if outcome.ok:
            self._memory.changes.note(step, clock.now())
        return outcome

    def _take(self, step: Step) -> Outcome:
        match step:
            case Begin() | PutBack() | LiftHold() | Finish():
                return self._sets.take(step)
            case SetFinalizer():
                return self._set_finalizer(step)
            case DeletePod():
                return self._delete(step)
            case Validate():
                return self._validated(step)
            case Rehearse() | Stage() | Switch():
                return self._called(step)
            case _:
                raise TypeError(f"{type(step).__name__} is no step of this layer")

    @property
    def _sets(self) -> Sets:
        about = self._about
        return Sets(self._client, about.namespace, about.name, about.spec.container, self._memory.records)

    @property
    def _space(self) -> str:
        return self._about.namespace

    def _set_finalizer(self, step: SetFinalizer) -> Outcome:
        subject = Subject(QUORUM_SERVICE, self._about.name, self._space, step.uid, "QuorumService")
        return change(
            self._client, step, subject, lambda live: finalizer_edit(live, FINALIZER, present=step.present)
        )

    def _delete(self, step: DeletePod) -> Outcome:
        live = self._client.get(POD, step.pod, self._space)
        if uid_of(live) != step.uid:
            return Outcome.done(step, message="another pod has its name now")
        if not step.regardless and (why := self._may_not_stop(step)):
            return Outcome.refused(step, f"the service would not be well without {step.pod}: {why}")
        try:
            written = self._client.delete(
                POD, step.pod, self._space, uid=step.uid, resource_version=version_of(live)
            )
            return done(step, written)
        finally:
            self._memory.acted = clock.now()

    def _may_not_stop(self, step: DeletePod) -> str:
        """As its server says at this moment: what was heard when it was decided may no longer be so."""
        server = self._memory.servers.get(step.uid)
        if server is None:
            return _GONE
        stop = connected(self._client, self._space, self._about.spec).may_stop(server)
        return "" if stop.may.certain else stop.message or "it does not say that it may stop"

    # --- the image ---

    def _validated(self, step: Validate) -> Outcome:
        spec, memory = self._about.spec, self._memory
        secrets = pull_secrets(self._client, self._space, memory.pull_secrets)
        try:
            with self._artifacts.pulling() as folder:
                validator = Validator(comparing(spec.engine), self._opening, folder, memory.platform)
                found = validator.validate(step.image, trust_of(spec), secrets)
                self._artifacts.keep(f"{self._space}/{self._about.name}", found.artifact, folder)
        except RegistryAway as error:
            return Outcome.refused(step, str(error))
        except OSError as error:
            return Outcome.failed(step, f"what was pulled cannot be kept: {error}")
        candidate = msgspec.structs.replace(found.candidate, verified=clock.now())
        memory.learn(step.image, trust_of(spec), candidate, found.artifact)
        return Outcome.done(step, message=candidate.message)

    # --- servers ---

    def _called(self, step: Rehearse | Stage | Switch) -> Outcome:
        memory, artifact = self._memory, self._memory.artifact
        if artifact is None or not artifact.binary.exists():
            memory.forget()
            return Outcome.refused(step, "the binary is no longer kept here; it is pulled and checked again")
        through = next((one for one in memory.servers.values() if one.name == step.through), None)
        members = () if isinstance(step, Switch) else step.members
        if through is None or any(uid not in memory.servers for uid in members):
            return Outcome.refused(step, _GONE)
        memory.calling = True
        try:
            return self._judged(step, through, artifact)
        finally:
            memory.calling = False
            memory.acted = clock.now() + (_RESTART if isinstance(step, Switch) else _NOTHING)

    def _judged(self, step: Rehearse | Stage | Switch, through: Server, artifact: Artifact) -> Outcome:
        match step:
            case Rehearse():
                return self._rehearsed(step, through, self._artifacts.bait(artifact))
            case Stage():
                return self._staged(step, through, artifact)
            case Switch():
                return self._switched(step, through, artifact)

    def _rehearsed(self, step: Rehearse, through: Server, bait: Artifact) -> Outcome:
        engine = connected(self._client, self._space, self._about.spec)
        reply = self._lend(step, through, bait, lambda url: engine.stage(through, url))
        found = judging.rehearsed(reply, self._servers(step.members))
        if found.answer is Answer.OK:
            self._memory.rehearsed = frozenset(step.members)
        return _outcome(step, found)

    def _staged(self, step: Stage, through: Server, artifact: Artifact) -> Outcome:
        engine = connected(self._client, self._space, self._about.spec)
        reply = self._lend(step, through, artifact, lambda url: engine.stage(through, url))
        at_target = {one.name for one in self._servers(step.switched)}
        found = judging.staged(reply, self._servers(step.members), at_target)
        if found.answer is Answer.OK:
            self._memory.staged = frozenset(step.members)
        return _outcome(step, found)

    def _switched(self, step: Switch, through: Server, artifact: Artifact) -> Outcome:
        engine = connected(self._client, self._space, self._about.spec)
        # whatever comes of it, those that are old after it stage once more
        self._memory.staged = frozenset()
        reply = self._lend(step, through, artifact, lambda url: engine.switch(through, url))
        return _outcome(step, judging.switched(reply, list(self._memory.servers.values())))

    def _servers(self, uids: tuple[str, ...]) -> list[Server]:
        return [self._memory.servers[uid] for uid in uids if uid in self._memory.servers]

    def _lend(
        self,
        step: Rehearse | Stage | Switch,
        through: Server,
        artifact: Artifact,
        call: Callable[[str], Reply],
    ) -> Reply:
        attempt = f"{self._space}-{self._about.name}-{step.started.id}"
        url = self._about.spec.serving_url
        return self._artifacts.lend(
            attempt, artifact, lambda port, scheme: base_url(url, through.address, port, scheme), call
        )


def _outcome(step: Step, found: judging.Judgement) -> Outcome:
    return Outcome(step=step.key, answer=found.answer, message=found.message)
