"""The path of a version: minor by minor, kubelets neither ahead nor too far behind, or refused by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.api.nodes import RolloutPass
from shiplift.engine.versions import kubelet_fits, parse
from shiplift.nodes.decide.path import Leg, Path, RefusedError, Running, path_to

CP, KUBELETS, WORKERS = RolloutPass.CONTROL_PLANE, RolloutPass.CONTROL_PLANE_KUBELETS, RolloutPass.WORKERS


def all_of(version: str, workers: str | None = None) -> Running:
    """A cluster of one control-plane node and one worker."""
    return Running(
        control_planes={"cp-1": version},
        control_plane_kubelets={"cp-1": version},
        workers={"w-1": workers or version},
    )


def told(path: Path) -> list[str]:
    return [f"{leg.pass_.value} {leg.version}" for leg in path.legs]


def test_a_patch_goes_over_control_plane_its_kubelets_and_workers() -> None:
    path = path_to("v1.36.3", (), all_of("v1.36.1"))
    assert path.versions == ("v1.36.3",)
    assert told(path) == ["ControlPlane v1.36.3", "ControlPlaneKubelets v1.36.3", "Workers v1.36.3"]


def test_a_control_plane_goes_minor_by_minor_and_workers_once() -> None:
    path = path_to("v1.36.3", ("v1.34.9", "v1.35.6"), all_of("v1.33.2"))
    assert path.versions == ("v1.34.9", "v1.35.6", "v1.36.3")
    assert told(path) == [
        "ControlPlane v1.34.9",
        "ControlPlane v1.35.6",
        "ControlPlane v1.36.3",
        "ControlPlaneKubelets v1.36.3",
        "Workers v1.36.3",
    ]


def test_workers_that_would_lag_too_far_catch_up_on_the_way() -> None:
    path = path_to("v1.36.3", ("v1.34.9", "v1.35.6"), all_of("v1.33.2", workers="v1.32.0"))
    assert told(path) == [
        "ControlPlane v1.34.9",
        "ControlPlane v1.35.6",
        "Workers v1.35.6",
        "ControlPlane v1.36.3",
        "ControlPlaneKubelets v1.36.3",
        "Workers v1.36.3",
    ]
    assert path.legs[2] == Leg(WORKERS, "v1.35.6", (1, 33))


def test_workers_that_lag_already_catch_up_before_anything_else() -> None:
    path = path_to("v1.36.3", (), all_of("v1.35.2", workers="v1.32.1"))
    assert told(path)[0] == "Workers v1.35.2"


def test_who_computes_it_again_in_the_middle_finds_the_rest() -> None:
    half_way = Running(
        control_planes={"cp-1": "v1.35.6", "cp-2": "v1.34.9"},
        control_plane_kubelets={"cp-1": "v1.33.2"},
        workers={"w-1": "v1.33.2"},
    )
    path = path_to("v1.36.3", ("v1.34.9", "v1.35.6"), half_way)
    assert path.versions == ("v1.35.6", "v1.36.3")


def test_other_software_needs_no_version() -> None:
    path = path_to(None, (), all_of("v1.36.1"))
    assert told(path) == ["ControlPlaneKubelets ", "Workers "]
    assert path.versions == ()


def test_a_clouds_control_plane_is_a_fact_and_has_no_pass() -> None:
    path = path_to("v1.36.3", (), Running(others={"the cloud": "v1.36.0"}, workers={"w-1": "v1.34.0"}))
    assert path.versions == ()
    assert CP not in {leg.pass_ for leg in path.legs}


@pytest.mark.parametrize(
    ("target", "via", "running", "why"),
    [
        (
            "v1.36.3",
            (),
            all_of("v1.34.2"),
            "v1.36.3 is more than one minor above v1.34.2, which node cp-1 runs",
        ),
        (
            "v1.36.3",
            ("v1.34.9",),
            all_of("v1.33.2"),
            "v1.36.3 is more than one minor above v1.34.9: name the",
        ),
        ("v2.0.0", (), all_of("v1.36.2"), "v2.0.0 is more than one minor above v1.36.2"),
        (
            "v1.36.3",
            (),
            all_of("v1.36.4"),
            "v1.36.3 is below v1.36.4, which the API server of node cp-1 runs",
        ),
        ("v1.36.3", (), all_of("v1.36.3", "v1.36.5"), "below v1.36.5, which the kubelet of node w-1 runs"),
        ("v1.36.3", (), all_of("v1.36.3-eks-1"), "v1.36.3 has no order with v1.36.3-eks-1"),
        (
            "v1.36.3",
            ("v1.36.3",),
            all_of("v1.36.1"),
            "spec.via of the NodeRollout: v1.36.3 is not below v1.36.3",
        ),
        (
            "v1.36.3",
            ("v1.35.6", "v1.34.9"),
            all_of("v1.33.1"),
            "spec.via of the NodeRollout: v1.35.6 is not below v1.34.9",
        ),
        (
            "v1.36.3",
            (),
            Running(others={"kubernetes": "v1.35.4"}, workers={"w-1": "v1.35.0"}),
            "v1.36.3 is of a later minor than the API server of this cluster, which runs v1.35.4",
        ),
        (
            "v1.36.3",
            (),
            Running(others={"cp-9": "v1.35.4"}, workers={"w-1": "v1.35.0"}),
            "v1.36.3 is of a later minor than the API server of node cp-9, which runs v1.35.4",
        ),
        (
            "v1.36.3",
            (),
            Running(
                control_planes={"cp-1": "v1.35.1"},
                control_plane_kubelets={"cp-1": "v1.35.1"},
                outside={"gpu-1": "v1.32.4"},
            ),
            "node gpu-1, which this NodeRollout does not change, runs v1.32.4, more than 3 minors below",
        ),
    ],
)
def test_a_version_that_cannot_be_reached_is_refused_by_name(
    target: str, via: tuple[str, ...], running: Running, why: str
) -> None:
    with pytest.raises(RefusedError) as refused:
        path_to(target, via, running)
    assert why in str(refused.value)


@given(st.integers(28, 33), st.integers(0, 3), st.integers(0, 3), st.integers(1, 5))
def test_no_leg_takes_a_kubelet_ahead_of_or_too_far_behind_an_api_server(
    minor: int, kubelets_behind: int, workers_behind: int, above: int
) -> None:
    api_server, kubelet = f"v1.{minor}.0", f"v1.{minor - kubelets_behind}.0"
    running = Running(
        control_planes={"cp-1": api_server},
        control_plane_kubelets={"cp-1": kubelet},
        workers={"w-1": f"v1.{minor - workers_behind}.0"},
    )
    via = tuple(f"v1.{minor + one}.1" for one in range(1, above))
    now = {CP: parse(api_server), KUBELETS: parse(kubelet), WORKERS: parse(running.workers["w-1"])}
    for leg in path_to(f"v1.{minor + above}.1", via, running).legs:
        if leg.pass_ is CP:
            assert parse(leg.version).minor <= now[CP].minor + 1
        now[leg.pass_] = parse(leg.version)
        assert kubelet_fits(now[KUBELETS], now[CP])
        assert kubelet_fits(now[WORKERS], now[CP])
    assert {str(one) for one in now.values()} == {f"v1.{minor + above}.1"}
