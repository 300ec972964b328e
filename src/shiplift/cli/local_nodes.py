"""`shiplift local nodes`: simulated nodes of a local cluster; more of them, of any version, at any time."""

from __future__ import annotations

import re
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from cyclopts import App, Parameter

from shiplift.cli.output import say, terminable
from shiplift.local.errors import LocalError

if TYPE_CHECKING:
    from shiplift.local.cluster import Cluster

# `--version` is the nodes' here
app = App(name="nodes", help="The simulated nodes of a cluster.", version_flags=())
Name = Annotated[str, Parameter(name=["--name", "-n"], help="The cluster.")]
_POOL = re.compile(r"[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?")


class Output(StrEnum):
    """How data is written."""

    TEXT = "text"
    JSON = "json"


class NodeState(StrEnum):
    """How a node is; the worst that holds."""

    READY = "Ready"
    CORDONED = "cordoned"
    NOT_READY = "NotReady"


class Node(msgspec.Struct, frozen=True):
    """What `list` says of one node."""

    name: str
    version: str
    state: NodeState

    def line(self) -> str:
        return f"{self.name}\t{self.version}\t{self.state}\n"


@app.command
def add(
    count: Annotated[int, Parameter(help="How many.")],
    /,
    *,
    version: Annotated[str, Parameter(help="The kubelet version that they report, such as v1.36.3.")],
    name: Name = "default",
    pool: Annotated[str, Parameter(help="What they are called, before the number.")] = "node",
) -> None:
    """Make new nodes beside those that are there, and wait until they take pods."""
    check_version(version)
    if not _POOL.fullmatch(pool):
        raise LocalError(
            f"{pool!r} cannot be the name of nodes", "use lower-case letters, digits and hyphens"
        )
    if not 1 <= count <= _most():
        raise LocalError(f"{count} is no number of nodes", f"from 1 to {_most()}")
    with terminable():
        added = _running(name).nodes.add_more(pool, count, version, say).names()
    which = added[0] if len(added) == 1 else f"{added[0]} to {added[-1]}"
    say(f"added {which}, {version}")


@app.command(name="list")
def list_nodes(
    *,
    name: Name = "default",
    output: Annotated[
        Output, Parameter(name=["--output", "-o"], help="Lines of name, version and state, or JSON.")
    ] = Output.TEXT,
) -> None:
    """Print the nodes: name, version, and whether they are Ready, NotReady or cordoned."""
    from shiplift.view.look import natural

    with terminable():
        nodes = sorted(map(_node, _running(name).nodes.list()), key=lambda node: natural(node.name))
    if output is Output.JSON:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(nodes), indent=2).decode() + "\n")
    else:
        sys.stdout.writelines(node.line() for node in nodes)


def check_version(text: str) -> None:
    """An error where no kubelet would report this."""
    if not re.fullmatch(r"v\d+\.\d+\.\d+", text, re.ASCII):
        raise LocalError(f"{text!r} is no kubelet version", "for example v1.35.4")


def _node(found: dict[str, Any]) -> Node:
    from shiplift.local.nodes import Ready, readiness

    if readiness(found) is not Ready.TRUE:
        state = NodeState.NOT_READY
    else:
        state = NodeState.CORDONED if found["spec"].get("unschedulable") else NodeState.READY
    return Node(found["metadata"]["name"], found["status"]["nodeInfo"]["kubeletVersion"], state)


def _running(name: str) -> Cluster:
    from shiplift.local.cluster import Cluster

    cluster = Cluster(name)
    if dead := cluster.state.dead:
        raise LocalError(
            f"{dead[0]} of cluster {name} does not run", f"shiplift local up --name {name} starts it"
        )
    return cluster


def _most() -> int:
    from shiplift.local.nodes import MOST

    return MOST
