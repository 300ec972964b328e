"""The custom resources of `shiplift.dev/v1alpha1` as frozen Structs; their CRDs are generated from them."""

from shiplift.api.base import ObjectMeta, OwnerReference, Resource, Value
from shiplift.api.machines import Machine, MachinePool
from shiplift.api.nodes import NodeRollout
from shiplift.api.operators import AppType, OperatorCatalog, OperatorVersion
from shiplift.api.orders import WorkloadOrder
from shiplift.api.quorum import QuorumService
from shiplift.api.registry import TYPES, UnfitObjectError, decode, decoder, row_type, unfit
from shiplift.api.upgrade import UpgradeConfig
from shiplift.api.values import Condition, ConditionStatus, Progress, Status, duration
from shiplift.api.workloads import WorkloadMigration

__all__ = [
    "TYPES",
    "AppType",
    "Condition",
    "ConditionStatus",
    "Machine",
    "MachinePool",
    "NodeRollout",
    "ObjectMeta",
    "OperatorCatalog",
    "OperatorVersion",
    "OwnerReference",
    "Progress",
    "QuorumService",
    "Resource",
    "Status",
    "UnfitObjectError",
    "UpgradeConfig",
    "Value",
    "WorkloadMigration",
    "WorkloadOrder",
    "decode",
    "decoder",
    "duration",
    "row_type",
    "unfit",
]
