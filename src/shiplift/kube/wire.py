"""The protobuf messages of the API server, cut down to the fields that the rows hold.

Built-in kinds travel as protobuf: a third smaller than JSON, and every field that is not named here
is skipped in C. Numbers are those of the published `generated.proto` files and never change.

A field is written `name=number:type`; `*` behind it says repeated. `bytes` on a field that really is a
message keeps it undecoded: equal bytes then share one decoded value. Maps are repeated entries.
An indented line goes on with the message above it.
"""

from __future__ import annotations

import re
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_SCHEMA = """
WatchEvent type=1:string object=2:RawExtension
RawExtension raw=1:bytes
Unknown raw=2:bytes
Status message=3:string reason=4:string code=6:int32 details=5:StatusDetails
StatusDetails retryAfterSeconds=5:int32
ListMeta resourceVersion=2:string continue=3:string
List metadata=1:ListMeta items=2:bytes*
Bookmark metadata=1:BookmarkMeta
BookmarkMeta resourceVersion=6:string annotations=12:Pair*
Identity metadata=1:IdentityMeta
IdentityMeta name=1:string namespace=3:string uid=5:string resourceVersion=6:string

Meta name=1:string namespace=3:string uid=5:string resourceVersion=6:string generation=7:int64
    creationTimestamp=8:bytes deletionTimestamp=9:bytes labels=11:bytes* annotations=12:bytes*
    ownerReferences=13:bytes* finalizers=14:string*
Time seconds=1:int64
Pair key=1:string value=2:string
Amount key=1:string value=2:Quantity
Quantity string=1:string
IntOrString type=1:int64 intVal=2:int32 strVal=3:string
OwnerReference kind=1:string name=3:string uid=4:string apiVersion=5:string controller=6:bool
Selector matchLabels=1:Pair* matchExpressions=2:Requirement*
Requirement key=1:string operator=2:string values=3:string*
Condition type=1:string status=2:string lastTransitionTime=4:bytes reason=5:string message=6:string
AppsCondition type=1:string status=2:string lastTransitionTime=7:bytes reason=4:string message=5:string
CrdCondition type=1:string status=2:string lastTransitionTime=3:bytes reason=4:string message=5:string

Pod metadata=1:Meta spec=2:PodSpec status=3:PodStatus
PodSpec volumes=1:Volume* containers=2:Container* restartPolicy=3:string
    terminationGracePeriodSeconds=4:int64 nodeSelector=7:Pair* serviceAccountName=8:string
    nodeName=10:string hostNetwork=11:bool affinity=18:Affinity schedulerName=19:string
    initContainers=20:Container* tolerations=22:Toleration* priorityClassName=24:string
    priority=25:int32 runtimeClassName=29:string overhead=32:Amount*
    topologySpreadConstraints=33:Spread* schedulingGates=38:Gate* resources=40:Requirements
Volume volumeSource=2:VolumeSource
VolumeSource hostPath=1:Empty emptyDir=2:Empty persistentVolumeClaim=10:ClaimSource ephemeral=29:Empty
RawPod spec=2:bytes
SpecParts volumes=1:bytes* containers=2:bytes* restartPolicy=3:string
    terminationGracePeriodSeconds=4:int64 nodeSelector=7:bytes* serviceAccountName=8:string
    hostNetwork=11:bool affinity=18:bytes schedulerName=19:string initContainers=20:bytes*
    tolerations=22:bytes* priorityClassName=24:string priority=25:int32 runtimeClassName=29:string
    overhead=32:bytes* topologySpreadConstraints=33:bytes* schedulingGates=38:Gate* resources=40:bytes
NamedVolumes volumes=1:NamedVolume*
NamedVolume name=1:string volumeSource=2:VolumeSource
ClaimSource claimName=1:string
Empty
Container name=1:string image=2:string ports=6:Port* resources=8:Requirements restartPolicy=24:string
Port hostPort=2:int32 protocol=4:string hostIP=5:string
Requirements limits=1:Amount* requests=2:Amount*
Toleration key=1:string operator=2:string value=3:string effect=4:string tolerationSeconds=5:int64
Affinity nodeAffinity=1:NodeAffinity podAffinity=2:PodAffinity podAntiAffinity=3:PodAffinity
NodeAffinity required=1:NodeSelector
NodeSelector nodeSelectorTerms=1:NodeTerm*
NodeTerm matchExpressions=1:Requirement* matchFields=2:Requirement*
PodAffinity required=1:PodTerm*
PodTerm labelSelector=1:Selector namespaces=2:string* topologyKey=3:string namespaceSelector=4:Selector
Spread maxSkew=1:int32 topologyKey=2:string whenUnsatisfiable=3:string labelSelector=4:Selector
    minDomains=5:int32 nodeAffinityPolicy=6:string nodeTaintsPolicy=7:string matchLabelKeys=8:string*
Gate name=1:string
PodStatus phase=1:string conditions=2:bytes* reason=4:string podIP=6:string startTime=7:bytes
    containerStatuses=8:ContainerStatus* initContainerStatuses=10:ContainerStatus* nominatedNodeName=11:string
ContainerStatus state=2:ContainerState restartCount=5:int32 imageID=7:string
ContainerState waiting=1:Waiting
Waiting reason=1:string

Node metadata=1:Meta spec=2:NodeSpec status=3:NodeStatus
NodeSpec providerID=3:string unschedulable=4:bool taints=5:Taint*
Taint key=1:string value=2:string effect=3:string
NodeStatus capacity=1:Amount* allocatable=2:Amount* conditions=4:Condition* addresses=5:Address*
    nodeInfo=7:NodeInfo volumesInUse=9:string* volumesAttached=10:Named*
Address type=1:string address=2:string
Named name=1:string
NodeInfo machineID=1:string bootID=3:string kernelVersion=4:string osImage=5:string
    containerRuntimeVersion=6:string kubeletVersion=7:string operatingSystem=9:string
    architecture=10:string

Template metadata=1:TemplateMeta spec=2:bytes
TemplateMeta labels=11:bytes*
RollingUpdate maxUnavailable=1:IntOrString maxSurge=2:IntOrString
Strategy type=1:string rollingUpdate=2:RollingUpdate
Deployment metadata=1:Meta spec=2:DeploymentSpec status=3:DeploymentStatus
DeploymentSpec replicas=1:int32 selector=2:bytes template=3:Template strategy=4:Strategy
    minReadySeconds=5:int32 paused=7:bool progressDeadlineSeconds=9:int32
DeploymentStatus observedGeneration=1:int64 replicas=2:int32 updatedReplicas=3:int32
    readyReplicas=7:int32 availableReplicas=4:int32 terminatingReplicas=9:int32
    conditions=6:AppsCondition*
StatefulSet metadata=1:Meta spec=2:StatefulSetSpec status=3:StatefulSetStatus
StatefulSetSpec replicas=1:int32 selector=2:bytes template=3:Template
    volumeClaimTemplates=4:ClaimTemplate* serviceName=5:string podManagementPolicy=6:string
    updateStrategy=7:OrderedStrategy minReadySeconds=9:int32 ordinals=11:Ordinals
ClaimTemplate metadata=1:Named
OrderedStrategy type=1:string rollingUpdate=2:OrderedUpdate
OrderedUpdate partition=1:int32 maxUnavailable=2:IntOrString
Ordinals start=1:int32
StatefulSetStatus observedGeneration=1:int64 replicas=2:int32 readyReplicas=3:int32
    updatedReplicas=5:int32 currentRevision=6:string updateRevision=7:string availableReplicas=11:int32
ReplicaSet metadata=1:Meta spec=2:ReplicaSetSpec status=3:ReplicaSetStatus
ReplicaSetSpec replicas=1:int32 selector=2:bytes template=3:Template minReadySeconds=4:int32
ReplicaSetStatus replicas=1:int32 observedGeneration=3:int64 readyReplicas=4:int32
    availableReplicas=5:int32
DaemonSet metadata=1:Meta spec=2:DaemonSetSpec status=3:DaemonSetStatus
DaemonSetSpec selector=1:bytes template=2:Template updateStrategy=3:Strategy minReadySeconds=4:int32
DaemonSetStatus currentNumberScheduled=1:int32 numberMisscheduled=2:int32 desiredNumberScheduled=3:int32
    numberReady=4:int32 observedGeneration=5:int64 updatedNumberScheduled=6:int32
    numberAvailable=7:int32
Job metadata=1:Meta spec=2:JobSpec status=3:JobStatus
JobSpec parallelism=1:int32 completions=2:int32 suspend=10:bool
JobStatus conditions=1:Condition* active=4:int32 succeeded=5:int32 failed=6:int32
ControllerRevision metadata=1:Meta revision=3:int64
PodDisruptionBudget metadata=1:Meta spec=2:BudgetSpec status=3:BudgetStatus
BudgetSpec minAvailable=1:IntOrString selector=2:bytes maxUnavailable=3:IntOrString
    unhealthyPodEvictionPolicy=4:string
BudgetStatus observedGeneration=1:int64 disruptedPods=2:KeyOnly* disruptionsAllowed=3:int32
    currentHealthy=4:int32 desiredHealthy=5:int32 expectedPods=6:int32 conditions=7:Condition*
KeyOnly key=1:string
HorizontalPodAutoscaler metadata=1:Meta spec=2:AutoscalerSpec status=3:AutoscalerStatus
AutoscalerSpec scaleTargetRef=1:ScaleTarget minReplicas=2:int32 maxReplicas=3:int32
ScaleTarget kind=1:string name=2:string
AutoscalerStatus currentReplicas=3:int32 desiredReplicas=4:int32

PersistentVolume metadata=1:Meta spec=2:VolumeSpec status=3:Phase
VolumeSpec capacity=1:Amount* persistentVolumeSource=2:VolumeOrigin accessModes=3:string*
    claimRef=4:Reference persistentVolumeReclaimPolicy=5:string storageClassName=6:string
    nodeAffinity=9:NodeAffinity
VolumeOrigin hostPath=3:Empty local=20:Empty csi=22:CsiSource
CsiSource driver=1:string volumeHandle=2:string
Reference namespace=2:string name=3:string uid=4:string
Phase phase=1:string
PersistentVolumeClaim metadata=1:Meta spec=2:ClaimSpec status=3:Phase
ClaimSpec accessModes=1:string* resources=2:Requirements volumeName=3:string storageClassName=5:string
StorageClass metadata=1:Meta provisioner=2:string reclaimPolicy=4:string volumeBindingMode=7:string
    allowedTopologies=8:TopologyTerm*
TopologyTerm matchLabelExpressions=1:TopologyLabel*
TopologyLabel key=1:string values=2:string*
VolumeAttachment metadata=1:Meta spec=2:AttachmentSpec status=3:AttachmentStatus
AttachmentSpec attacher=1:string source=2:AttachmentSource nodeName=3:string
AttachmentSource persistentVolumeName=1:string
AttachmentStatus attached=1:bool

Service metadata=1:Meta spec=2:ServiceSpec
ServiceSpec selector=2:bytes* clusterIP=3:string type=4:string publishNotReadyAddresses=13:bool
Namespace metadata=1:Meta status=3:Phase
Lease metadata=1:Meta spec=2:LeaseSpec
LeaseSpec holderIdentity=1:string leaseDurationSeconds=2:int32 renewTime=4:bytes
    leaseTransitions=5:int32
CustomResourceDefinition metadata=1:Meta spec=2:CrdSpec status=3:CrdStatus
CrdSpec group=1:string names=3:CrdNames scope=4:string versions=7:CrdVersion*
CrdNames plural=1:string kind=4:string
CrdVersion name=1:string served=2:bool storage=3:bool
CrdStatus conditions=1:CrdCondition* storedVersions=3:string*
"""

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "string": _Field.TYPE_STRING,
    "int64": _Field.TYPE_INT64,
    "int32": _Field.TYPE_INT32,
    "bool": _Field.TYPE_BOOL,
    "bytes": _Field.TYPE_BYTES,
}


def _build(schema: str) -> dict[str, Any]:
    """Message classes by name."""
    file = descriptor_pb2.FileDescriptorProto(name="shiplift.proto", package="k", syntax="proto2")
    for name, *fields in map(str.split, re.split(r"\n+(?=\w)", schema.strip())):
        message = file.message_type.add(name=name)
        for field in fields:
            _add_field(message, field)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)  # pyright: ignore[reportUnknownMemberType]
    return {
        message.name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"k.{message.name}"))
        for message in file.message_type
    }


def _add_field(message: descriptor_pb2.DescriptorProto, declared: str) -> None:
    name, _, rest = declared.partition("=")
    number, _, kind = rest.partition(":")
    repeated = kind.endswith("*")
    kind = kind.rstrip("*")
    field = message.field.add(
        name=name, number=int(number), label=_Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
    )
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type, field.type_name = _Field.TYPE_MESSAGE, f".k.{kind}"


MESSAGES = _build(_SCHEMA)
