"""The outbox of one layer: letters kept in a ConfigMap of the operator's namespace until they are delivered.

It outlives the object that a letter is about and the process that put it in. Whoever leads next goes on where
the last one was; a letter that was delivered and not yet taken out is delivered once more. Where somebody
empties it, what this process knows of it counts: else all that was ever told would be told again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from shiplift.kube.client import Client
from shiplift.kube.errors import BadAnswer
from shiplift.kube.kept_text import KeptText
from shiplift.outside.letters import Box, Letter, read, written

KEY = "box"


class Outbox:
    """For many threads; what it holds is read live once, and again with each change."""

    def __init__(self, client: Client, namespace: str, name: str) -> None:
        self._kept = KeptText(client, namespace, name, KEY)
        self._lock = threading.Lock()
        self._box: Box | None = None
        self._known = Box()
        """What it held when that was last known."""

    def box(self) -> Box:
        """What is in it, as far as this process knows."""
        with self._lock:
            if self._box is None:
                self._box = self._held(self._kept.read())
            return self._box

    def put(self, letters: Iterable[Letter]) -> None:
        """When this returns, and not before, they are sure to get out while there is room."""
        new = tuple(letters)
        self._change(lambda box: box.put(new))

    def done(self, letter: Letter) -> None:
        """It was delivered, or nobody will ever take it."""
        self._change(lambda box: box.done(letter))

    def _change(self, change: Callable[[Box], Box]) -> None:
        with self._lock:
            try:
                self._box = self._held(self._kept.change(lambda text: self._changed(text, change)))
            except BaseException:
                # nobody knows what it holds now: it is read again
                self._box = None
                raise

    def _changed(self, text: str, change: Callable[[Box], Box]) -> str:
        after = change(self._held(text))
        return text if after == self._read(text) else written(after)

    def _held(self, text: str) -> Box:
        """No box of ours is without a text once something was put in."""
        self._known = self._read(text) if text else self._known
        return self._known

    def _read(self, text: str) -> Box:
        try:
            return read(text)
        except ValueError:
            raise BadAnswer(
                f"{self._kept} is damaged", hint="remove that key: its letters are lost"
            ) from None
