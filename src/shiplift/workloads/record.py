"""What we changed on a workload, kept in the namespace's WorkloadPlacement and written before the change.

Not on the workload itself: a Deployment's annotations are copied to its ReplicaSets and stay there. Undoing
is three-way: a value that is no longer the one recorded here was changed by somebody else and stays.

Every release reads the records of every other, older or newer: it ignores fields that it does not know, and
a field never gets a second meaning. (`template`, of 0.1.0, was a digest that no other release can compare.)
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Surge(msgspec.Struct, frozen=True, omit_defaults=True):
    """Replicas raised by one for a while; with an autoscaler, its floor too."""

    before: int
    after: int
    autoscaler: str = ""
    floor_before: int = 0


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """What we changed on one workload; nothing of it is left when the record is gone."""

    toleration: str = ""
    """The target whose taint the template was made to tolerate."""
    inert: str = ""
    """The digest of the template when its toleration became inert: once it is another, the owner has rolled
    it out."""
    surge: Surge | None = None

    def __bool__(self) -> bool:
        return bool(self.toleration or self.surge)


NO_RECORD = Record()
_read_record = msgspec.json.Decoder(Record).decode


class RecordError(ValueError):
    """A record that cannot be read; says whose."""


def decode(where: str, owner: str, text: str) -> Record:
    """One record, or an error that says where it is and what to do."""
    try:
        return _read_record(text)
    except msgspec.DecodeError as error:
        raise RecordError(
            f"{where}: the record of {owner} cannot be read: {error};"
            f" undo by hand what it may say and remove it from spec.ledger of {where}"
        ) from error


def readable(where: str, ledger: Mapping[str, str]) -> tuple[dict[str, Record], dict[str, str]]:
    """The records by owner, and beside them what is wrong with those that cannot be read."""
    records: dict[str, Record] = {}
    broken: dict[str, str] = {}
    for owner, text in ledger.items():
        try:
            records[owner] = decode(where, owner, text)
        except RecordError as error:
            broken[owner] = str(error)
    return records, broken
