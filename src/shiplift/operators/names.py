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
UNTOUCHED = "operators.shiplift.dev/untouched"
"""The annotation on an OperatorVersion of which nothing was installed yet: it goes before the first object
comes, so that a version that has it owns nothing, whoever may look."""
HAND_OVER = "operators.shiplift.dev/hand-over"
"""The annotation of a ClusterServiceVersion that has, as JSON, the hook that runs before it takes over."""
HOOKED = "operators.shiplift.dev/hooked"
"""The annotation on an OperatorVersion whose hook has succeeded; it names the Job."""
CONTENT = "operators.shiplift.dev/content"
"""The annotation on a CustomResourceDefinition that has the sha256 of the spec that it was made from."""
STORED = "operators.shiplift.dev/stored"
"""The annotation beside it that has the sha256 of the spec as the API server made it of that: what is there
now is compared with this, since what it was made from says nothing of it."""
REQUIRED = "operators.shiplift.dev/required"
"""The label on a CustomResourceDefinition that was made because some version requires it."""
UNINSTALLED = "operators.shiplift.dev/uninstalled"
"""The annotation on such a definition that has, as JSON, namespace and package of those who owned it and were
uninstalled: whatever becomes of catalogs, it brings none of them back. Whoever owns it anew takes it off."""
RIGHTS = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
"""The kinds of objects that do nothing but let an operator act."""
UPGRADEABLE = "Upgradeable"
"""The condition of an OperatorVersion by which the operator itself, or anybody, vetoes its replacement."""
UPGRADE = "cluster"
"""The name of the one UpgradeConfig."""
CONTROL_PLANE = "ControlPlaneUpgraded"
"""Its condition that is true once the control plane has the target version."""

__all__ = [
    "BUNDLE",
    "CONTENT",
    "CONTROL_PLANE",
    "FINALIZER",
    "HAND_OVER",
    "HOOKED",
    "INVENTORY",
    "MANIFEST",
    "NAME",
    "ORDER",
    "REQUIRED",
    "RIGHTS",
    "STORED",
    "UNINSTALLED",
    "UNTOUCHED",
    "UPGRADE",
    "UPGRADEABLE",
]
