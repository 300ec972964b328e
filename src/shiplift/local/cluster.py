"""A real Kubernetes control plane on this computer, by name: up, down, and what tests do to it.

Either all of a cluster runs, or `up` has failed and nothing of it does. Whatever happened
to its processes meanwhile, `down` ends them all and `up` starts those that are missing.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from shiplift.local import assets, paths, process, runtime, state
from shiplift.local.components import Component, Layout, Ports, Settings
from shiplift.local.errors import LocalError, NoSpaceError, PortTakenError, disk_errors
from shiplift.local.etcd import Etcd, custom_resources
from shiplift.local.lock import locked
from shiplift.local.ports import free_ports, is_free
from shiplift.local.private import write_private
from shiplift.local.progress import Say, silent
from shiplift.local.state import State

if TYPE_CHECKING:
    from shiplift.kube.client import Client
    from shiplift.kube.credentials import Credentials
    from shiplift.local.nodes import Nodes, Pool


DEFAULT_NAME = "default"
MACHINES = "machines.json"
"""In the folder of a name that machines have (`local.machines`)."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?")
_ATTEMPTS = 3
_LEAST_SPACE = 300 << 20
_SERVED_SECONDS, _SERVED_ANEW_SECONDS = 20.0, 120.0
_LOOK = 0.01


class Cluster:
    """A handle on the cluster of a name; cheap, and any number may exist."""

    def __init__(self, name: str = DEFAULT_NAME, root: Path | None = None) -> None:
        if not _NAME.fullmatch(name):
            raise LocalError(
                f"{name!r} cannot be the name of a cluster", "use lower-case letters, digits and hyphens"
            )
        self.name = name
        self.root = root or paths.clusters_root()
        self.layout = Layout(self.root / name)

    @property
    def kubeconfig(self) -> Path:
        return self.layout.kubeconfig

    @property
    def exists(self) -> bool:
        return state.read(self.layout.folder) is not None

    @property
    def state(self) -> State:
        if known := state.read(self.layout.folder):
            return known
        raise LocalError(
            f"there is no cluster {self.name!r}",
            f"shiplift local up --name {self.name} makes one{_others(self.layout.folder.parent)}",
        )

    def health(self) -> dict[Component, bool]:
        """Each component that should run: is it healthy?"""
        known = self.state
        return {name: runtime.is_healthy(self.layout, known, name) for name in known.settings.components}

    def credentials(self) -> Credentials:
        from shiplift.kube import credentials  # noqa: PLC0415  slow to import, and not needed for up and down

        return credentials.load(self.kubeconfig)

    def client(self) -> Client:
        """A new client; the caller closes it."""
        from shiplift.kube.client import Client  # noqa: PLC0415  as above

        return Client(self.credentials())

    @property
    def nodes(self) -> Nodes:
        from shiplift.local.nodes import Nodes  # noqa: PLC0415  as above

        return Nodes(self)

    @property
    def etcd(self) -> Etcd:
        return Etcd(self.layout, self.state.ports.etcd)

    def up(self, settings: Settings | None = None, say: Say = silent, pools: Sequence[Pool] = ()) -> None:
        """Make the cluster, or start what is missing of it; returns when it can be worked with."""
        with disk_errors(self.root), self.locked(say):
            if self.exists:
                self._check_same(settings)
                self._start_missing(say)
                self._settle(pools, say)
            else:
                self._create(settings or Settings(), say, pools)

    def down(self) -> bool:
        """End every process and forget the folder; False when there was nothing."""
        with self.locked(), process.uninterrupted():
            known = state.read(self.layout.folder)
            if known:
                runtime.stop(known)
            shutil.rmtree(self.layout.folder, ignore_errors=True)
            (self.root / f"{self.name}.lock").unlink(missing_ok=True)
        return known is not None

    def locked(self, say: Say = silent) -> contextlib.AbstractContextManager[None]:
        """One command at a time changes what there is of a cluster."""

        def waiting() -> None:
            say(f"waiting for another command on cluster {self.name}")

        return locked(self.root / f"{self.name}.lock", waiting)

    def kill(self, component: Component) -> None:
        """End one component at once, as a crash would."""
        running = self.state.processes[component]
        running.send(signal.SIGKILL)
        process.wait_gone([running], 5)

    def stop(self, component: Component) -> None:
        """End one component in good order."""
        runtime.stop(self.state, [component])

    def start(self, component: Component) -> None:
        """Start one component that does not run, on the same port; returns when it is healthy."""
        known = self.state
        if not known.running(component):
            known = runtime.start(self.layout, known, component)
        runtime.wait_healthy(self.layout, known, component)

    def restart(self, component: Component) -> None:
        self.stop(component)
        self.start(component)

    def compact(self) -> int:
        """Make etcd forget its history; the API server answers older versions with 410."""
        return self.etcd.compact()

    def save(self, label: str = "saved") -> None:
        """Remember all objects as they are now, for `reset`."""
        write_private(self.layout.folder / f"{label}.json", msgspec.json.encode(self.etcd.content()))

    def reset(self, label: str = "saved") -> None:
        """All components up, all objects as they were saved; milliseconds, where nothing was down."""
        self.up()
        read = (self.layout.folder / f"{label}.json").read_bytes()
        before, saved = self.etcd.content(), msgspec.json.decode(read, type=dict[str, str])
        self.etcd.put_back(saved)
        self._wait_served(custom_resources(before), custom_resources(saved))

    def _wait_served(self, before: set[str], now: set[str]) -> None:
        """The API server learns only a moment after etcd which custom resources there are. Of very many that
        are gone at once it goes on to serve some; started anew, it does not."""
        if before == now:
            return
        if self._wrongly_served(before, now, _SERVED_SECONDS):
            self.restart(Component.API_SERVER)
        if path := self._wrongly_served(before, now, _SERVED_ANEW_SECONDS):
            raise LocalError(f"the API server does not follow the reset: {path}", "its log tells more")

    def _wrongly_served(self, before: set[str], now: set[str], seconds: float) -> str:
        """The first that still is, or is not yet, when the time is over; empty where there is none."""
        deadline = time.monotonic() + seconds
        with self.client() as client:
            for path in before ^ now:
                while _is_served(client, path) != (path in now):
                    if time.monotonic() > deadline:
                        return path
                    time.sleep(_LOOK)
        return ""

    def _create(self, settings: Settings, say: Say, pools: Sequence[Pool]) -> None:
        if (self.layout.folder / MACHINES).exists():
            raise LocalError(
                f"{self.name!r} is the name of machines already",
                f"choose another, or end them: shiplift local down --name {self.name}",
            )
        programs = assets.find(say)
        for _ in range(_ATTEMPTS - 1):
            with contextlib.suppress(PortTakenError):
                return self._create_once(settings, programs, say, pools)
            if settings.port and not is_free(settings.port):
                break
        return self._create_once(settings, programs, say, pools)

    def _create_once(
        self, settings: Settings, programs: dict[str, str], say: Say, pools: Sequence[Pool]
    ) -> None:
        try:
            self._prepare(settings, programs)
            self._start_missing(say)
            self._settle(pools, say)
        except BaseException:
            self._abandon()
            raise

    def _prepare(self, settings: Settings, programs: dict[str, str]) -> None:
        from shiplift.local import files  # noqa: PLC0415  cryptography is slow to import

        folder = self.layout.folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700, parents=True)
        _check_space(folder)
        numbers = free_ports(5)
        ports = Ports(numbers[0], numbers[1], settings.port or numbers[2], numbers[3], numbers[4])
        files.write_all(self.layout, settings, ports)
        state.write(folder, State(settings, ports, programs))

    def _settle(self, pools: Sequence[Pool], say: Say) -> None:
        """Nodes take pods, and the controllers have done their first round."""
        wanted = self.state.settings.components
        if pools:
            say(self.nodes.to_be_added(*pools))
            self.nodes.add(*pools)
        if Component.CONTROLLERS in wanted:
            self.nodes.wait_first_round()
        if pools and Component.KWOK in wanted and Component.CONTROLLERS in wanted:
            self.nodes.wait_schedulable(*pools)

    def _start_missing(self, say: Say) -> None:
        """In order; if one fails, those started here are stopped again."""
        before = self.state
        missing = before.dead
        try:
            self._start_in_order(missing, say)
        except BaseException:
            with process.uninterrupted():
                runtime.stop(self.state, missing)
            raise

    def _start_in_order(self, missing: list[Component], say: Say) -> None:
        known = self.state
        forgotten = {name: known.processes[name] for name in known.processes if name not in missing}
        known = msgspec.structs.replace(known, processes=forgotten)
        foundation = [name for name in missing if name in (Component.ETCD, Component.API_SERVER)]
        rest = [name for name in missing if name not in foundation]
        for name in foundation:
            say(f"starting {name}")
            known = runtime.start(self.layout, known, name)
            runtime.wait_healthy(self.layout, known, name)
        if rest:
            say(f"starting {', '.join(rest)}")
        for name in rest:
            known = runtime.start(self.layout, known, name)
        for name in rest:
            runtime.wait_healthy(self.layout, known, name)

    def _check_same(self, settings: Settings | None) -> None:
        if settings is not None and settings != self.state.settings:
            raise LocalError(
                f"cluster {self.name!r} is there already, with other settings",
                f"shiplift local down --name {self.name} ends it",
            )

    def _abandon(self) -> None:
        """Leave no process and no port; the logs stay, to be read."""
        with process.uninterrupted():
            if known := state.read(self.layout.folder):
                runtime.stop(known)
            for item in self.layout.folder.glob("*"):
                if item != self.layout.logs:
                    shutil.rmtree(item, ignore_errors=True) if item.is_dir() else item.unlink()


def _others(root: Path) -> str:
    """A cluster that is there, for whoever has named none of them."""
    there = names(root)
    return f"; --name {there[0]} names one that is there" if there else ""


def names(root: Path | None = None) -> list[str]:
    """Every cluster that is written down, running or not."""
    folder = root or paths.clusters_root()
    return sorted(path.parent.name for path in folder.glob("*/state.json"))


def _is_served(client: Client, path: str) -> bool:
    from shiplift.kube.errors import NotFound  # noqa: PLC0415  as above

    try:
        client.raw("GET", path, query=[("limit", "1")])
    except NotFound:
        return False
    return True


def _check_space(folder: Path) -> None:
    if shutil.disk_usage(folder).free < _LEAST_SPACE:
        raise NoSpaceError(folder)
