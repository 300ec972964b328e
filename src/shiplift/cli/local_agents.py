"""`shiplift local agents`: plays the agents of a local cluster's simulated nodes, until Ctrl-C."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from shiplift.cli.output import configure_logs, say, terminable
from shiplift.local.errors import LocalError

if TYPE_CHECKING:
    from shiplift.local.cluster import Cluster

app = App(name="agents", help="Play the agents of the simulated nodes, until Ctrl-C.")
_TIME = re.compile(r"(?P<number>\d{1,5}(\.\d{1,3})?)(?P<unit>ms|s|m)", re.ASCII)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}
_BETWEEN_LOOKS = 0.5


@app.default
def agents(
    *,
    name: Annotated[str, Parameter(name=["--name", "-n"], help="The cluster.")] = "default",
    change: Annotated[str, Parameter(help="How long an order takes, as 2s or 500ms.")] = "2s",
    reboot: Annotated[str, Parameter(help="How long a restart takes.")] = "1s",
    lease: Annotated[
        str, Parameter(help="How often a node to be changed renews its Lease; 0s leaves that to kwok.")
    ] = "1s",
    heartbeat: Annotated[str, Parameter(help="How often agents at rest say that they live.")] = "60s",
) -> None:
    """Play the agents of the simulated nodes, until Ctrl-C.

    They change nodes as real agents do, and write as the nodes themselves. The annotation
    simulated.shiplift.dev/fails of a node lets its next change go wrong.
    """
    from shiplift.local.agents import Agents, Pace, Timing

    pace = Pace(_seconds("--change", change), _seconds("--reboot", reboot))
    timing = Timing(_seconds("--heartbeat", heartbeat), _seconds("--lease", lease))
    if timing.heartbeat < 1:
        raise LocalError(f"--heartbeat {heartbeat!r} is too often", "1s or more")
    configure_logs()
    with terminable():
        cluster = _running(name)
        with Agents(cluster.credentials(), pace, timing, say) as played:
            say(f"playing the agents of {len(played.names)} simulated nodes; Ctrl-C ends it")
            _stay(cluster)


def _stay(cluster: Cluster) -> None:
    """Until Ctrl-C, or until something of the cluster dies."""
    while not (dead := cluster.state.dead):
        time.sleep(_BETWEEN_LOOKS)
    raise LocalError(f"{dead[0]} of cluster {cluster.name} has stopped", "shiplift local up starts it")


def _running(name: str) -> Cluster:
    from shiplift.local.cluster import Cluster

    cluster = Cluster(name)
    if dead := cluster.state.dead:
        raise LocalError(
            f"{dead[0]} of cluster {name} does not run", f"shiplift local up --name {name} starts it"
        )
    return cluster


def _seconds(option: str, text: str) -> float:
    found = _TIME.fullmatch(text)
    if found is None:
        raise LocalError(f"{option} {text!r} is no time", "for example 2s, 500ms or 1m")
    return float(found["number"]) * _UNITS[found["unit"]]
