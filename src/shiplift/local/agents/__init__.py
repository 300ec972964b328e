"""The agents of a local cluster's simulated nodes, all played by one program.

Each is the agent's own loop, with hands on a machine that there is not: what it would change is changed in
the Node's status, after times that were set. Every write is made in the node's own name, so that it passes
Node authorisation, NodeRestriction and our policies as an agent's write would.
"""

from shiplift.local.agents.failures import FAILS, Failure
from shiplift.local.agents.machine import Pace
from shiplift.local.agents.node import Timing
from shiplift.local.agents.program import Agents

__all__ = ["FAILS", "Agents", "Failure", "Pace", "Timing"]
