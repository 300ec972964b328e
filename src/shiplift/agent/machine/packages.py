"""Packages brought to their desired versions, or left as they were.

    finish what dpkg had begun ─▶ resolve ─▶ plan ─▶ room ─▶ archives, new and old ─▶ write down what is there
        ─▶ kubeadm, and what it configures ─▶ install ─▶ look ─▶ restart what was changed ─▶ done
              └───────────────────────────────────┴─────────┴───────────┴─▶ where anything failed:
                                                                         what was there is put back

From resolving to the archives nothing of the machine is changed; that much is `prepare`. Every step can be
done again: what was there before is what was written down first, however often the work was interrupted. The
agent's own package comes last, after all else is in place.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from shiplift.agent.errors import AgentError
from shiplift.agent.machine import restarts, sources, space, versions
from shiplift.agent.machine.apt import DPKG, ETC, Apt, Change, resolved
from shiplift.agent.machine.journal import Before, Journal
from shiplift.agent.protocol import fits

_VERSION = re.compile(r"[0-9A-Za-z]([0-9A-Za-z.+~:-]{0,126}[0-9A-Za-z])?")
_UNPACKED = Path("/usr")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Prepared:
    """Exact versions, and what they would change."""

    exact: Mapping[str, str]
    changes: tuple[Change, ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.exact) | {change.name for change in self.changes}


class Packages:
    """Of this machine."""

    def __init__(self, apt: Apt, journal: Journal) -> None:
        self._apt = apt
        self._journal = journal

    def prepare(self, desired: Mapping[str, str], *, older: bool = False) -> Prepared:
        """All that can be seen and fetched beforehand; raises where the desired versions cannot be had."""
        _check(desired)
        self._apt.update(sources.minors(desired))
        exact = {name: self._exact(name, version) for name, version in desired.items()}
        there = versions.installed(exact)
        missing = {name: version for name, version in exact.items() if there.get(name) != version}
        changes = self._apt.plan(missing, older=older)
        self._fetch(changes)
        return Prepared(exact, tuple(changes))

    def bring(
        self,
        token: str,
        desired: Mapping[str, str],
        *,
        back: bool = False,
        configure: Callable[[], None] | None = None,
    ) -> str:
        """The desired versions onto this machine, for the order of that token; says what it has changed.
        `configure` is called when the desired kubeadm is there, before all others."""
        self._apt.repair()
        prepared = self.prepare(desired, older=back)
        names = prepared.names
        before = self._journal.remember(token, Before(versions.installed(names), versions.held(names)))
        try:
            self._change(prepared, before, back, configure)
        except AgentError as error:
            if back:
                raise
            raise AgentError(f"{error}; {self._put_back(before)}") from error
        return ", ".join(map(str, _changed(before, prepared.names)))

    # --- before ---

    def _exact(self, name: str, desired: str) -> str:
        """A package that is there and is the desired one stays as it is, whether a source has it or not."""
        there = versions.installed([name]).get(name, "")
        if there and fits(desired, there):
            return there
        return resolved(name, desired, self._apt.versions(name))

    def _fetch(self, changes: list[Change]) -> None:
        """Nothing to change needs no room: an order to put back what was never changed is no failure."""
        if not changes:
            return
        sizes = [self._apt.sizes(change.name, change.new) for change in changes]
        space.need(self._apt.archives, 2 * sum(size.archive for size in sizes), "fetching packages")
        space.need(_UNPACKED, sum(size.unpacked for size in sizes), "installing packages")
        space.need(DPKG, 0, "dpkg")
        self._apt.fetch({change.name: change.new for change in changes})
        for change in changes:
            if change.old and self._apt.archive(change.name, change.old) is None:
                self._fetch_old(change)

    def _fetch_old(self, change: Change) -> None:
        """The way back; where there is none, that is told, and the change is not held up by it."""
        try:
            self._apt.fetch({change.name: change.old}, again=True)
        except AgentError as error:
            _log.warning("%s %s cannot be put back later: %s", change.name, change.old, error)

    # --- the change ---

    def _change(
        self, prepared: Prepared, before: Before, older: bool, configure: Callable[[], None] | None
    ) -> None:
        own = {name for name in prepared.exact if name == versions.AGENT}
        first = {name: version for name, version in prepared.exact.items() if name not in own}
        self._apt.wait_for_dpkg()
        for minor in sources.minors(prepared.exact):
            sources.switch(ETC, minor)
        if configure is not None:
            self._install(
                {name: first[name] for name in first if name == versions.KUBEADM}, before, older=older
            )
            configure()
        self._install(first, before, older=older)
        restarts.restart_of([change.name for change in _changed(before, first)])
        self._install({name: prepared.exact[name] for name in own}, before, older=older)

    def _install(self, exact: Mapping[str, str], before: Before, *, older: bool) -> None:
        there = versions.installed(exact)
        missing = [f"{name}={version}" for name, version in exact.items() if there.get(name) != version]
        if missing:
            self._apt.install(missing, older=older)
        self._apt.hold(before.held)
        there = versions.installed(exact)
        for name, version in exact.items():
            if there.get(name) != version:
                raise AgentError(
                    f"{name} is {there.get(name, 'not whole')} after apt has installed {version}"
                )

    # --- back ---

    def _put_back(self, before: Before) -> str:
        """What came of it, to be said with why the change failed."""
        _log.warning("the change failed, and what was there before is put back")
        try:
            self._apt.repair()
            there = versions.installed(before.versions)
            gone = {name: text for name, text in before.versions.items() if there.get(name) != text}
            if gone:
                self._apt.install([self._old(*package) for package in sorted(gone.items())], older=True)
            for minor in sources.minors(before.versions):
                sources.switch(ETC, minor)
            self._apt.hold(before.held)
            restarts.restart_of(gone)
        except AgentError as error:
            return f"what was there before could not be put back: {error}"
        return "what was there before was put back"

    def _old(self, name: str, version: str) -> str:
        archive = self._apt.archive(name, version)
        return str(archive) if archive else f"{name}={version}"


def _check(desired: Mapping[str, str]) -> None:
    for name, version in desired.items():
        if not _VERSION.fullmatch(version):
            raise AgentError(f"{version[:64]!r} is no version of {name}")


def _changed(before: Before, names: Iterable[str] = ()) -> list[Change]:
    """From what was written down to what is there; of packages that were not there before, those named."""
    listed = sorted({*before.versions, *names})
    there = versions.installed(listed)
    pairs = [(name, before.versions.get(name, ""), there.get(name, "")) for name in listed]
    return [Change(name, old, new) for name, old, new in pairs if new and new != old]
