package main

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// keepWhatShipliftReads is the transform of the tuned informer: the same fields as the rows of
// src/shiplift/facts hold, and nothing else.
func keepWhatShipliftReads(object any) (any, error) {
	switch full := object.(type) {
	case *corev1.Pod:
		return &corev1.Pod{ObjectMeta: slimMeta(&full.ObjectMeta), Spec: slimSpec(&full.Spec), Status: slimStatus(&full.Status)}, nil
	case *corev1.Node:
		return slimNode(full), nil
	}
	return object, nil
}

func slimMeta(full *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:              full.Name,
		Namespace:         full.Namespace,
		UID:               full.UID,
		ResourceVersion:   full.ResourceVersion,
		Generation:        full.Generation,
		CreationTimestamp: full.CreationTimestamp,
		DeletionTimestamp: full.DeletionTimestamp,
		Labels:            full.Labels,
		Annotations:       slimAnnotations(full.Annotations),
		OwnerReferences:   full.OwnerReferences,
		Finalizers:        full.Finalizers,
	}
}

func slimAnnotations(full map[string]string) map[string]string {
	var slim map[string]string
	for key, value := range full {
		if !readAnnotation(key) {
			continue
		}
		if slim == nil {
			slim = map[string]string{}
		}
		slim[key] = value
	}
	return slim
}

// readAnnotation mirrors keeps_annotation of src/shiplift/kube/rows/meta.py.
func readAnnotation(key string) bool {
	return keptAnnotations[key] || strings.Contains(key, "shiplift.dev/") || strings.HasPrefix(key, "kapp.k14s.io/change-")
}

var keptAnnotations = map[string]bool{
	"config.kubernetes.io/depends-on":                true,
	"argocd.argoproj.io/sync-wave":                   true,
	"controller.kubernetes.io/pod-deletion-cost":     true,
	"cluster-autoscaler.kubernetes.io/safe-to-evict": true,
	"karpenter.sh/do-not-disrupt":                    true,
	"kubernetes.io/config.mirror":                    true,
	"deployment.kubernetes.io/revision":              true,
	"storageclass.kubernetes.io/is-default-class":    true,
	"volume.kubernetes.io/selected-node":             true,
	"meta.helm.sh/release-name":                      true,
	"kwok.x-k8s.io/node":                             true,
}

func slimSpec(full *corev1.PodSpec) corev1.PodSpec {
	return corev1.PodSpec{
		NodeName:                      full.NodeName,
		Containers:                    slimContainers(full.Containers),
		InitContainers:                slimContainers(full.InitContainers),
		Resources:                     slimResources(full.Resources),
		Overhead:                      full.Overhead,
		Tolerations:                   full.Tolerations,
		NodeSelector:                  full.NodeSelector,
		Affinity:                      slimAffinity(full.Affinity),
		TopologySpreadConstraints:     full.TopologySpreadConstraints,
		Priority:                      full.Priority,
		PriorityClassName:             full.PriorityClassName,
		Volumes:                       slimVolumes(full.Volumes),
		HostNetwork:                   full.HostNetwork,
		TerminationGracePeriodSeconds: full.TerminationGracePeriodSeconds,
		SchedulingGates:               full.SchedulingGates,
		ServiceAccountName:            full.ServiceAccountName,
		SchedulerName:                 full.SchedulerName,
		RestartPolicy:                 full.RestartPolicy,
		RuntimeClassName:              full.RuntimeClassName,
	}
}

func slimContainers(full []corev1.Container) []corev1.Container {
	if len(full) == 0 {
		return nil
	}
	slim := make([]corev1.Container, len(full))
	for i := range full {
		slim[i] = corev1.Container{
			Name:          full[i].Name,
			Image:         full[i].Image,
			RestartPolicy: full[i].RestartPolicy,
			Resources:     corev1.ResourceRequirements{Requests: full[i].Resources.Requests},
			Ports:         hostPorts(full[i].Ports),
		}
	}
	return slim
}

func slimResources(full *corev1.ResourceRequirements) *corev1.ResourceRequirements {
	if full == nil {
		return nil
	}
	return &corev1.ResourceRequirements{Requests: full.Requests}
}

func hostPorts(full []corev1.ContainerPort) []corev1.ContainerPort {
	var slim []corev1.ContainerPort
	for _, port := range full {
		if port.HostPort != 0 {
			slim = append(slim, corev1.ContainerPort{HostPort: port.HostPort, Protocol: port.Protocol, HostIP: port.HostIP})
		}
	}
	return slim
}

// slimAffinity keeps what is required; preferences decide nothing.
func slimAffinity(full *corev1.Affinity) *corev1.Affinity {
	if full == nil {
		return nil
	}
	slim := &corev1.Affinity{}
	if node := full.NodeAffinity; node != nil {
		slim.NodeAffinity = &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: node.RequiredDuringSchedulingIgnoredDuringExecution,
		}
	}
	if pod := full.PodAffinity; pod != nil {
		slim.PodAffinity = &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: pod.RequiredDuringSchedulingIgnoredDuringExecution,
		}
	}
	if anti := full.PodAntiAffinity; anti != nil {
		slim.PodAntiAffinity = &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: anti.RequiredDuringSchedulingIgnoredDuringExecution,
		}
	}
	return slim
}

func slimVolumes(full []corev1.Volume) []corev1.Volume {
	var slim []corev1.Volume
	for _, volume := range full {
		source := corev1.VolumeSource{PersistentVolumeClaim: volume.PersistentVolumeClaim}
		switch {
		case volume.PersistentVolumeClaim != nil:
		case volume.Ephemeral != nil:
			source.Ephemeral = &corev1.EphemeralVolumeSource{}
		case volume.EmptyDir != nil:
			source.EmptyDir = &corev1.EmptyDirVolumeSource{}
		case volume.HostPath != nil:
			source.HostPath = &corev1.HostPathVolumeSource{}
		default:
			continue
		}
		slim = append(slim, corev1.Volume{Name: volume.Name, VolumeSource: source})
	}
	return slim
}

func slimStatus(full *corev1.PodStatus) corev1.PodStatus {
	slim := corev1.PodStatus{
		Phase:             full.Phase,
		Reason:            full.Reason,
		PodIP:             full.PodIP,
		NominatedNodeName: full.NominatedNodeName,
		StartTime:         full.StartTime,
		ContainerStatuses: slimContainerStatuses(full.ContainerStatuses),
	}
	for _, condition := range full.Conditions {
		switch condition.Type {
		case corev1.PodReady, corev1.DisruptionTarget:
			slim.Conditions = append(slim.Conditions, corev1.PodCondition{
				Type: condition.Type, Status: condition.Status, Reason: condition.Reason,
				LastTransitionTime: condition.LastTransitionTime,
			})
		case corev1.PodScheduled:
			if condition.Status == corev1.ConditionFalse {
				slim.Conditions = append(slim.Conditions, condition)
			}
		}
	}
	return slim
}

func slimContainerStatuses(full []corev1.ContainerStatus) []corev1.ContainerStatus {
	slim := make([]corev1.ContainerStatus, len(full))
	for i := range full {
		slim[i] = corev1.ContainerStatus{RestartCount: full[i].RestartCount, ImageID: full[i].ImageID}
		if waiting := full[i].State.Waiting; waiting != nil {
			slim[i].State.Waiting = &corev1.ContainerStateWaiting{Reason: waiting.Reason}
		}
	}
	return slim
}

func slimNode(full *corev1.Node) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: slimMeta(&full.ObjectMeta),
		Spec: corev1.NodeSpec{
			Unschedulable: full.Spec.Unschedulable,
			Taints:        full.Spec.Taints,
			ProviderID:    full.Spec.ProviderID,
		},
		Status: corev1.NodeStatus{
			Capacity:        full.Status.Capacity,
			Allocatable:     full.Status.Allocatable,
			Conditions:      full.Status.Conditions,
			Addresses:       full.Status.Addresses,
			NodeInfo:        full.Status.NodeInfo,
			VolumesInUse:    full.Status.VolumesInUse,
			VolumesAttached: full.Status.VolumesAttached,
		},
	}
}
