"""apt and dpkg, as an agent uses them: what can be had, what would change, and the change itself.

apt works on lists and archives of the agent's own, so that nobody else's lock or clean-up matters before
packages are changed; the database of packages and its lock are the machine's. Nothing is ever removed,
configuration files that somebody has changed stay, and no question is asked.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from shiplift.agent.errors import AgentError, CommandError
from shiplift.agent.machine import commands, locks, sources, versions
from shiplift.agent.protocol import fits

ETC = Path("/etc/apt")
DPKG = Path("/var/lib/dpkg")
LOCK_SECONDS = 300
"""How long somebody else may hold dpkg's lock, as the machine's own upgrades do."""
_LOOK_SECONDS, _FETCH_SECONDS, _CHANGE_SECONDS = 120.0, 1200.0, 1800.0
_QUIET = (
    "--option=APT::Get::Show-User-Simulation-Note=false",
    "--option=Acquire::Retries=3",
    "--option=Acquire::http::Timeout=30",
    "--option=Acquire::https::Timeout=30",
)
_KEEP_FILES = ("--force-confdef", "--force-confold")
_INSTALL = (
    "install",
    "--yes",
    "--quiet",
    "--no-remove",
    "--no-install-recommends",
    "--allow-change-held-packages",
)
_INST = re.compile(r"^Inst (\S+)(?: \[(\S+)\])? \((\S+)", re.M)
_FIELD = re.compile(r"^(Size|Installed-Size): (\d+)$", re.M)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Change:
    """A package that would be changed: the new version, and the old one where it is there."""

    name: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.name} {self.old or 'absent'} → {self.new}"


@dataclass(frozen=True)
class Sizes:
    """Of a package, in bytes: its archive, and what it has unpacked."""

    archive: int
    unpacked: int


class Apt:
    """With a folder of its own; `lock_seconds` is how long dpkg's lock is waited for."""

    def __init__(self, folder: Path, lock_seconds: float = LOCK_SECONDS) -> None:
        self.folder = folder
        self.lock_seconds = lock_seconds
        self.archives = folder / "cache" / "archives"
        for part in (self.archives / "partial", folder / "lists" / "partial"):
            part.mkdir(mode=0o755, parents=True, exist_ok=True)

    # --- looking ---

    def update(self, minors: Iterable[str]) -> None:
        """What the sources have. One that does not answer is told, and what is missed because of it later."""
        sources.copy(ETC, self.folder, minors)
        locks.wait_free(self.folder / "lists" / "lock", self.lock_seconds)
        answer = commands.run(["apt-get", "update", *self._options()], seconds=_FETCH_SECONDS, check=False)
        if answer.code or answer.err.strip():
            _log.warning("package sources: %s", commands.last_words(answer.err) or answer.failure)

    def versions(self, name: str) -> list[str]:
        """What can be had of a package, the newest first."""
        argv = ["apt-cache", *self._options(), "madison", "--", name]
        lines = commands.run(argv, seconds=_LOOK_SECONDS, check=False).out.splitlines()
        rows = [[part.strip() for part in line.split("|")] for line in lines]
        return list(dict.fromkeys(row[1] for row in rows if len(row) == 3 and row[0] == name))

    def plan(self, wanted: Mapping[str, str], *, older: bool) -> list[Change]:
        """What would change with those versions, dependencies included."""
        if not wanted:
            return []
        argv = self._install(_named(wanted), "--simulate", older=older)
        said = commands.run(argv, seconds=_LOOK_SECONDS).out
        return [Change(*match) for match in _INST.findall(said)]

    def sizes(self, name: str, version: str) -> Sizes:
        argv = ["apt-cache", *self._options(), "show", "--", f"{name}={version}"]
        found = {
            match[0]: int(match[1]) for match in _FIELD.findall(commands.run(argv, seconds=_LOOK_SECONDS).out)
        }
        return Sizes(found.get("Size", 0), found.get("Installed-Size", 0) * 1024)

    # --- archives ---

    def fetch(self, wanted: Mapping[str, str], *, again: bool = False) -> None:
        """Bring the archives here; `again` also those of versions that are installed. Nobody's lock is needed
        for that, and who is at dpkg does not matter yet."""
        locks.wait_free(self.archives / "lock", self.lock_seconds)
        extra = ("--download-only", "--option=Debug::NoLocking=true", *(("--reinstall",) if again else ()))
        commands.run(self._install(_named(wanted), *extra, older=True), seconds=_FETCH_SECONDS)

    def archive(self, name: str, version: str) -> Path | None:
        """The archive of a package, where it is here."""
        found = sorted(self.archives.glob(f"{name}_{version.replace(':', '%3a')}_*.deb"))
        return found[0] if found else None

    # --- changing ---

    def install(self, targets: Iterable[str], *, older: bool = False) -> None:
        """Packages by `name=version`, or archives by their path."""
        listed = list(targets)
        _log.info("installing %s", " ".join(listed))
        commands.run(self._install(listed, older=older), seconds=_CHANGE_SECONDS)

    def hold(self, names: frozenset[str]) -> None:
        """Those that are not on hold any more."""
        if loose := sorted(names - versions.held(names)):
            self.wait_for_dpkg()
            commands.run(["apt-mark", "hold", "--", *loose], seconds=_LOOK_SECONDS)

    def wait_for_dpkg(self) -> None:
        locks.wait_free(DPKG / "lock-frontend", self.lock_seconds)
        locks.wait_free(DPKG / "lock", self.lock_seconds)

    def repair(self) -> None:
        """Finish what dpkg was interrupted in. What stays half-way is told: a version that cannot be
        configured may still be replaced by one that can."""
        if not half_way():
            return
        self.wait_for_dpkg()
        _log.warning("dpkg was interrupted: what it has begun is finished first")
        try:
            commands.run(["dpkg", *_KEEP_FILES, "--configure", "--pending"], seconds=_CHANGE_SECONDS)
        except CommandError as error:
            _log.warning("%s", error)

    def _install(self, targets: Iterable[str], *extra: str, older: bool) -> list[str]:
        options = [f"--option=Dpkg::Options::={option}" for option in _KEEP_FILES]
        waits = f"--option=DPkg::Lock::Timeout={self.lock_seconds:.0f}"
        downgrades = ("--allow-downgrades",) if older else ()
        arguments = (*_INSTALL, *extra, *downgrades, *self._options(), *options, waits)
        return ["apt-get", *arguments, "--option=Dpkg::Use-Pty=0", "--", *targets]

    def _options(self) -> tuple[str, ...]:
        return (
            *_QUIET,
            f"--option=Dir::Etc::SourceList={self.folder}/sources.list",
            f"--option=Dir::Etc::SourceParts={self.folder}/sources.list.d",
            f"--option=Dir::State::Lists={self.folder}/lists",
            f"--option=Dir::Cache={self.folder}/cache",
        )


def half_way() -> bool:
    """Whether dpkg has left something that it had begun."""
    if any((DPKG / "updates").glob("[0-9]*")):
        return True
    return bool(commands.run(["dpkg", "--audit"], seconds=_LOOK_SECONDS, check=False).out.strip())


def resolved(name: str, desired: str, versions: Iterable[str]) -> str:
    """The newest version that is the desired one; names what there is where none is."""
    known = list(versions)
    from_revision = [version for version in known if fits(desired, version)]
    if from_revision:
        return from_revision[0]
    there = f"the package sources have {', '.join(known[:5])}" if known else "no package source has one"
    raise AgentError(f"{name} {desired} cannot be had: {there}")


def _named(wanted: Mapping[str, str]) -> list[str]:
    return [f"{name}={version}" for name, version in sorted(wanted.items())]
