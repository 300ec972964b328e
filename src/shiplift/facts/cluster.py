"""What is known of the rest: services, namespaces, our leases, definitions of custom resources."""

from __future__ import annotations

import msgspec

from shiplift.facts.meta import Condition, Labels, Row


class Service(Row, frozen=True, gc=False, kw_only=True):
    type: str
    selector: Labels
    cluster_ip: str
    publishes_unready: bool


class Namespace(Row, frozen=True, gc=False, kw_only=True):
    phase: str


class Lease(Row, frozen=True, gc=False, kw_only=True):
    holder: str
    duration: int
    transitions: int
    renewed: int


class CrdVersion(msgspec.Struct, frozen=True, gc=False):
    name: str
    served: bool
    storage: bool


class CustomResourceDefinition(Row, frozen=True, gc=False, kw_only=True):
    group: str
    kind: str
    plural: str
    scope: str
    versions: tuple[CrdVersion, ...]
    stored_versions: tuple[str, ...]
    conditions: tuple[Condition, ...]
