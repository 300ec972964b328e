"""Takes steps: one write, or one call to one server. Nothing is decided here.

What a call was answered is judged by `judging`; what it led to, the servers say when they are asked next.
"""

from __future__ import annotations

from collections.abc import Callable

from shiplift.engine.step import Answer, Outcome, Step
from shiplift.facts.kinds import POD
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.kube.outcomes import refusal
from shiplift.quorum import judging
from shiplift.quorum.act.sets import Sets
from shiplift.quorum.engines.protocol import Engine, Reply, Server
from shiplift.quorum.images.errors import RegistryAway
from shiplift.quorum.memory import Memory
from shiplift.quorum.serving import ArtifactServer
from shiplift.quorum.steps import Begin, DeletePod, Finish, LiftHold, PutBack, Stage, Switch, Validate
from shiplift.quorum.validating import Validated

_TOKEN_SECONDS = 600.0


class Artifacts:
    """Where servers fetch a binary: the listener, and how they reach it."""

    def __init__(self, listener: ArtifactServer, base: str) -> None:
        self._listener, self._base = listener, base

    def lend(self, attempt: str, memory: Memory, call: Callable[[str], Reply]) -> Reply | None:
        """The binary can be had for as long as the call takes; None where there is none to lend."""
        if memory.artifact is None or not memory.artifact.binary.exists():
            return None
        self._listener.publish(attempt, memory.artifact)
        try:
            return call(self._listener.url(self._base, attempt, _TOKEN_SECONDS))
        finally:
            self._listener.withdraw(attempt)


class Actor:
    """Takes the steps of one service."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        sets: Sets,
        engine: Engine,
        artifacts: Artifacts,
        validate: Callable[[str], Validated],
        memory: Memory,
    ) -> None:
        self._client, self._namespace, self._sets = client, namespace, sets
        self._engine, self._artifacts = engine, artifacts
        self._validate, self._memory = validate, memory

    def act(self, step: Step) -> Outcome:
        try:
            return self._take(step)
        except KubeError as error:
            return refusal(step, error)

    def _take(self, step: Step) -> Outcome:
        match step:
            case Begin() | PutBack() | LiftHold() | Finish():
                return self._sets.take(step)
            case DeletePod():
                self._client.delete(POD, step.pod, self._namespace, uid=step.uid)
                return Outcome.done(step)
            case Validate():
                return self._validated(step)
            case Stage():
                return self._staged(step)
            case Switch():
                return self._switched(step)
            case _:
                raise TypeError(f"{type(step).__name__} is no step of this layer")

    def _validated(self, step: Validate) -> Outcome:
        try:
            found = self._validate(step.image)
        except RegistryAway as error:
            return Outcome.refused(step, str(error))
        self._memory.learn(step.image, found.candidate, found.artifact)
        return Outcome.done(step, message=found.candidate.message)

    def _staged(self, step: Stage) -> Outcome:
        memory = self._memory
        servers = [memory.servers[uid] for uid in step.members if uid in memory.servers]
        through = _named(servers, step.through)
        if through is None or len(servers) != len(step.members):
            return Outcome.refused(step, "a pod is gone, or has no address")
        reply = self._artifacts.lend(step.started.id, memory, lambda url: self._engine.stage(through, url))
        if reply is None:
            return self._lost_binary(step)
        at_target = {memory.servers[uid].name for uid in step.switched if uid in memory.servers}
        found = judging.staged(reply, servers, at_target)
        if found.answer is Answer.OK:
            memory.staged = frozenset(step.members)
        return _outcome(step, found)

    def _switched(self, step: Switch) -> Outcome:
        memory = self._memory
        servers = list(memory.servers.values())
        through = _named(servers, step.through)
        if through is None:
            return Outcome.refused(step, f"pod {step.through} is gone, or has no address")
        # whatever comes of it, those that are old after it stage once more
        memory.staged = frozenset()
        reply = self._artifacts.lend(step.started.id, memory, lambda url: self._engine.switch(through, url))
        return self._lost_binary(step) if reply is None else _outcome(step, judging.switched(reply, servers))

    def _lost_binary(self, step: Step) -> Outcome:
        self._memory.forget()
        return Outcome.refused(step, "the binary is no longer kept here; it is pulled and checked again")


def _named(servers: list[Server], name: str) -> Server | None:
    return next((server for server in servers if server.name == name), None)


def _outcome(step: Step, found: judging.Judgement) -> Outcome:
    return Outcome(step=step.key, answer=found.answer, message=found.message)
