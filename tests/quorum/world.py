"""A namespace with a quorum service in it, played in memory: what the layer decides is done by its own actor
on objects that are held here, and between two rounds whoever has a hand in it may do anything.

Objects are JSON as an API server has them, changed by the very patches that the layer sends. Controllers make
pods of StatefulSets and roll them, servers start and switch as real ones were seen to. Time goes on by a
second with each round, so that whatever is not paced is done as often as there are rounds.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import msgspec

from shiplift.api.marks import QUORUM_HOLD
from shiplift.api.quorum import QuorumService
from shiplift.engine.probes import Truth
from shiplift.engine.step import Outcome, Outcomes, Step
from shiplift.facts.kinds import POD, QUORUM_SERVICE, STATEFUL_SET, Kind
from shiplift.kube.client import Client
from shiplift.kube.errors import Forbidden
from shiplift.kube.store import Store
from shiplift.quorum.act.actor import About, Actor
from shiplift.quorum.decide import decide
from shiplift.quorum.engines.protocol import Silent, Told
from shiplift.quorum.face.undo import undo_all
from shiplift.quorum.memory import Memory
from shiplift.quorum.model import Candidate, Line, QuorumDecision, Validity
from shiplift.quorum.names import MARKS, SWAP
from shiplift.quorum.observe.asking import Answers
from shiplift.quorum.observe.members import Heard
from shiplift.quorum.observe.observer import Observer, Watched
from shiplift.quorum.steps import DeletePod, Rehearse, Stage, Switch, Validate
from shiplift.quorum.tell import report
from shiplift.quorum.validating import trust_of
from tests.quorum.decide.views import IMAGE, NEW, NOW, OLD, TAGGED, TARGET_SAID, WAS
from tests.quorum.objects import Json, Objects

SPACE = "store"
OLD_TAG = "RELEASE.2025-04-22T22-12-26Z"
SECOND = timedelta(seconds=1)
_ROLLING: Json = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}


class _Store:
    """The snapshot that an observer takes."""

    def __init__(self, world: World) -> None:
        self._world = world

    def snapshot(self, *_: Kind) -> _Store:
        return self

    def custom(self, kind: Kind, name: str, namespace: str) -> Any:
        del kind, namespace
        found = self._world.services.get(name)
        return None if found is None else SimpleNamespace(object=found)

    def customs(self, kind: Kind) -> Iterator[Any]:
        there = self._world.services.values() if kind == QUORUM_SERVICE else ()
        return (SimpleNamespace(object=one, namespace=SPACE, name=one.metadata.name) for one in there)

    def stale(self, _: Kind) -> bool:
        return False

    def find(self, *_: Any) -> None:
        return None


class _Asking:
    """What servers say at this moment."""

    trouble = ""

    def __init__(self, world: World) -> None:
        self._world = world

    def want(self, *_: Any) -> None:
        """They are asked whenever an answer is wanted."""

    def answers(self, now: datetime, *_: Any) -> Answers:
        return Answers(self._world.heard(), now)


class Server(msgspec.Struct):
    """In a pod, by whose uid it is known."""

    version: str
    serving: bool = True
    silent: str = ""


class Leader:
    """What one term of leading remembers, by service."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._watched: dict[str, Watched] = {}
        self._outcomes: dict[str, Outcomes] = {}

    def watched(self, name: str) -> Watched:
        asking: Any = _Asking(self._world)
        return self._watched.setdefault(name, Watched(Memory(), asking))

    def outcomes(self, name: str) -> Outcomes:
        return self._outcomes.get(name, Outcomes())

    def remember(self, name: str, outcomes: list[Outcome], now: datetime) -> None:
        self._outcomes[name] = self.outcomes(name).remember(outcomes, now)


class World:
    """The namespace; `bystanders` have their turn after each round."""

    def __init__(self, *sets: str, replicas: int = 4, image: str = TAGGED) -> None:
        self.now = NOW
        self.objects = Objects()
        self.services: dict[str, QuorumService] = {}
        self.servers: dict[str, Server] = {}
        self.bystanders: list[Callable[[], None]] = []
        self.lines: list[Line] = []
        """What was told, round by round."""
        self.steps: list[Step] = []
        self.switch_reaches: Callable[[str], bool] = lambda _: True
        """Whether a switch reaches a pod of that name."""
        self.comes_back: Callable[[str], bool] = lambda _: True
        """Whether a pod of that name is made where there is none."""
        self._count = 0
        self.leader = Leader(self)
        self.sets = sets or ("minio",)
        for name in self.sets:
            self.make_set(name, replicas)
        self.serve("store", self.sets, image)
        self.nature()

    # --- what there is ---

    def serve(self, name: str, sets: tuple[str, ...], image: str = TAGGED, age: int = 0, **more: Any) -> None:
        """A QuorumService, made so many seconds after the first."""
        made = self._uid("qs")
        about = {
            "name": name,
            "namespace": SPACE,
            "uid": made,
            "resourceVersion": made,
            "generation": 1,
            "creationTimestamp": (NOW + age * SECOND).isoformat(),
        }
        spec = {"statefulSets": list(sets), "image": image, "credentialsSecret": "root", **more}
        self._write_service({"metadata": about, "spec": spec})

    def make_set(self, name: str, replicas: int = 4, image: str = WAS, strategy: Json | None = None) -> None:
        labels = {"app": name}
        containers = [{"name": "sidecar", "image": "sidecar:1"}, {"name": "minio", "image": image}]
        spec = {
            "serviceName": "minio",
            "replicas": replicas,
            "updateStrategy": copy.deepcopy(strategy or _ROLLING),
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        }
        self.objects.put(STATEFUL_SET, {"metadata": {"name": name, "uid": self._uid(name)}, "spec": spec})

    def set(self, name: str = "minio") -> Json:
        return self.objects.found[STATEFUL_SET, name]

    def pods(self) -> dict[str, Json]:
        return {name: live for (kind, name), live in self.objects.found.items() if kind == POD}

    def image(self, name: str = "minio") -> str:
        return _image(self.set(name)["spec"]["template"]["spec"], "minio")

    def versions(self) -> set[str]:
        return {self.servers[pod["metadata"]["uid"]].version for pod in self.pods().values()}

    def marks(self, name: str = "minio") -> set[str]:
        about = self.set(name)["metadata"]
        there: dict[str, str] = {**(about.get("labels") or {}), **(about.get("annotations") or {})}
        return there.keys() & {*MARKS, QUORUM_HOLD}

    def service(self, name: str = "store") -> QuorumService:
        return self.services[name]

    @property
    def line(self) -> Line:
        return self.lines[-1]

    def reasons(self) -> list[str]:
        return [line.reason.value for line in self.lines]

    def writes(self, kind: Kind = STATEFUL_SET) -> int:
        return sum(1 for one, _ in self.objects.patches if one == kind)

    # --- rounds ---

    def play(self, rounds: int = 1, name: str = "store") -> None:
        for _ in range(rounds):
            self.round(name)
            for bystander in self.bystanders:
                bystander()
            self.nature()
            self.now += SECOND

    def until(self, met: Callable[[], bool], rounds: int = 200, name: str = "store") -> None:
        for _ in range(rounds):
            if met():
                return
            self.play(name=name)
        raise AssertionError(f"it does not come to that: {self.lines[-3:]}")

    def over(self) -> bool:
        """All run the new version, pods and template are of it, and nothing of ours is left."""
        images = {_image(pod["spec"], "minio") for pod in self.pods().values()}
        there = (*self.sets,)
        clean = all(not self.marks(one) and self.image(one) == IMAGE for one in there)
        return clean and self.versions() == {TARGET_SAID} and images == {IMAGE}

    def is_back(self) -> bool:
        """All is as it was."""
        sets = [one for one in self.sets if (STATEFUL_SET, one) in self.objects.found]
        as_before = (
            self.image(one) == WAS and self.set(one)["spec"]["updateStrategy"] == _ROLLING for one in sets
        )
        return all(as_before) and not any(map(self.marks, sets)) and self.versions() == {OLD}

    def round(self, name: str = "store") -> QuorumDecision | None:
        client = cast("Client", self.objects)
        store: Any = _Store(self)
        watched = self.leader.watched(name)
        sight = Observer(client, store).observe(SPACE, name, watched, self.leader.outcomes(name))
        if sight is None:
            return None
        made = decide(sight.view, self.now)
        watched.decided = (sight.service.metadata.generation, made)
        about = About(SPACE, name, sight.service.spec)
        actor = Actor(client, about, cast("Any", None), cast("Any", None), watched.memory)
        steps = [msgspec.structs.replace(step, service=f"{SPACE}/{name}") for step in made.steps]
        outcomes = [self._taken(step, actor, watched.memory, sight.service) for step in steps]
        self.leader.remember(name, outcomes, self.now)
        self.lines.append(made.line)
        self.steps.extend(made.steps)
        self._publish(sight.service, report.status(sight.service, sight.view, made, self.now))
        return made

    def _publish(self, seen: QuorumService, status: Any) -> None:
        """What was changed in between is not written over."""
        name = seen.metadata.name
        now = self.services.get(name)
        if now is not None and now.metadata.resource_version == seen.metadata.resource_version:
            document = msgspec.to_builtins(seen)
            self._write_service({**document, "status": msgspec.to_builtins(status)})

    def _taken(self, step: Step, actor: Actor, memory: Memory, service: QuorumService) -> Outcome:
        match step:
            case Validate():
                trust = trust_of(service.spec)
                memory.learn(step.image, trust, _found(step.image, self.now), None)
            case Rehearse():
                memory.rehearsed = frozenset(step.members)
            case Stage():
                memory.staged = frozenset(step.members)
            case Switch():
                memory.staged = frozenset()
                self.switch()
            case DeletePod():
                self.delete_pod(step.pod)
            case _:
                return self._written(step, actor)
        memory.changes.note(step, self.now)
        return Outcome.done(step)

    def _written(self, step: Step, actor: Actor) -> Outcome:
        try:
            return actor.act(step)
        finally:
            for name in list(self.services):
                self._reread(name)

    # --- servers and controllers ---

    def heard(self) -> Mapping[str, Heard]:
        endpoints = tuple(sorted(f"{pod}.minio.store.svc:9000" for pod in self.pods()))
        well = all(one.serving and not one.silent for one in self._running())
        return {
            pod["metadata"]["uid"]: self._said(self.servers[pod["metadata"]["uid"]], endpoints, well)
            for pod in self.pods().values()
            if not _is_pending(pod)
        }

    def _said(self, server: Server, endpoints: tuple[str, ...], well: bool) -> Heard:
        if server.silent:
            return Heard(Silent(server.silent))
        truth = Truth.of(well)
        return Heard(Told(server.version, server.serving, 2, endpoints), truth, truth)

    def _running(self) -> list[Server]:
        return [self.servers[pod["metadata"]["uid"]] for pod in self.pods().values() if not _is_pending(pod)]

    def switch(self) -> None:
        """As a server passes it on to all that it reaches."""
        for name, pod in self.pods().items():
            server = self.servers[pod["metadata"]["uid"]]
            if not server.silent and not _is_pending(pod) and self.switch_reaches(name):
                server.version, server.serving = TARGET_SAID, True

    def nature(self) -> None:
        """Controllers, and servers that wait for each other at their start."""
        for (kind, _), live in list(self.objects.found.items()):
            if kind == STATEFUL_SET:
                self._control(live)
        running = self._running()
        for server in running:
            peers = [one for one in running if one is not server and one.version == server.version]
            server.serving = server.serving or bool(peers) or len(running) == 1
        for pod in self.pods().values():
            server = self.servers[pod["metadata"]["uid"]]
            if not _is_pending(pod):
                ready = str(server.serving and not server.silent)
                pod["status"]["conditions"] = [{"type": "Ready", "status": ready}]

    def _control(self, live: Json) -> None:
        revision = _revision(live)
        live["status"] = {"observedGeneration": live["metadata"]["generation"], "updateRevision": revision}
        name, spec = live["metadata"]["name"], live["spec"]
        wanted = [f"{name}-{at}" for at in range(spec["replicas"])]
        mine = {pod: one for pod, one in self.pods().items() if _owner(one) == live["metadata"]["uid"]}
        for pod in mine.keys() - set(wanted):
            self.objects.remove(POD, pod)
        for pod in wanted:
            if pod not in self.pods() and self.comes_back(pod):
                self._make_pod(pod, live, revision)
        if spec["updateStrategy"]["type"] == "RollingUpdate":
            labels = {pod: one["metadata"]["labels"]["controller-revision-hash"] for pod, one in mine.items()}
            for pod in sorted((pod for pod, of in labels.items() if of != revision), reverse=True)[:1]:
                self.objects.remove(POD, pod)

    def _make_pod(self, name: str, live: Json, revision: str) -> None:
        template = copy.deepcopy(live["spec"]["template"])
        uid = self._uid(name)
        owner = {"kind": "StatefulSet", "name": live["metadata"]["name"], "uid": live["metadata"]["uid"]}
        about = {
            "name": name,
            "uid": uid,
            "labels": {**template["metadata"]["labels"], "controller-revision-hash": revision},
            "ownerReferences": [{**owner, "controller": True}],
        }
        pod = {"metadata": about, "spec": template["spec"], "status": {"podIP": "10.0.0.7"}}
        for webhook in self.objects.admission:
            webhook(POD, pod)
        self.objects.put(POD, pod)
        first = len(self.pods()) < len(self.sets) and not self.lines
        version = TARGET_SAID if _binary(pod["spec"]) == NEW else OLD
        self.servers[uid] = Server(version, serving=first or not self.lines)

    # --- verbs: what somebody who is not shiplift may do ---

    def strip_record(self, name: str = "minio") -> None:
        self._annotations(name).pop(SWAP, None)

    def strip_hold(self, name: str = "minio") -> None:
        self._annotations(name).pop(QUORUM_HOLD, None)

    def strip_all(self, name: str = "minio") -> None:
        about = self.set(name)["metadata"]
        about.pop("annotations", None)
        about.pop("labels", None)

    def put_hold(self, name: str = "minio", service: str = "store") -> None:
        self._annotations(name)[QUORUM_HOLD] = service

    def write_record(self, text: str, name: str = "minio") -> None:
        self._annotations(name)[SWAP] = text

    def set_image(self, image: str, name: str = "minio") -> None:
        live = copy.deepcopy(self.set(name))
        live["spec"]["template"]["spec"]["containers"][1]["image"] = image
        self.objects.put(STATEFUL_SET, live)

    def set_strategy(self, strategy: Json = _ROLLING, name: str = "minio") -> None:
        live = copy.deepcopy(self.set(name))
        live["spec"]["updateStrategy"] = copy.deepcopy(strategy)
        self.objects.put(STATEFUL_SET, live)

    def revert(self, name: str = "minio") -> None:
        """As a GitOps tool that knows nothing of a swap."""
        self.strip_all(name)
        self.set_image(WAS, name)
        self.set_strategy(name=name)

    def scale(self, replicas: int, name: str = "minio") -> None:
        live = copy.deepcopy(self.set(name))
        live["spec"]["replicas"] = replicas
        self.objects.put(STATEFUL_SET, live)

    def rename_container(self, to: str, name: str = "minio") -> None:
        live = copy.deepcopy(self.set(name))
        live["spec"]["template"]["spec"]["containers"][1]["name"] = to
        self.objects.put(STATEFUL_SET, live)

    def delete_set(self, name: str = "minio", *, orphans: bool = False) -> None:
        uid = self.set(name)["metadata"]["uid"]
        self.objects.remove(STATEFUL_SET, name)
        for pod in [pod for pod, one in self.pods().items() if _owner(one) == uid and not orphans]:
            self.objects.remove(POD, pod)

    def delete_pod(self, name: str) -> None:
        self.objects.remove(POD, name)

    def restart_container(self, name: str) -> None:
        """It starts with the binary of its pod's own image."""
        pod = self.pods()[name]
        version = TARGET_SAID if _binary(pod["spec"]) == NEW else OLD
        self.servers[pod["metadata"]["uid"]] = Server(version, serving=False)

    def silence(self, name: str, why: str = "no answer: connection refused") -> None:
        self.server(name).silent = why

    def pend(self, name: str, why: str, container: bool = False) -> None:
        """The pod comes back and nobody can run it."""
        pod = self.pods()[name]
        waits = {
            "containerStatuses": [{"name": "minio", "state": {"waiting": {"reason": "X", "message": why}}}]
        }
        unplaced = {"conditions": [{"type": "PodScheduled", "status": "False", "message": why}]}
        pod["status"] = {"phase": "Pending", **(waits if container else unplaced)}

    def server(self, pod: str) -> Server:
        return self.servers[self.pods()[pod]["metadata"]["uid"]]

    def strip_finalizer(self, name: str = "store") -> None:
        self._change_service(name, lambda one: one["metadata"].pop("finalizers", None))

    def edit(self, name: str = "store", **changed: Any) -> None:
        """The spec, by fields as JSON has them."""

        def edited(one: Json) -> None:
            one["spec"].update(changed)
            one["metadata"]["generation"] += 1

        self._change_service(name, edited)

    def edit_status(self, name: str = "store", **changed: Any) -> None:
        self._change_service(name, lambda one: one["status"].update(changed))

    def delete_service(self, name: str = "store") -> None:
        when = self.now.isoformat()
        self._change_service(name, lambda one: one["metadata"].update({"deletionTimestamp": when}))

    def deny(self, message: str, what: Callable[[Kind, Json], bool]) -> None:
        """A webhook that refuses what is so."""

        def webhook(kind: Kind, live: Json) -> None:
            if what(kind, live):
                raise Forbidden(message, status=403)

        self.objects.admission.append(webhook)

    def undo_all(self) -> list[str]:
        """`release --all`, with no operator; what it says."""
        said: list[str] = []
        undo_all(cast("Client", self.objects), cast("Store", None), said.append)
        for name in list(self.services):
            self._reread(name)
        return said

    def new_leader(self) -> None:
        self.leader = Leader(self)

    # --- how it is kept ---

    def _annotations(self, name: str) -> Json:
        return self.set(name)["metadata"].setdefault("annotations", {})

    def _change_service(self, name: str, change: Callable[[Json], Any]) -> None:
        document = msgspec.to_builtins(self.services[name])
        change(document)
        self._write_service(document)

    def _write_service(self, document: Json) -> None:
        name = document["metadata"]["name"]
        live: Json = msgspec.json.decode(msgspec.json.encode(document))
        generation = live["metadata"]["generation"]
        self.objects.put(QUORUM_SERVICE, live)
        live["metadata"]["generation"] = generation
        self._reread(name)

    def _reread(self, name: str) -> None:
        live = self.objects.found[QUORUM_SERVICE, name]
        about = live["metadata"]
        if about.get("deletionTimestamp") and not about.get("finalizers"):
            self.objects.remove(QUORUM_SERVICE, name)
            self.services.pop(name, None)
            return
        self.services[name] = msgspec.convert(live, QuorumService)

    def _uid(self, name: str) -> str:
        self._count += 1
        return f"{name}-{self._count}"


def _found(image: str, now: datetime) -> Candidate:
    new = image.startswith(TAGGED)
    version, by_digest = (NEW, IMAGE) if new else (OLD_TAG, f"{WAS}@sha256:{'b' * 64}")
    return Candidate(Validity.GOOD, version, by_digest, verified=now)


def _image(spec: Json, container: str) -> str:
    return next((one["image"] for one in spec["containers"] if one["name"] == container), "")


def _binary(spec: Json) -> str:
    return NEW if any(NEW in one["image"] for one in spec["containers"]) else OLD


def _owner(pod: Json) -> str:
    return pod["metadata"]["ownerReferences"][0]["uid"]


def _revision(live: Json) -> str:
    return hashlib.sha256(msgspec.json.encode(live["spec"]["template"])).hexdigest()[:10]


def _is_pending(pod: Json) -> bool:
    return pod["status"].get("phase") == "Pending"
