"""Which pods of a node go, end, stay, or must not go; as `kubectl drain` has it, filter by filter."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.drain.filters import judge, judge_all
from shiplift.drain.model import Presence, Reason, Verdict
from shiplift.facts.meta import Owner
from shiplift.facts.pods import Pod
from tests.drain.pods import DAEMON_SET, EVERYTHING, MIRROR, NOW, REPLICA_SET, a_pod, around

EVICT, GOING, LEAVE, CANNOT = Verdict.EVICT, Verdict.GOING, Verdict.LEAVE, Verdict.CANNOT
BARE = a_pod(owner=None)
SCRATCH = a_pod(empty_dir=True)
OF_DAEMON_SET = a_pod(owner=DAEMON_SET)


@pytest.mark.parametrize(
    ("pod", "settings", "verdict", "reasons"),
    [
        (a_pod(), {}, EVICT, ()),
        (a_pod(phase="Pending", ready=False), {}, EVICT, ()),
        (a_pod(host_path=True), {}, EVICT, ()),
        (a_pod(deleting=NOW), {}, GOING, ()),
        (a_pod(owner=None, empty_dir=True, deleting=NOW), {}, GOING, ()),
        (a_pod(deleting=NOW - 61), {"skip_wait_for_delete": 60}, LEAVE, (Reason.LONG_DELETED,)),
        (a_pod(deleting=NOW - 60), {"skip_wait_for_delete": 60}, GOING, ()),
        (OF_DAEMON_SET, {}, LEAVE, (Reason.DAEMON_SET,)),
        (a_pod(owner=DAEMON_SET, deleting=NOW), {}, LEAVE, (Reason.DAEMON_SET,)),
        (a_pod(owner=DAEMON_SET, empty_dir=True), {}, LEAVE, (Reason.DAEMON_SET,)),
        (a_pod(owner=DAEMON_SET, phase="Failed"), {}, EVICT, (Reason.FINISHED,)),
        (a_pod(owner=None, annotations=MIRROR), {}, LEAVE, (Reason.MIRROR,)),
        (a_pod(owner=None, annotations=MIRROR, phase="Failed"), {}, LEAVE, (Reason.MIRROR,)),
        (SCRATCH, {}, CANNOT, (Reason.EMPTY_DIR,)),
        (SCRATCH, {"delete_empty_dir_data": True}, EVICT, (Reason.EMPTY_DIR,)),
        (SCRATCH, {"evict_unmanaged": True}, CANNOT, (Reason.EMPTY_DIR,)),
        (BARE, {}, CANNOT, (Reason.UNMANAGED,)),
        (BARE, {"evict_unmanaged": True}, EVICT, (Reason.UNMANAGED,)),
        (BARE, {"delete_empty_dir_data": True}, CANNOT, (Reason.UNMANAGED,)),
        (a_pod(owner=None, empty_dir=True), {}, CANNOT, (Reason.EMPTY_DIR, Reason.UNMANAGED)),
        (
            a_pod(owner=None, empty_dir=True),
            {"evict_unmanaged": True},
            CANNOT,
            (Reason.EMPTY_DIR,),
        ),
        (
            a_pod(owner=None, empty_dir=True),
            {"evict_unmanaged": True, "delete_empty_dir_data": True},
            EVICT,
            (Reason.EMPTY_DIR, Reason.UNMANAGED),
        ),
        (a_pod(owner=None, phase="Succeeded"), {}, EVICT, (Reason.FINISHED,)),
        (a_pod(empty_dir=True, phase="Failed"), {}, EVICT, (Reason.FINISHED,)),
    ],
)
def test_each_pod_has_a_verdict_and_why(
    pod: Pod, settings: dict[str, Any], verdict: Verdict, reasons: tuple[Reason, ...]
) -> None:
    judged = judge(pod, around(**settings))
    assert (judged.verdict, judged.reasons) == (verdict, reasons)


@pytest.mark.parametrize(
    ("presence", "unmanaged", "verdict", "reason"),
    [
        (Presence.THERE, True, LEAVE, Reason.DAEMON_SET),
        (Presence.GONE, False, CANNOT, Reason.DAEMON_SET_GONE),
        (Presence.GONE, True, EVICT, Reason.DAEMON_SET_GONE),
        (Presence.UNKNOWN, False, CANNOT, Reason.DAEMON_SET_UNKNOWN),
        (Presence.UNKNOWN, True, CANNOT, Reason.DAEMON_SET_UNKNOWN),
    ],
)
def test_a_daemon_set_that_is_gone_is_told_apart_from_one_that_is_not_known(
    presence: Presence, unmanaged: bool, verdict: Verdict, reason: Reason
) -> None:
    judged = judge(OF_DAEMON_SET, around(presence, evict_unmanaged=unmanaged))
    assert (judged.verdict, judged.reasons) == (verdict, (reason,))


def test_only_a_daemon_set_of_kubernetes_is_one() -> None:
    other = Owner("DaemonSet", "proxy", "ds", controller=True, api_version="apps.kruise.io/v1alpha1")
    assert judge(a_pod(owner=other), around()).verdict is EVICT


def test_an_owner_that_is_not_the_controller_brings_no_pod_back() -> None:
    owner = msgspec.structs.replace(REPLICA_SET, controller=False)
    assert judge(a_pod(owner=owner), around()).reasons == (Reason.UNMANAGED,)


@pytest.mark.parametrize(
    ("pod", "late", "verdict"),
    [
        (a_pod(tolerations=(EVERYTHING,)), True, LEAVE),
        (a_pod(tolerations=(EVERYTHING,), deleting=NOW), True, GOING),
        (a_pod(tolerations=(EVERYTHING,)), False, EVICT),
        (a_pod(), True, EVICT),
    ],
)
def test_what_comes_back_to_a_cordoned_node_is_not_evicted_for_ever(
    pod: Pod, late: bool, verdict: Verdict
) -> None:
    assert judge(pod, around(late=late)).verdict is verdict


def test_every_reason_can_be_told() -> None:
    judged = judge(a_pod(owner=None, empty_dir=True), around())
    assert judged.words == "what it keeps in emptyDir volumes is lost; nobody brings it back"


def test_pods_are_told_in_the_order_of_their_names() -> None:
    judged = judge_all([a_pod("b"), a_pod("a", namespace="zoo"), a_pod("a")], around())
    assert [(one.pod.namespace, one.pod.name) for one in judged] == [
        ("shop", "a"),
        ("shop", "b"),
        ("zoo", "a"),
    ]


PODS = st.builds(
    a_pod,
    owner=st.sampled_from([None, REPLICA_SET, DAEMON_SET]),
    empty_dir=st.booleans(),
    deleting=st.sampled_from([0, NOW - 100, NOW]),
    phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "Unknown"]),
    tolerations=st.sampled_from([(), (EVERYTHING,)]),
)
AROUND = st.builds(
    around,
    st.sampled_from(Presence),
    late=st.booleans(),
    delete_empty_dir_data=st.booleans(),
    evict_unmanaged=st.booleans(),
    skip_wait_for_delete=st.sampled_from([0, 10]),
)


@given(PODS, AROUND)
def test_leave_that_is_asked_for_only_ever_lets_more_go(pod: Pod, about: Any) -> None:
    """More permission never turns a pod that goes into one that must not."""
    more = about._replace(settings=about.settings._replace(delete_empty_dir_data=True, evict_unmanaged=True))
    before, after = judge(pod, about), judge(pod, more)
    assert after.verdict is before.verdict or (before.verdict, after.verdict) == (CANNOT, EVICT)
    assert before.verdict is not CANNOT or before.reasons


def test_what_the_operator_itself_keeps_in_temporary_files_is_had_again() -> None:
    assert judge(SCRATCH, around(ours=True)).verdict is EVICT
