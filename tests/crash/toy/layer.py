"""A layer that exists only for tests: every namespace that wishes for a berth has one, and no other has.

It talks over https with a provider (`TOY_HARBOUR`), and hears wishes on a port of its own (`TOY_LISTEN`). A
berth is noted on the namespace after it is given, and given back before the note goes: a crash in between
costs a second call that changes nothing, never a berth that nobody knows of.
"""

from __future__ import annotations

import json
import os
import ssl
import threading
import urllib.request
from collections.abc import Hashable, Iterable
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec

from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Decision, requeue
from shiplift.engine.step import Outcome, Outcomes, Step
from shiplift.facts import kinds
from shiplift.facts.cluster import Namespace
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.kube.errors import KubeError
from shiplift.kube.lease import NotLeading
from shiplift.kube.part import Context, LayerPart
from shiplift.kube.watch import Watch

NAME = "toy"
HARBOUR, TRUST, LISTEN = "TOY_HARBOUR", "TOY_TRUST", "TOY_LISTEN"
WISH, BERTH = "toy.shiplift.dev/wish", "toy.shiplift.dev/berth"
_AGAIN = timedelta(milliseconds=300)


class Moor(Step, frozen=True):
    """Ask for a berth, and note it."""

    name: str
    uid: str

    @property
    def key(self) -> str:
        return f"moor {self.uid}"

    def describe(self) -> str:
        return f"moor {self.name}"


class Leave(Step, frozen=True):
    """Give the berth back, and then forget it."""

    name: str
    uid: str

    @property
    def key(self) -> str:
        return f"leave {self.uid}"

    def describe(self) -> str:
        return f"let {self.name} leave its berth"


class View(msgspec.Struct, frozen=True):
    """One namespace, where it exists."""

    row: Namespace | None


class Berths:
    """The layer, for one term of leading."""

    def __init__(self, context: Context) -> None:
        self._context = context
        if "listener" not in context.kept:
            context.kept["listener"] = Listener()
        context.kept["listener"].heard = self.wish

    def observe(self, key: str, outcomes: Outcomes) -> View:
        return View(self._context.store.snapshot().find(Namespace, key))

    def decide(self, view: View, now: datetime) -> Decision:
        row = view.row
        if row is None or (WISH in row.annotations) == (BERTH in row.annotations):
            return Decision()
        step = (Moor if WISH in row.annotations else Leave)(row.name, row.uid)
        return Decision((step,), look_again=requeue(_AGAIN))

    def act(self, step: Step) -> Outcome:
        try:
            return self._leave(step) if isinstance(step, Leave) else self._moor(step)
        except (KubeError, OSError) as error:
            return Outcome.refused(step, str(error), _AGAIN)

    def publish(self, key: str, decision: Decision) -> Iterable[Barrier]:
        return ()

    def wish(self, name: str, *, wanted: bool) -> None:
        """Somebody wishes for a berth for a namespace, or no longer does."""
        uid = self._context.client.get(kinds.NAMESPACE, name)["metadata"]["uid"]
        self._note(name, uid, WISH, "yes" if wanted else None)

    def _moor(self, step: Step) -> Outcome:
        assert isinstance(step, Moor)
        berth = _harbour("PUT", step.name)["berth"]
        return Outcome.done(step, *self._note(step.name, step.uid, BERTH, str(berth)))

    def _leave(self, step: Leave) -> Outcome:
        _harbour("DELETE", step.name)
        return Outcome.done(step, *self._note(step.name, step.uid, BERTH, None))

    def _note(self, name: str, uid: str, key: str, value: str | None) -> list[Barrier]:
        change = {"metadata": {"annotations": {key: value}}}
        written = self._context.client.patch(kinds.NAMESPACE, name, change, uid=uid)
        return [written.barrier] if written.barrier else []


def _harbour(method: str, name: str) -> Any:
    request = urllib.request.Request(f"{os.environ[HARBOUR]}/berths/{name}", method=method)
    trust = ssl.create_default_context(cafile=os.environ[TRUST])
    with urllib.request.urlopen(request, timeout=5, context=trust) as answer:
        return json.load(answer)


class Listener:
    """The port of the layer's own, as long as the process lives; `heard` is of the term that runs."""

    def __init__(self) -> None:
        self.heard = _nobody
        host, _, port = os.environ[LISTEN].rpartition(":")
        server = ThreadingHTTPServer((host, int(port)), _handler(self))
        threading.Thread(target=server.serve_forever, name="wishes", daemon=True).start()


def _nobody(name: str, *, wanted: bool) -> None:
    raise NotLeading(f"nobody hears that {name} {'wants' if wanted else 'leaves'} a berth")


def _handler(listener: Listener) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self._hear(wanted=True)

        def do_DELETE(self) -> None:
            self._hear(wanted=False)

        def _hear(self, *, wanted: bool) -> None:
            status = 200
            try:
                listener.heard(self.path.rpartition("/")[2], wanted=wanted)
            except (KubeError, NotLeading):
                status = 503
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
            """The operator's log is for the operator."""

    return Handler


def wakes(kind: Kind, old: Row | None, new: Row | None) -> Iterable[Hashable]:
    return [new.name] if isinstance(new, Namespace) else []


RULES = ({"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "patch"]},)
PART = LayerPart(NAME, (Watch(kinds.NAMESPACE),), wakes, Berths, RULES)
