"""The record of how the sync is going, in a ConfigMap of the operator's namespace."""

from __future__ import annotations

import threading

import msgspec

from shiplift.kube.client import Client
from shiplift.kube.errors import ApiError, KubeError, Throttled
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
        self.refused = ""
        """Why it was not taken when it was last written; empty where it was."""

    def read(self) -> Record:
        with self._lock:
            if self._record is None:
                self._record = _read(self._kept.read())
            return self._record

    def write(self, record: Record) -> None:
        text = msgspec.json.encode(record).decode()
        with self._lock:
            self._record, self.refused = None, ""
            try:
                self._kept.change(lambda _: text)
            except KubeError as error:
                self.refused = str(error) if is_refusal(error) else ""
                raise
            self._record = record


def is_refusal(error: KubeError) -> bool:
    """Whether somebody has to mend it: a webhook that denies it, or a right that is missing."""
    return isinstance(error, ApiError) and not isinstance(error, Throttled)


def _read(text: str) -> Record:
    """One that is damaged says nothing, and is written anew."""
    try:
        return msgspec.json.decode(text, type=Record) if text else Record()
    except msgspec.MsgspecError:
        return Record(trouble="?")
