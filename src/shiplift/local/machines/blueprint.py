"""What one machine is made of, written beside its disks, so that whoever boots it needs nothing else."""

from __future__ import annotations

from pathlib import Path

import msgspec

FILE = "blueprint.json"


class Blueprint(msgspec.Struct, frozen=True):
    """One machine: its name, where its files are, what it runs in."""

    name: str
    root: str
    network: str
    cgroups: dict[str, str]
    shared: dict[str, str] = {}
    """Folders of this computer that it can read, by where it sees them."""


class Disks(msgspec.Struct, frozen=True):
    """Where a machine keeps its files on this computer; they stay when it is off."""

    folder: Path

    @property
    def changes(self) -> Path:
        """What differs from the root that all machines share, in the layout that overlayfs wants."""
        return self.folder / "changes"

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def merged(self) -> Path:
        """Where its whole root is put together; seen only inside of its own mounts."""
        return self.folder / "root"

    def plain(self, name: str) -> Path:
        """A folder that is no overlay: containerd puts overlays into it."""
        return self.folder / name

    @property
    def boot_id(self) -> Path:
        return self.folder / "boot_id"

    @property
    def settings(self) -> Path:
        """Files that stand for kernel settings of this computer, which a machine must not change."""
        return self.folder / "settings"

    @property
    def init(self) -> Path:
        """The machine's first process, while it runs."""
        return self.folder / "init.json"

    @property
    def keeper(self) -> Path:
        return self.folder / "keeper.json"

    @property
    def console(self) -> Path:
        return self.folder / "console.log"


def read(disks: Disks) -> Blueprint:
    return msgspec.json.decode((disks.folder / FILE).read_bytes(), type=Blueprint)


def write(disks: Disks, blueprint: Blueprint) -> None:
    (disks.folder / FILE).write_bytes(msgspec.json.encode(blueprint))
