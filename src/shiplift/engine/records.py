"""Records of our changes, kept in an object of ours and written before the change: the ledger's other home.

A record beside the changed object (`ledger.change_in_place`) is written with the change, in one call. Where
that object cannot carry it, or somebody could strip it off, the record is kept in an object of ours, by
owner, as text: what a layer says in a Struct of its own, or a `ledger.Ledger`. Undoing is three-way in both:
a value that is no longer the one recorded was changed by somebody else and stays.

Every release reads the records of every other, older or newer: fields that a release does not know are
ignored, and a field never gets a second meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

import msgspec

R = TypeVar("R", bound=msgspec.Struct)


class RecordError(ValueError):
    """A record that cannot be read; says whose, and what to do."""


class Records(Generic[R]):
    """Reads and writes records of one type; `field` is where the spec of their object keeps them."""

    def __init__(self, type_: type[R], field: str) -> None:
        self._decode = msgspec.json.Decoder(type_).decode
        self._field = field

    def decode(self, where: str, owner: str, text: str) -> R:
        """One record, or an error that says where it is and what to do."""
        try:
            return self._decode(text)
        except msgspec.DecodeError as error:
            raise RecordError(
                f"{where}: the record of {owner} cannot be read: {error};"
                f" undo by hand what it may say and remove it from spec.{self._field} of {where}"
            ) from error

    def readable(self, where: str, texts: Mapping[str, str]) -> tuple[dict[str, R], dict[str, str]]:
        """The records by owner, and beside them what is wrong with those that cannot be read."""
        records: dict[str, R] = {}
        broken: dict[str, str] = {}
        for owner, text in texts.items():
            try:
                records[owner] = self.decode(where, owner, text)
            except RecordError as error:
                broken[owner] = str(error)
        return records, broken

    def encode(self, records: Mapping[str, R]) -> dict[str, str]:
        """Records as their object keeps them."""
        return {owner: msgspec.json.encode(record).decode() for owner, record in records.items()}
