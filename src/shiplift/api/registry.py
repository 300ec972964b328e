"""Which Struct holds which kind, and how a stored object becomes one.

Unknown fields are ignored, so that an older operator reads what a newer one wrote. An object that does not
fit gives one error that names it and the field, unless what can be read of it is enough for its kind; whoever
reads objects skips it and goes on.
"""

from __future__ import annotations

import re
from functools import cache

import msgspec

from shiplift.api.base import ObjectMeta, Resource
from shiplift.api.machines import Machine, MachinePool
from shiplift.api.nodes import NodeRollout
from shiplift.api.operators import AppType, OperatorCatalog, OperatorVersion
from shiplift.api.orders import WorkloadOrder
from shiplift.api.placements import WorkloadPlacement
from shiplift.api.quorum import QuorumService
from shiplift.api.shapes import plain
from shiplift.api.upgrade import UpgradeConfig
from shiplift.api.workloads import WorkloadMigration
from shiplift.facts.kinds import Kind

_RESOURCES: tuple[type[Resource], ...] = (
    UpgradeConfig,
    MachinePool,
    Machine,
    NodeRollout,
    WorkloadMigration,
    WorkloadOrder,
    WorkloadPlacement,
    QuorumService,
    AppType,
    OperatorVersion,
    OperatorCatalog,
)
TYPES: dict[Kind, type[Resource]] = {resource.KIND: resource for resource in _RESOURCES}

_PROBLEM = re.compile(r"^(?P<problem>.*?)(?: - at `\$?\.?(?P<path>[^`]*)`)?$", re.DOTALL)


class UnfitObjectError(ValueError):
    """An object of ours that does not fit its Struct: which one, where in it, and why."""

    hint = "another version of shiplift wrote it, or its CRD is not this version's: apply `shiplift crds`"

    def __init__(self, kind: Kind, metadata: ObjectMeta, path: str, problem: str) -> None:
        self.kind, self.namespace, self.name = kind, metadata.namespace, metadata.name
        self.path, self.problem = path, problem
        at_path = f"{path}: " if path else ""
        super().__init__(f"{kind} {self.key}: {at_path}{problem}")

    @property
    def key(self) -> str:
        """Namespace and name, as far as they can be read."""
        return "/".join(part for part in (self.namespace, self.name) if part) or "(without a name)"


def row_type(kind: Kind) -> type[Resource]:
    """The Struct of a kind."""
    return TYPES[kind]


@cache
def decoder(kind: Kind) -> msgspec.json.Decoder[Resource]:
    """The one JSON decoder of a kind: made on one thread, it can then be used from several."""
    return msgspec.json.Decoder(TYPES[kind])


def decode(kind: Kind, raw: bytes) -> Resource:
    """The object in these bytes, or `UnfitObjectError`."""
    try:
        return decoder(kind).decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        salvaged = TYPES[kind].salvaged(raw)
        if salvaged is None:
            raise unfit(kind, raw, error) from None
        return salvaged


def unfit(kind: Kind, raw: bytes, error: Exception) -> UnfitObjectError:
    """What is wrong with these bytes, in words."""
    match = _PROBLEM.match(str(error))
    problem, path = (match["problem"], match["path"] or "") if match else (str(error), "")
    told = plain(problem, TYPES[kind], path)
    return UnfitObjectError(kind, _metadata_of(raw), path, told[:1].lower() + told[1:])


class _Name(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class _Named(msgspec.Struct):
    metadata: _Name = msgspec.field(default_factory=_Name)


_read_named = msgspec.json.Decoder(_Named).decode


def _metadata_of(raw: bytes) -> ObjectMeta:
    try:
        named = _read_named(raw).metadata
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ObjectMeta()
    return ObjectMeta(name=named.name, namespace=named.namespace)
