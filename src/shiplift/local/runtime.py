"""Starts and stops the components of one cluster in order, each known to be healthy before the next."""

from __future__ import annotations

import errno
import re
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from shiplift.local import ports, probe, process, state
from shiplift.local.components import Component, Layout, arguments
from shiplift.local.errors import ComponentStoppedError, LocalError, NoSpaceError, PortTakenError
from shiplift.local.state import State

_START_TIMEOUT = 60.0
# together under the five seconds that `down` may take
_GRACE = {Component.API_SERVER: 1.5, Component.ETCD: 1.0}
_TELLING = re.compile(r"^panic:|\berr=|\bfatal\b|^error:", re.IGNORECASE)
_NEXT_TO_NOTHING = 1 << 20
_FIRST_WAVE = (Component.KWOK, Component.SCHEDULER, Component.CONTROLLERS)


def start(layout: Layout, known: State, component: Component) -> State:
    """Start one component and write its process down; not yet healthy."""
    _check_ports(known, component)
    program = Path(known.programs[component])
    command: list[str | Path] = [program, *arguments(component, layout, known.settings, known.ports)]
    # no Ctrl-C may come between a process and its being written down
    with process.signals_held():
        started = _spawn(command, layout, component, known.settings.environment)
        known = msgspec.structs.replace(known, processes={**known.processes, component: started})
        try:
            state.write(layout.folder, known)
        except BaseException:
            process.stop([started], 1.0)
            raise
    return known


def _spawn(
    command: list[str | Path], layout: Layout, component: Component, environment: dict[str, str]
) -> process.Process:
    try:
        return process.spawn(command, layout.log(component), layout.folder, environment)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        raise LocalError(
            f"cannot start {command[0]}: {error.strerror}", "is it a program for this computer?"
        ) from error


def wait_healthy(layout: Layout, known: State, component: Component) -> None:
    """Until the component says that it is healthy; an error as soon as it has stopped."""
    wait_until(layout, known, lambda: is_healthy(layout, known, component), f"{component} to be healthy")


def wait_until(
    layout: Layout, known: State, done: Callable[[], bool], what: str, timeout: float = _START_TIMEOUT
) -> None:
    """Look again and again; an error when a component stops meanwhile, or time is up."""
    deadline = time.monotonic() + timeout
    while not done():
        for component, started in known.processes.items():
            if not started.alive:
                raise _why_stopped(layout, component)
        if time.monotonic() > deadline:
            raise LocalError(f"waited {timeout:.0f} s for {what}", f"the logs may tell why: {layout.logs}")
        time.sleep(0.05)


def is_healthy(layout: Layout, known: State, component: Component) -> bool:
    """Alive and, where it can be asked, healthy by its own word."""
    if not known.running(component):
        return False
    pki = layout.pki
    match component:
        case Component.ETCD:
            context = probe.trust(pki / "etcd-ca.crt", pki / "etcd-client.crt")
            return probe.healthy(known.ports.etcd, "/readyz", context)
        case Component.API_SERVER:
            context = probe.trust(pki / "ca.crt", pki / "admin.crt")
            return probe.healthy(known.ports.api, "/readyz", context)
        case Component.CONTROLLERS:
            return probe.healthy(known.ports.controllers, "/healthz", probe.trust(pki / "ca.crt"))
        case Component.SCHEDULER:
            return probe.healthy(known.ports.scheduler, "/healthz", probe.trust(pki / "ca.crt"))
        case Component.KWOK:
            return True


def stop(known: State, components: Iterable[Component] = tuple(Component)) -> None:
    """Users of the API server first, then it, then etcd: else each waits for what is gone already."""
    chosen = {name: known.processes[name] for name in components if name in known.processes}
    process.stop([chosen[name] for name in _FIRST_WAVE if name in chosen], 1.0)
    for name, grace in _GRACE.items():
        if name in chosen:
            process.stop([chosen[name]], grace)


def _check_ports(known: State, component: Component) -> None:
    for port in _listens(known, component):
        if not ports.is_free(port):
            raise PortTakenError(
                f"port {port} of {component} is taken by another process",
                "give another --port, or run shiplift local down and up again: it takes free ports",
            )


def _listens(known: State, component: Component) -> tuple[int, ...]:
    given = known.ports
    return {
        Component.ETCD: (given.etcd, given.etcd_peer),
        Component.API_SERVER: (given.api,),
        Component.CONTROLLERS: (given.controllers,),
        Component.SCHEDULER: (given.scheduler,),
    }.get(component, ())


def _why_stopped(layout: Layout, component: Component) -> LocalError:
    """The reason is in the last lines of its log, unless the disk had no room for them."""
    text = _tail(layout.log(component))
    if "no space left on device" in text or shutil.disk_usage(layout.folder).free < _NEXT_TO_NOTHING:
        return NoSpaceError(layout.folder)
    if "address already in use" in text:
        return PortTakenError(f"a port of {component} was taken by another process", "run the command again")
    return ComponentStoppedError(
        f"{component} stopped while starting: {_reason(text)}", f"its log: {layout.log(component)}"
    )


def _reason(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if _TELLING.search(line)]
    return (telling or lines or ["it wrote nothing"])[-1][:300]


def _tail(log: Path) -> str:
    try:
        return log.read_bytes()[-65536:].decode(errors="replace")
    except FileNotFoundError:
        return ""
