"""The record of how the sync is going, in a ConfigMap of the operator's namespace."""

from __future__ import annotations

import threading

import msgspec

from shiplift.kube.client import Client
from shiplift.kube.kept_text import KeptText
from shiplift.policy.model import Record
from shiplift.policy.names import RECORD

KEY = "sync"


class RecordBook:
    """Read live once in a term; for many threads."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._kept = KeptText(client, namespace, RECORD, KEY)
        self._lock = threading.Lock()
        self._record: Record | None = None

    def read(self) -> Record:
        with self._lock:
            if self._record is None:
                self._record = _read(self._kept.read())
            return self._record

    def write(self, record: Record) -> None:
        text = msgspec.json.encode(record).decode()
        with self._lock:
            self._record = None
            self._kept.change(lambda _: text)
            self._record = record


def _read(text: str) -> Record:
    """One that is damaged says nothing, and is written anew."""
    try:
        return msgspec.json.decode(text, type=Record) if text else Record()
    except msgspec.MsgspecError:
        return Record(trouble="?")
