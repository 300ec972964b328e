"""The kinds that shiplift reads or writes, and where the API server keeps them."""

from __future__ import annotations

import msgspec

GROUP = "shiplift.dev"
VERSION = "v1alpha1"


class Kind(msgspec.Struct, frozen=True, order=True):
    """One resource of the API server: enough to build its address."""

    kind: str
    plural: str
    group: str = ""
    version: str = "v1"
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def custom(self) -> bool:
        """Served from a CustomResourceDefinition: JSON only, no protobuf."""
        return self.group == GROUP

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The address of the collection, of one object, or of a part of it."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        scope = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        tail = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"{root}{scope}/{self.plural}{tail}"

    def __str__(self) -> str:
        return self.kind


def _ours(kind: str, plural: str, *, namespaced: bool = False) -> Kind:
    return Kind(kind, plural, GROUP, VERSION, namespaced)


NODE = Kind("Node", "nodes", namespaced=False)
POD = Kind("Pod", "pods")
NAMESPACE = Kind("Namespace", "namespaces", namespaced=False)
SERVICE = Kind("Service", "services")
SECRET = Kind("Secret", "secrets")
SERVICE_ACCOUNT = Kind("ServiceAccount", "serviceaccounts")
CONFIG_MAP = Kind("ConfigMap", "configmaps")
EVENT = Kind("Event", "events", "events.k8s.io")
PERSISTENT_VOLUME = Kind("PersistentVolume", "persistentvolumes", namespaced=False)
PERSISTENT_VOLUME_CLAIM = Kind("PersistentVolumeClaim", "persistentvolumeclaims")
DEPLOYMENT = Kind("Deployment", "deployments", "apps")
STATEFUL_SET = Kind("StatefulSet", "statefulsets", "apps")
REPLICA_SET = Kind("ReplicaSet", "replicasets", "apps")
DAEMON_SET = Kind("DaemonSet", "daemonsets", "apps")
CONTROLLER_REVISION = Kind("ControllerRevision", "controllerrevisions", "apps")
JOB = Kind("Job", "jobs", "batch")
POD_DISRUPTION_BUDGET = Kind("PodDisruptionBudget", "poddisruptionbudgets", "policy")
STORAGE_CLASS = Kind("StorageClass", "storageclasses", "storage.k8s.io", namespaced=False)
VOLUME_ATTACHMENT = Kind("VolumeAttachment", "volumeattachments", "storage.k8s.io", namespaced=False)
HORIZONTAL_POD_AUTOSCALER = Kind("HorizontalPodAutoscaler", "horizontalpodautoscalers", "autoscaling", "v2")
LEASE = Kind("Lease", "leases", "coordination.k8s.io")
CUSTOM_RESOURCE_DEFINITION = Kind(
    "CustomResourceDefinition", "customresourcedefinitions", "apiextensions.k8s.io", namespaced=False
)
VALIDATING_ADMISSION_POLICY = Kind(
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    "admissionregistration.k8s.io",
    namespaced=False,
)
VALIDATING_ADMISSION_POLICY_BINDING = Kind(
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    "admissionregistration.k8s.io",
    namespaced=False,
)
CLUSTER_ROLE = Kind("ClusterRole", "clusterroles", "rbac.authorization.k8s.io", namespaced=False)
CLUSTER_ROLE_BINDING = Kind(
    "ClusterRoleBinding", "clusterrolebindings", "rbac.authorization.k8s.io", namespaced=False
)

CLUSTER_VERSION = Kind("ClusterVersion", "clusterversions", "config.openshift.io", namespaced=False)
"""OpenShift's own: which release a cluster runs, and which it should."""
MACHINE_CONFIG_POOL = Kind(
    "MachineConfigPool", "machineconfigpools", "machineconfiguration.openshift.io", namespaced=False
)
"""OpenShift's own: machines of one kind, and how many of them have what they should."""

MUTATING_ADMISSION_POLICY = Kind(
    "MutatingAdmissionPolicy", "mutatingadmissionpolicies", "admissionregistration.k8s.io", namespaced=False
)
MUTATING_ADMISSION_POLICY_BINDING = Kind(
    "MutatingAdmissionPolicyBinding",
    "mutatingadmissionpolicybindings",
    "admissionregistration.k8s.io",
    namespaced=False,
)

UPGRADE_CONFIG = _ours("UpgradeConfig", "upgradeconfigs")
MACHINE_POOL = _ours("MachinePool", "machinepools")
MACHINE = _ours("Machine", "machines")
NODE_ROLLOUT = _ours("NodeRollout", "noderollouts")
WORKLOAD_MIGRATION = _ours("WorkloadMigration", "workloadmigrations")
WORKLOAD_ORDER = _ours("WorkloadOrder", "workloadorders", namespaced=True)
WORKLOAD_PLACEMENT = _ours("WorkloadPlacement", "workloadplacements", namespaced=True)
QUORUM_SERVICE = _ours("QuorumService", "quorumservices", namespaced=True)
APP_TYPE = _ours("AppType", "apptypes", namespaced=True)
OPERATOR_VERSION = _ours("OperatorVersion", "operatorversions", namespaced=True)
OPERATOR_CATALOG = _ours("OperatorCatalog", "operatorcatalogs")

OURS = (
    UPGRADE_CONFIG,
    MACHINE_POOL,
    MACHINE,
    NODE_ROLLOUT,
    WORKLOAD_MIGRATION,
    WORKLOAD_ORDER,
    WORKLOAD_PLACEMENT,
    QUORUM_SERVICE,
    APP_TYPE,
    OPERATOR_VERSION,
    OPERATOR_CATALOG,
)
