"""Facts in, decisions out: what every layer shares, and the one loop that runs it.

    observe(key, outcomes) -> View      reads only
    decide(view, now) -> Decision       pure
    act(step) -> Outcome                writes only

Values that a layer's signatures need are here; the tools are modules of their own: `backoff`, `budgets`,
`conditions`, `graph`, `ledger`, `pointer`, `probes`, `versions`, `windows`. The loop is not imported from
here, because it is the only part that knows threads and clocks.
"""

from shiplift.engine.barrier import Barrier, Gone, Seen
from shiplift.engine.conditions import Condition, Reason, Statement
from shiplift.engine.decision import Decision, LookAgain, await_change, earliest, requeue
from shiplift.engine.layer import Hooks, Layer, Settings
from shiplift.engine.probes import Probe, Truth
from shiplift.engine.step import Answer, Operation, Outcome, Outcomes, Started, Step

__all__ = [
    "Answer",
    "Barrier",
    "Condition",
    "Decision",
    "Gone",
    "Hooks",
    "Layer",
    "LookAgain",
    "Operation",
    "Outcome",
    "Outcomes",
    "Probe",
    "Reason",
    "Seen",
    "Settings",
    "Started",
    "Statement",
    "Step",
    "Truth",
    "await_change",
    "earliest",
    "requeue",
]
