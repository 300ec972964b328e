"""What the loop remembers of one key between its rounds; all of it may be lost at the cost of a retry."""

from __future__ import annotations

from collections.abc import Iterable

from shiplift.engine.barrier import Barrier
from shiplift.engine.step import Outcomes, Step


class Memory:
    """Outcomes, what the store has to show before the next round, and which steps keep coming back."""

    def __init__(self) -> None:
        self.outcomes = Outcomes()
        self.barriers: tuple[Barrier, ...] = ()
        self.settle_by = 0.0
        self._taken: dict[str, tuple[Step, int]] = {}

    def count(self, step: Step) -> int:
        """How many times in a row this very step has been taken."""
        before, times = self._taken.get(step.key, (None, 0))
        times = times + 1 if before == step else 1
        self._taken[step.key] = (step, times)
        return times

    def forget_steps_but(self, steps: Iterable[Step]) -> None:
        keys = {step.key for step in steps}
        self._taken = {key: taken for key, taken in self._taken.items() if key in keys}
