"""`shiplift local`: a real Kubernetes on this computer. Data on stdout, all else on stderr."""

from __future__ import annotations

import contextlib
import shlex
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import App, Parameter

from shiplift.cli import local_agents, local_machines, local_nodes
from shiplift.cli.local_nodes import Output, check_version
from shiplift.cli.output import terminable
from shiplift.local.components import Settings
from shiplift.local.errors import LocalError

if TYPE_CHECKING:
    from shiplift.local.cluster import Cluster
    from shiplift.local.machines import Machines

app = App(name="local", help="A real Kubernetes on this computer.")
Name = Annotated[str, Parameter(name=["--name", "-n"])]
_PLAIN = Parameter(show_default=False, negative="")
_NODES, _VERSION = 6, "v1.36.3"
_SUPPORTED = ("1.33", "1.34", "1.35", "1.36")


class Report(msgspec.Struct, frozen=True):
    """What `status` says of one cluster."""

    name: str
    running: bool
    server: str
    kubeconfig: str
    components: dict[str, str]

    def line(self) -> str:
        wrong = [f"{name} {state}" for name, state in self.components.items() if state != "healthy"]
        return f"{self.name}\t{'running' if self.running else ', '.join(wrong)}\t{self.server}\n"


@app.command
def up(  # noqa: PLR0913  one flag each
    *,
    name: Name = "default",
    nodes: int | None = None,
    node_version: str | None = None,
    emulate: Annotated[str, _PLAIN] = "",
    audit: Annotated[bool, _PLAIN] = False,
    fsync: Annotated[bool, _PLAIN] = False,
    port: Annotated[int, _PLAIN] = 0,
    foreground: Annotated[bool, _PLAIN] = False,
    machines: Annotated[int | None, _PLAIN] = None,
    kubernetes: Annotated[str, _PLAIN] = "",
    bare: Annotated[bool, _PLAIN] = False,
) -> None:
    """Make a cluster, or start what is missing of it.

    Parameters
    ----------
    name
        Clusters of different names run side by side.
    nodes
        How many simulated nodes it has; 6 for a new cluster.
    node_version
        The kubelet version that they report; v1.36.3 if not given.
    emulate
        Serve what this older Kubernetes serves, such as 1.33; its version stays 1.36.3.
    audit
        Keep an audit log beside the other logs.
    fsync
        Write to disk with care, as production does; slower.
    port
        The API server's port; any free one if not given.
    foreground
        Stay until Ctrl-C, then end the cluster.
    machines
        Instead of simulated nodes, this many real machines, a cluster by kubeadm; needs root.
    kubernetes
        Of which version that cluster is: v1.36.3, v1.35.4, or another patch of these minors.
    bare
        No cluster: the machines alone; with --kubernetes their apt finds its packages.
    """
    with _terminable():
        _check(nodes, node_version, emulate, port)
        others = {"--nodes": nodes, "--node-version": node_version, "--emulate": emulate, "--audit": audit}
        others |= {"--fsync": fsync, "--port": port, "--foreground": foreground}
        local_machines.check_alone(machines, {"--kubernetes": kubernetes, "--bare": bare}, others)
        if machines is not None or local_machines.find(name):
            return local_machines.up(name, machines, kubernetes, bare=bare)
        settings = Settings(emulate=emulate, audit=audit, fsync=fsync, port=port)
        began = time.monotonic()
        cluster = _up(name, settings, nodes, node_version)
        _say(f"cluster {name} is up after {time.monotonic() - began:.1f} s")
        if foreground:
            _stay(cluster)
        else:
            suffix = "" if name == "default" else f" --name {name}"
            _say(f'hint: eval "$(shiplift local env{suffix})" lets kubectl and shiplift find it')
        return None


@app.command
def status(
    *, name: Name | None = None, output: Annotated[Output, Parameter(name=["--output", "-o"])] = Output.TEXT
) -> None:
    """Say which clusters there are and how they are; exit 1 if one is not whole.

    Parameters
    ----------
    name
        Only this cluster.
    output
        Lines of name, state and address, or JSON.
    """
    with _terminable():
        from shiplift.local.cluster import names

        reports = [_report(one) for one in ([name] if name else sorted({*names(), *local_machines.names()}))]
        if output is Output.JSON:
            sys.stdout.write(msgspec.json.format(msgspec.json.encode(reports), indent=2).decode() + "\n")
        else:
            sys.stdout.writelines(report.line() for report in reports)
        if not reports:
            _say("there is no cluster; shiplift local up starts one")
        if broken := [report.name for report in reports if not report.running]:
            raise LocalError(
                f"not whole: {', '.join(broken)}",
                f"shiplift local up --name {broken[0]} starts what is missing",
            )


@app.command
def kubeconfig(*, name: Name = "default") -> None:
    """Print the path of a cluster's kubeconfig.

    Parameters
    ----------
    name
        The cluster.
    """
    with _terminable():
        if machines := local_machines.find(name):
            path = local_machines.kubeconfig(machines)
        else:
            cluster = _cluster(name)
            _, path = cluster.state, cluster.kubeconfig
        sys.stdout.write(f"{path}\n")


@app.command
def env(*, name: Name = "default") -> None:
    """Print what a shell needs to find a cluster and its kubectl.

    It is for `eval "$(shiplift local env)"`.

    Parameters
    ----------
    name
        The cluster.
    """
    with _terminable():
        if machines := local_machines.find(name):
            path, kubectl = local_machines.environment(machines)
        else:
            cluster = _cluster(name)
            path, kubectl = cluster.kubeconfig, Path(cluster.state.programs["kubectl"]).parent
        sys.stdout.write(f"export KUBECONFIG={shlex.quote(str(path))}\n")
        sys.stdout.write(f'export PATH={shlex.quote(str(kubectl))}:"$PATH"\n')


@app.command
def down(*, name: Name = "default") -> None:
    """End a cluster and forget it.

    Parameters
    ----------
    name
        The cluster.
    """
    with _terminable():
        began = time.monotonic()
        machines = local_machines.find(name)
        if machines.down() if machines else _cluster(name).down():
            _say(f"cluster {name} is down after {time.monotonic() - began:.1f} s")
        else:
            _say(f"there is no cluster {name}")


@app.command
def ssh(
    machine: str,
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    name: Name = "default",
) -> None:
    """Log in on a machine as root, or run a command there.

    Parameters
    ----------
    machine
        Its name, such as m1.
    command
        What is run there; without it, a shell.
    name
        The machines' name.
    """
    local_machines.ssh(_machines(name), machine, command)


@app.command
def key(*, name: Name = "default") -> None:
    """Print the path of the key that logs in on every machine.

    Parameters
    ----------
    name
        The machines' name.
    """
    sys.stdout.write(f"{_machines(name).key}\n")


@app.command
def pools(*, name: Name = "default", kubernetes: str = _VERSION) -> None:
    """Print the file with which `shiplift bootstrap` makes a cluster of bare machines.

    Parameters
    ----------
    name
        The machines' name.
    kubernetes
        Of which version the cluster shall be.
    """
    sys.stdout.write(local_machines.pools(_machines(name), kubernetes))


@app.command
def programs(*, machines: Annotated[bool, _PLAIN] = False, kubernetes: Annotated[str, _PLAIN] = "") -> None:
    """Get the programs that clusters run, if they are not here yet, and print where they are.

    Parameters
    ----------
    machines
        Those that real machines run: kubelet, kubeadm and kube-proxy too.
    kubernetes
        With --machines, of which version: v1.36.3, v1.35.4, or another patch of these minors.
    """
    with _terminable():
        if kubernetes and not machines:
            raise LocalError(
                "--kubernetes is for --machines", "the control plane of simulated nodes is always v1.36.3"
            )
        sys.stdout.writelines(f"{path}\n" for path in _programs(machines, kubernetes))


app.command(local_nodes.app)
app.command(local_agents.app)


def _machines(name: str) -> Machines:
    if machines := local_machines.find(name):
        return machines
    raise LocalError(
        f"there are no machines {name!r}", f"shiplift local up --machines 2 --bare --name {name} makes them"
    )


def _programs(machines: bool, kubernetes: str) -> list[str]:
    if machines:
        return local_machines.programs(kubernetes)
    from shiplift.local import assets

    return list(assets.find(_say).values())


def _check(nodes: int | None, node_version: str | None, emulate: str, port: int) -> None:
    if nodes is not None and not 0 <= nodes <= 10_000:
        raise LocalError(f"{nodes} is no number of nodes", "from 0 to 10000")
    if node_version is not None:
        check_version(node_version)
    if emulate and emulate not in _SUPPORTED:
        raise LocalError(f"{emulate!r} cannot be emulated", f"one of {', '.join(_SUPPORTED)}")
    if port and not 1024 <= port <= 65535:
        raise LocalError(f"{port} cannot be the port", "from 1024 to 65535, or leave it out")


def _up(name: str, settings: Settings, nodes: int | None, node_version: str | None) -> Cluster:
    from shiplift.local.nodes import Pool

    cluster = _cluster(name)
    if nodes is None:
        nodes = 0 if cluster.exists else _NODES
    pools = [Pool(count=nodes, version=node_version or _VERSION)] if nodes else []
    # without a wish of its own, up repairs whatever the cluster was
    cluster.up(None if settings == Settings() else settings, _say, pools)
    return cluster


def _cluster(name: str) -> Cluster:
    from shiplift.local.cluster import Cluster

    return Cluster(name)


def _report(name: str) -> Report:
    if machines := local_machines.find(name):
        states = local_machines.states(machines)
        whole = all(state == "healthy" for state in states.values())
        kubeconfig = str(machines.kubeconfig) if machines.state.kubernetes else ""
        return Report(name, whole, local_machines.server(machines), kubeconfig, states)
    return _cluster_report(_cluster(name))


def _cluster_report(cluster: Cluster) -> Report:
    known, health = cluster.state, cluster.health()
    states = {
        component.value: "healthy"
        if healthy
        else "not healthy"
        if known.running(component)
        else "not running"
        for component, healthy in health.items()
    }
    server = f"https://127.0.0.1:{known.ports.api}"
    return Report(cluster.name, all(health.values()), server, str(cluster.kubeconfig), states)


def _stay(cluster: Cluster) -> None:
    """Until Ctrl-C, or until something of the cluster dies."""
    _say("Ctrl-C ends it")
    try:
        while not (dead := cluster.state.dead):
            threading.Event().wait(0.5)
        raise LocalError(f"{dead[0]} has stopped", "the cluster was ended; shiplift local up makes it anew")
    finally:
        cluster.down()


@contextlib.contextmanager
def _terminable() -> Generator[None]:
    """Whoever ends a command is told that it was ended whole."""
    with terminable():
        try:
            yield
        except KeyboardInterrupt:
            _say("nothing was left behind")
            raise


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
