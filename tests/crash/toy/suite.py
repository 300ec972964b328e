"""The toy layer under the crash harness: a provider and a listener whose calls are crash points too."""

from __future__ import annotations

import contextlib
import urllib.request
from collections.abc import Mapping

from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube.part import LayerPart
from tests.crash.facts import Json, kind, notes
from tests.crash.mutants import Mutant
from tests.crash.outside import Listener, Upstream
from tests.crash.plans import Crash, CrashPoint, Spot
from tests.crash.recorder import Change, Key, State, Trace, moments
from tests.crash.stage import Stage
from tests.crash.suite import Flat, Player, Scenario, Suite
from tests.crash.toy.harbour import Harbour
from tests.crash.toy.layer import BERTH, HARBOUR, LISTEN, PART, TRUST, WISH

LEAVES, STAYS = "leaves", "stays"
OUTSIDE = (Upstream("harbour", HARBOUR, trust=TRUST), Listener("wishes", LISTEN))
GIVEN_BACK = Spot("harbour: DELETE berths", LEAVES)
FORGOTTEN = Spot("patch namespaces [-annotations]", LEAVES, 2)
"""The first time is the wish that is taken back."""

SCENARIOS = (
    Scenario(name="berths", outside=OUTSIDE),
    Scenario(name="beside-workloads", outside=OUTSIDE, layers=("toy", "workloads"), repeats="berths"),
)
MUTANTS = (
    Mutant(
        "berth forgotten before it is given back",
        "a crash in between leaves a berth that nobody knows of",
        "crash/toy/layer.py",
        """        _harbour("DELETE", step.name)
        return Outcome.done(step, *self._note(step.name, step.uid, BERTH, None))""",
        """        seen = self._note(step.name, step.uid, BERTH, None)
        _harbour("DELETE", step.name)
        return Outcome.done(step, *seen)""",
        tuple(("berths", Crash(FORGOTTEN, point)) for point in CrashPoint),
        package="tests",
    ),
)


class Wishes:
    """A harbour, and a user who wishes for two berths and gives one of them back."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._harbour = Harbour()
        self._said: set[tuple[str, str]] = set()

    @property
    def upstreams(self) -> Mapping[str, str]:
        return {"harbour": self._harbour.address}

    def play(self, state: State) -> None:
        for name in (LEAVES, STAYS):
            self._say("POST", name)
        if all(BERTH in notes(_space(state, name)) for name in (LEAVES, STAYS)):
            self._say("DELETE", LEAVES)

    def _say(self, method: str, name: str) -> None:
        """Once, and again as long as nobody has said that it was heard."""
        if (method, name) in self._said:
            return
        request = urllib.request.Request(f"{self._stage.url('wishes')}/wishes/{name}", method=method)
        with contextlib.suppress(OSError), urllib.request.urlopen(request, timeout=20):
            self._said.add((method, name))

    def over(self, state: State) -> bool:
        left = _space(state, LEAVES)
        return ("DELETE", LEAVES) in self._said and not {WISH, BERTH} & notes(left).keys()

    def complaints(self) -> list[str]:
        return []

    def beyond(self) -> State:
        return {Key("Berth", "", name): {"metadata": {"name": name}} for name in self._harbour.berths}

    def close(self) -> None:
        self._harbour.close()


def _space(state: State, name: str) -> Json:
    return state[Key("Namespace", "", name)]


class Toy:
    """What the harness asks of it."""

    @property
    def part(self) -> LayerPart:
        return PART

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        return SCENARIOS

    @property
    def mutants(self) -> tuple[Mutant, ...]:
        return MUTANTS

    @property
    def watched(self) -> tuple[Kind, ...]:
        return (kinds.NAMESPACE,)

    def build(self, stage: Stage, scenario: Scenario) -> None:
        stage.create_namespaces((LEAVES, STAYS))

    def playing(self, stage: Stage, scenario: Scenario) -> Player:
        return Wishes(stage)

    def broken(self, scenario: Scenario, trace: Trace) -> list[str]:
        """No namespace ever has another berth than its first."""
        found: dict[str, set[str]] = {}
        for change, _ in moments(trace):
            found.setdefault(change.key.name, set()).update(
                value for key, value in notes(change.object).items() if key == BERTH
            )
        return [f"{name} had the berths {sorted(many)}" for name, many in found.items() if len(many) > 1]

    def residue(self, state: State) -> list[str]:
        noted = {one["metadata"]["name"] for one in kind(state, "Namespace") if BERTH in notes(one)}
        given = {key.name for key in state if key.kind == "Berth"}
        return [f"berth of {name} is left" for name in sorted(given - noted)]

    def end(self, scenario: Scenario, state: State) -> Flat:
        spaces = {name: sorted(notes(_space(state, name))) for name in (LEAVES, STAYS)}
        return {**spaces, "berths": sorted(key.name for key in state if key.kind == "Berth")}

    def counted_as(self, change: Change) -> str:
        return str(change.key)

    def most(self, scenario: Scenario, name: str) -> int:
        return 0

    def told(self, state: State) -> str:
        return str({name: notes(_space(state, name)) for name in (LEAVES, STAYS)})

    def is_work(self, step: str) -> bool:
        return step.startswith("harbour: ")

    def alike(self, scenario: Scenario, about: str) -> str:
        return about


SUITE: Suite[Scenario] = Toy()
