"""This layer's marks in a cluster."""

from __future__ import annotations

from shiplift.operators.catalog.installation import BUNDLE

NAME = "operators"
FINALIZER = "operators.shiplift.dev/operators"
"""On AppTypes until what they asked for is gone, on OperatorVersions until they own nothing."""
ORDER = "operators.shiplift.dev/order"
"""The annotation on an OperatorVersion that counts the versions of its AppType: a later one is higher."""
INVENTORY = "operators.shiplift.dev/kinds"
"""The annotation on an OperatorVersion that names the kinds of which it may own objects."""
MANIFEST = "operators.shiplift.dev/manifest"
"""The annotation on an installed object that has a digest of what it was made from."""
REQUIRED = "operators.shiplift.dev/required"
"""The label on a CustomResourceDefinition that was made because some version requires it."""
UPGRADEABLE = "Upgradeable"
"""The condition of an OperatorVersion by which the operator itself, or anybody, vetoes its replacement."""
UPGRADE = "cluster"
"""The name of the one UpgradeConfig."""
CONTROL_PLANE = "ControlPlaneUpgraded"
"""Its condition that is true once the control plane has the target version."""

__all__ = [
    "BUNDLE",
    "CONTROL_PLANE",
    "FINALIZER",
    "INVENTORY",
    "MANIFEST",
    "NAME",
    "ORDER",
    "REQUIRED",
    "UPGRADE",
    "UPGRADEABLE",
]
