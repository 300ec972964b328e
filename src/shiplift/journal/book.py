"""The journal in its ConfigMap: read once in a term, written by whoever leads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime

from shiplift.journal.model import Journal
from shiplift.journal.names import BOOK, JOURNAL
from shiplift.journal.writing import read, written
from shiplift.kube.client import Client
from shiplift.kube.kept_text import KeptText


class Book:
    """For many threads."""

    def __init__(self, client: Client, namespace: str, now: Callable[[], datetime]) -> None:
        self._text, self._now = KeptText(client, namespace, JOURNAL, BOOK), now
        self._lock = threading.Lock()
        self._kept: Journal | None = None
        self.kept_at: datetime | None = None
        """When this process last wrote it."""

    def kept(self) -> Journal:
        with self._lock:
            if self._kept is None:
                self._kept = read(self._text.read())
            return self._kept

    def keep(self, journal: Journal) -> None:
        text = written(journal)
        with self._lock:
            self._text.change(lambda _: text)
            self._kept, self.kept_at = journal, self._now()


def journal_in(client: Client, namespace: str) -> Journal:
    """The journal of a cluster, for whoever wants to read it."""
    return read(KeptText(client, namespace, JOURNAL, BOOK).read())
