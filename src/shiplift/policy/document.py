"""What a provider may say of an UpgradeConfig: a part of its spec, and an id.

What is not its to say (`approved`, `paused`, `abort`, `retry`, `requests`) stays the users'; `notify`,
`turnHook` and `strategy` stay the administrator's: a document that came from outside names no Secret and no
Job, and has one way to force, the original's own (`PDBForceDrainTimeout`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, cast

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from shiplift.api.upgrade import Desired, PolicyLost, UpgradeConfigSpec, UpgradeType
from shiplift.api.values import Approval, Duration, Time, Window

_HEAD = "id"
_MANY = "policies"
MOST = 100
"""Policies in one document."""


class Document(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """One policy."""

    id: Annotated[str, Meta(min_length=1, max_length=256)]
    desired: Desired
    type: UpgradeType | UnsetType = UNSET
    upgrade_at: Time | UnsetType = UNSET
    start_deadline: Duration | UnsetType = UNSET
    pdb_force_drain_timeout: Annotated[int, Meta(ge=0, le=10080)] | UnsetType = field(
        name="PDBForceDrainTimeout", default=UNSET
    )
    capacity_reservation: bool | UnsetType = UNSET
    windows: Annotated[tuple[Window, ...], Meta(max_length=32)] | UnsetType = UNSET
    approval: Approval | UnsetType = UNSET
    on_policy_lost: PolicyLost | UnsetType = UNSET


class Wanted(msgspec.Struct, frozen=True):
    """A policy as it is applied: its id, and the fields of the spec that are its own."""

    id: str
    fields: Mapping[str, Any]

    @property
    def spec(self) -> UpgradeConfigSpec:
        """As an UpgradeConfig would have it; fields that are not the policy's have their defaults."""
        return msgspec.convert(dict(self.fields), UpgradeConfigSpec)

    @property
    def digest(self) -> str:
        """Of all that it says."""
        said = msgspec.json.encode([self.id, sorted(self.fields.items())])
        return f"sha256:{hashlib.sha256(said).hexdigest()}"

    def same_as(self, spec: UpgradeConfigSpec) -> bool:
        """Whether a spec has what this policy says, whatever else it has; times are compared as times."""
        return not any(self.differing(spec))

    def differing(self, spec: UpgradeConfigSpec) -> Iterator[str]:
        """The fields of this policy that a spec has otherwise, as the API calls them."""
        wanted = self.spec
        for one in msgspec.structs.fields(UpgradeConfigSpec):
            if one.encode_name in self.fields and getattr(wanted, one.name) != getattr(spec, one.name):
                yield one.encode_name


def wanted(document: Document) -> Wanted:
    """What a policy asks for; a `ValueError` that names the field that no UpgradeConfig could have."""
    said: dict[str, Any] = msgspec.to_builtins(document)
    found = Wanted(said.pop(_HEAD), said)
    _ = found.spec  # what an UpgradeConfig cannot have is found out here, where it is told
    return found


def first(whole: Any) -> Wanted | None:
    """The first policy of a document: one policy, or a list `policies`; none where that list is empty. A
    `ValueError` that names the field where it is neither."""
    if isinstance(whole, dict) and set(cast("dict[Any, Any]", whole)) == {_MANY}:
        many = msgspec.convert(whole[_MANY], Annotated[list[Document], Meta(max_length=MOST)])
        return wanted(many[0]) if many else None
    return wanted(msgspec.convert(whole, Document))
