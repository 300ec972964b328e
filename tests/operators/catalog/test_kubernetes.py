"""What operators say about Kubernetes, and kinds that are served no more, keep a cluster from a version."""

from __future__ import annotations

import pytest

from shiplift.operators.catalog.kubernetes import Kubernetes, objections, read
from shiplift.operators.catalog.kubernetes import highest as highest_of
from tests.operators.catalog.building import bundle

CRD = "apiextensions.k8s.io/v1beta1 CustomResourceDefinition"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.36", Kubernetes(1, 36)),
        ("v1.36.3", Kubernetes(1, 36, 3)),
        ("1.19.0-0", Kubernetes(1, 19, 0)),
        (" 1.30.1+k3s1", Kubernetes(1, 30, 1)),
        ("1", None),
        ("latest", None),
        ("", None),
        ("1.36.", None),
    ],
)
def test_versions_are_read_however_they_are_written(text: str, expected: Kubernetes | None) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    ("fields", "version", "expected"),
    [
        ({}, "1.36", ()),
        ({"min_kubernetes": "1.36.0"}, "1.36", ()),
        ({"min_kubernetes": "1.36.5"}, "1.36", ()),
        ({"min_kubernetes": "1.36.5"}, "1.36.4", ("needs at least Kubernetes 1.36.5",)),
        ({"min_kubernetes": "v1.37.0"}, "1.36", ("needs at least Kubernetes 1.37.0",)),
        ({"min_kubernetes": "soon"}, "1.36", ("its minimum version of Kubernetes cannot be read: 'soon'",)),
        ({"max_kubernetes": "1.36"}, "1.36.9", ()),
        ({"max_kubernetes": "1.36.3"}, "1.36.9", ("runs on Kubernetes 1.36.3 at most",)),
        ({"max_kubernetes": "1.35"}, "1.36", ("runs on Kubernetes 1.35 at most",)),
        ({"max_kubernetes": "?"}, "1.36", ("its maximum version of Kubernetes cannot be read: '?'",)),
        ({"max_openshift": "4.23"}, "1.36", ()),
        ({"max_openshift": "4.9"}, "1.36", ("runs on OpenShift 4.9 at most, which is Kubernetes 1.22",)),
        ({"max_openshift": "3.11"}, "1.36", ("its maximum version of OpenShift cannot be read: '3.11'",)),
        ({"apis": (CRD,)}, "1.21", ()),
        ({"apis": (CRD,)}, "1.22", (f"brings {CRD}, which is not served since Kubernetes 1.22",)),
        ({"apis": ("extensions/v1beta1 Ingress", "v1 Service")}, "1.21", ()),
        (
            {"apis": ("policy/v1beta1 PodDisruptionBudget",), "min_kubernetes": "1.40"},
            "1.36",
            (
                "needs at least Kubernetes 1.40",
                "brings policy/v1beta1 PodDisruptionBudget, which is not served since Kubernetes 1.25",
            ),
        ),
    ],
)
def test_what_speaks_against_a_version_is_told(
    fields: dict[str, object], version: str, expected: tuple[str, ...]
) -> None:
    asked = read(version)
    assert asked
    assert objections(bundle("1.0.0", **fields), asked) == expected


@pytest.mark.parametrize(
    ("most", "openshift", "highest"),
    [
        ("1.36", "", "1.36"),
        ("", "4.20", "1.33"),
        ("1.36", "4.20", "1.33"),
        ("1.33.2", "4.20", "1.33.2"),
        ("1.30", '"4.20"', "1.30"),
        ("", "3.11", ""),
    ],
)
def test_the_lower_of_both_maxima_counts(most: str, openshift: str, highest: str) -> None:
    one = bundle("1.0.0", max_kubernetes=most, max_openshift=openshift)
    assert highest_of(one) == highest
