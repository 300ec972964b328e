"""A run of bootstrap: look at all machines, decide, act, tell; until nothing is left to do or to wait for.

Nothing of it is kept on this computer: a run that is killed is gone on with by the next one, from what is on
the machines.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from shiplift.engine.step import Outcome, Outcomes
from shiplift.machines.act import Actor
from shiplift.machines.decide.decision import decide
from shiplift.machines.hosts import Clock, Hosts
from shiplift.machines.model import Bootstrapping, View
from shiplift.machines.pools import Wanted
from shiplift.machines.ssh.door import Door

_AT_ONCE = 16
_PAUSE, _AFTER_TROUBLE = 1.0, 3.0
Tell = Callable[[str], None]


class Bootstrap:
    """One run."""

    def __init__(self, door: Door, wanted: Wanted, clock: Clock) -> None:
        self.run = secrets.token_hex(8)
        self._fresh = secrets.token_hex(16)
        self._wanted = wanted
        self._clock = clock
        self._hosts = Hosts(door, wanted)
        self._actor = Actor(door, wanted, self.run, clock=clock)
        self._outcomes = Outcomes()

    def look(self) -> View:
        hosts = self._hosts.look(self._clock)
        return View(
            wanted=self._wanted,
            hosts=hosts,
            run=self.run,
            fresh=self._fresh,
            outcomes=self._outcomes,
            api_silent_since=self._hosts.api_silent_since,
        )

    def until_over(self, tell: Tell) -> Bootstrapping:
        """The last decision: complete, or why it is not."""
        pool = ThreadPoolExecutor(_AT_ONCE, "bootstrap")
        try:
            return self._rounds(pool, tell)
        finally:
            # who interrupts does not wait for answers: whatever is on its way is on record
            pool.shutdown(wait=False, cancel_futures=True)

    def _rounds(self, pool: ThreadPoolExecutor, tell: Tell) -> Bootstrapping:
        said: dict[str, str] = {}
        while True:
            view = self.look()
            decision = decide(view, self._clock())
            _tell_changes(decision, said, tell)
            if decision.over:
                return decision
            outcomes = self._acted(pool, decision, view)
            time.sleep(_pause(outcomes))

    def credentials(self) -> str:
        """Those of an administrator, from a control plane that has some; empty where none answers."""
        planes = [one.name for one in self._wanted.candidates if one.control_plane]
        return next((text for name in planes if (text := self._actor.fetch(name))), "")

    def _acted(self, pool: ThreadPoolExecutor, decision: Bootstrapping, view: View) -> list[Outcome]:
        """All steps of a round, side by side: none depends on another. Who is left alone holds nobody up."""
        steps = [one for one in decision.steps if not self._actor.waits(one)]
        found = list(pool.map(partial(self._actor.act, view=view), steps))
        self._outcomes = self._outcomes.remember(found, self._clock())
        return found


def _pause(outcomes: list[Outcome]) -> float:
    """None after what went well: the next round has something to do."""
    if not outcomes:
        return _PAUSE
    return 0.0 if all(one.ok for one in outcomes) else _AFTER_TROUBLE


def _tell_changes(decision: Bootstrapping, said: dict[str, str], tell: Tell) -> None:
    """A line when something new is to be said of a machine."""
    for one in decision.told:
        line = one.message
        if said.get(one.machine.name) != line:
            said[one.machine.name] = line
            tell(f"{one.machine.name}: {line}")
    if not decision.told and not decision.over and said.get("") != decision.message:
        said[""] = decision.message
        tell(decision.message)
