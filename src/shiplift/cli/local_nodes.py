"""`shiplift local nodes`: simulated nodes of a local cluster; more of them, of any version, at any time."""

from __future__ import annotations

import re
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import App, Parameter

from shiplift.cli.output import say, terminable
from shiplift.local.errors import LocalError

if TYPE_CHECKING:
    from shiplift.local.cluster import Cluster
    from shiplift.local.nodes import Nodes

# `--version` is the nodes' here
app = App(name="nodes", help="The simulated nodes of a cluster.", version_flags=())
Name = Annotated[str, Parameter(name=["--name", "-n"], help="The cluster.")]
OfPool = Annotated[str, Parameter(name=["--pool"], show_default=False, help="All nodes of this pool.")]
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?")
_VERSION = re.compile(r"v\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]{1,40})?", re.ASCII)
_QUANTITY = re.compile(r"[0-9]{1,12}(m|k|M|G|T|Ki|Mi|Gi|Ti)?", re.ASCII)
_TAINT = re.compile(
    r"(?P<key>[A-Za-z0-9][-A-Za-z0-9_./]{0,252})(=(?P<value>[-A-Za-z0-9_.]{0,63}))?"
    r":(?P<effect>NoSchedule|PreferNoSchedule|NoExecute)",
    re.ASCII,
)
_PLAIN = "use lower-case letters, digits and hyphens"
_MOST_PODS = 1000


class Output(StrEnum):
    """How data is written."""

    TEXT = "text"
    WIDE = "wide"
    JSON = "json"


class Said(StrEnum):
    """What a node says of itself; one that is silent says nothing."""

    READY = "ready"
    ILL = "ill"
    SILENT = "silent"


class Architecture(StrEnum):
    """For which processor images have to be."""

    AMD64 = "amd64"
    ARM64 = "arm64"


@app.command
def add(  # noqa: PLR0913 - what a node can be
    count: Annotated[int, Parameter(help="How many.")],
    /,
    *,
    version: Annotated[str, Parameter(help="The kubelet version that they report, such as v1.36.3.")],
    name: Name = "default",
    pool: Annotated[str, Parameter(help="What they are called, before the number.")] = "node",
    zone: Annotated[
        tuple[str, ...],
        Parameter(
            help="Their zones, used in turn: --zone a --zone b. Default: zone-a, zone-b, zone-c.",
            negative="",
            show_default=False,
        ),
    ] = ("zone-a", "zone-b", "zone-c"),
    arch: Annotated[Architecture, Parameter(help="Their architecture.")] = Architecture.AMD64,
    cpu: Annotated[str, Parameter(help="The CPUs of each.")] = "8",
    memory: Annotated[str, Parameter(help="The memory of each.")] = "32Gi",
    pods: Annotated[int, Parameter(help="How many pods each takes.")] = 110,
    taint: Annotated[
        tuple[str, ...],
        Parameter(help="A taint of each: key=value:NoSchedule.", negative="", show_default=False),
    ] = (),
) -> None:
    """Make new nodes beside those that are there, and wait until they take pods."""
    from shiplift.local.nodes import Pool

    if not 1 <= count <= _most():
        raise LocalError(f"{count} is no number of nodes", f"from 1 to {_most()}")
    if not 1 <= pods <= _MOST_PODS:
        raise LocalError(f"{pods} is no number of pods", f"from 1 to {_MOST_PODS}")
    wanted = Pool(
        _checked(pool, _LABEL, "the name of nodes"),
        count,
        check_version(version),
        tuple(_checked(one, _LABEL, "the name of a zone") for one in zone),
        arch.value,
        taints=tuple(map(_taint, taint)),
        cpu=_checked(cpu, _QUANTITY, "a number of CPUs", "for example 8 or 500m"),
        memory=_checked(memory, _QUANTITY, "an amount of memory", "for example 32Gi"),
        pods=pods,
    )
    with terminable():
        added = _running(name).nodes.add_more(wanted, say).names()
    say(f"added {_which(added)}, {version}")


@app.command
def remove(
    *nodes: Annotated[str, Parameter(help="Their names.")],
    name: Name = "default",
    pool: OfPool = "",
) -> None:
    """Delete nodes, as when a machine is gone: their pods are collected a moment later."""
    with terminable():
        there = _running(name).nodes
        chosen = _chosen(there, nodes, pool)
        there.remove(*chosen)
    say(f"removed {_which(chosen)}")


@app.command(name="version")
def set_version(
    version: Annotated[str, Parameter(help="The kubelet version that they report from now on.")],
    /,
    *nodes: Annotated[str, Parameter(help="Their names.")],
    name: Name = "default",
    pool: OfPool = "",
) -> None:
    """Let nodes report another version, as after an upgrade in place."""
    check_version(version)
    with terminable():
        there = _running(name).nodes
        chosen = _chosen(there, nodes, pool)
        for node in chosen:
            there.set_version(node, version)
    say(f"{_which(chosen)}: {version}")


@app.command
def ready(
    state: Annotated[Said, Parameter(help="What they say of themselves from now on.")],
    /,
    *nodes: Annotated[str, Parameter(help="Their names.")],
    name: Name = "default",
    pool: OfPool = "",
) -> None:
    """Let nodes fall ill, fall silent, or be well again; the condition follows in a moment."""
    from shiplift.local.nodes import Ready

    wanted = {Said.READY: Ready.TRUE, Said.ILL: Ready.FALSE, Said.SILENT: Ready.UNKNOWN}[state]
    with terminable():
        there = _running(name).nodes
        chosen = _chosen(there, nodes, pool)
        for node in chosen:
            there.set_ready(node, wanted)
    say(f"{_which(chosen)}: {state}")


@app.command(name="list")
def list_nodes(
    *,
    name: Name = "default",
    output: Annotated[
        Output,
        Parameter(
            name=["--output", "-o"],
            help="Lines of name, version and state; wide adds pool, zone, architecture, CPUs/memory/pods and"
            " taints; or JSON. Where nobody reads them on a terminal: without a heading, with tabs.",
        ),
    ] = Output.TEXT,
) -> None:
    """Print the nodes: name, version, and whether they are Ready, NotReady or cordoned."""
    from shiplift.cli.node_rows import node_row, table
    from shiplift.view.look import natural

    with terminable():
        nodes = sorted(map(node_row, _running(name).nodes.list()), key=lambda node: natural(node.name))
    if output is Output.JSON:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(nodes), indent=2).decode() + "\n")
    else:
        sys.stdout.write(table(nodes, wide=output is Output.WIDE, aligned=sys.stdout.isatty()))


def check_version(text: str) -> str:
    """An error where no kubelet would report this."""
    return _checked(text, _VERSION, "a kubelet version", "for example v1.35.4")


def _checked(text: str, shape: re.Pattern[str], what: str, hint: str = _PLAIN) -> str:
    if not shape.fullmatch(text):
        raise LocalError(f"{text!r} is not {what}", hint)
    return text


def _taint(text: str) -> dict[str, str]:
    if not (found := _TAINT.fullmatch(text)):
        raise LocalError(f"{text!r} is not a taint", "for example dedicated=gpu:NoSchedule")
    return {"key": found["key"], "value": found["value"] or "", "effect": found["effect"]}


def _chosen(there: Nodes, names: tuple[str, ...], pool: str) -> list[str]:
    if bool(names) == bool(pool):
        raise LocalError("which nodes?", "name them, or give --pool for all of a pool")
    return there.chosen(names, pool)


def _which(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


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
