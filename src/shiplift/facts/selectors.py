"""Label selectors and node selector terms, and what they match."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from shiplift.facts.meta import Labels

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")


class Requirement(msgspec.Struct, frozen=True, gc=False):
    """One expression over a label: key, operator, values."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                return self._compares(value)
            case _:
                return False

    def _compares(self, value: str | None) -> bool:
        """As the scheduler does: whole numbers of 64 bits only, anything else matches nothing."""
        left = _number(value or "")
        right = _number(self.values[0]) if len(self.values) == 1 else None
        if left is None or right is None:
            return False
        return left > right if self.operator == "Gt" else left < right


def _number(text: str) -> int | None:
    number = int(text) if _WHOLE.fullmatch(text) else None
    return number if number is not None and -(1 << 63) <= number < 1 << 63 else None


class Selector(msgspec.Struct, frozen=True, gc=False):
    """A label selector. Empty matches everything; no selector at all (None) matches nothing."""

    labels: Labels
    expressions: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        for key, value in self.labels.items():  # a plain loop: this is asked very often
            if labels.get(key) != value:
                return False
        return not self.expressions or all(one.matches(labels) for one in self.expressions)


class NodeTerm(msgspec.Struct, frozen=True, gc=False):
    """One term of a node selector: all of its requirements must hold; an empty term matches nothing."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        if not self.labels and not self.fields:
            return False
        fields = {"metadata.name": name}
        return all(one.matches(labels) for one in self.labels) and all(
            one.matches(fields) for one in self.fields
        )


def any_term_matches(terms: tuple[NodeTerm, ...] | None, labels: Mapping[str, str], name: str) -> bool:
    """A node selector matches when any term does; None asks for nothing."""
    return terms is None or any(term.matches(labels, name) for term in terms)
