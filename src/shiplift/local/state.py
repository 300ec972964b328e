"""What is written down about a cluster: enough to find, judge, repair and end its processes from anywhere."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from shiplift.local.components import Component, Ports, Settings
from shiplift.local.private import write_private
from shiplift.local.process import Process


class State(msgspec.Struct, frozen=True):
    """One cluster, as last written to its state.json."""

    settings: Settings
    ports: Ports
    programs: dict[str, str]
    processes: dict[Component, Process] = {}

    def running(self, component: Component) -> bool:
        process = self.processes.get(component)
        return process is not None and process.alive

    @property
    def dead(self) -> list[Component]:
        """What should run but does not."""
        return [component for component in self.settings.components if not self.running(component)]


def read(folder: Path) -> State | None:
    """None where there is no cluster; a file that cannot be read is no cluster either."""
    with contextlib.suppress(FileNotFoundError, msgspec.DecodeError):
        return msgspec.json.decode((folder / "state.json").read_bytes(), type=State)
    return None


def write(folder: Path, state: State) -> None:
    """Whole or not at all: readers never see half a file."""
    content = msgspec.json.encode(state)
    temporary = folder / "state.json.new"
    write_private(temporary, content)
    temporary.replace(folder / "state.json")
