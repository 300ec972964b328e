"""Which taints a pod tolerates, and when it is done."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.facts.nodes import Taint
from shiplift.facts.pods import Toleration
from tests.kube.rows_for_tests import a_pod

GPU = Taint("gpu", "yes", "NoSchedule")
BARE = Taint("gpu", "", "NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "taint", "tolerated"),
    [
        (Toleration("gpu", "Equal", "yes", "NoSchedule"), GPU, True),
        (Toleration("gpu", "Equal", "yes"), GPU, True),
        (Toleration("gpu", "Equal", "no", "NoSchedule"), GPU, False),
        (Toleration("gpu", "Equal", "yes", "NoExecute"), GPU, False),
        (Toleration("fpga", "Equal", "yes", "NoSchedule"), GPU, False),
        (Toleration("gpu", "Equal"), BARE, True),
        (Toleration("gpu", "Equal"), GPU, False),
        (Toleration("gpu", "Exists"), GPU, True),
        (Toleration("gpu", "Exists", effect="NoSchedule"), GPU, True),
        (Toleration("gpu", "Exists", effect="NoExecute"), GPU, False),
        (Toleration("fpga", "Exists"), GPU, False),
        (Toleration(operator="Exists"), GPU, True),
        (Toleration(operator="Exists", effect="NoSchedule"), GPU, True),
        (Toleration(operator="Exists", effect="NoExecute"), GPU, False),
        (Toleration(), BARE, False),
        (Toleration("gpu", "Exists", seconds=5), GPU, True),
        (Toleration("n", "Gt", "5"), Taint("n", "5", "NoSchedule"), False),
        (Toleration("n", "Gt", "5"), Taint("n", "6", "NoSchedule"), False),
        (Toleration("n", "Lt", "5"), Taint("n", "4", "NoSchedule"), False),
    ],
)
def test_a_toleration(toleration: Toleration, taint: Taint, tolerated: bool) -> None:
    assert toleration.tolerates(taint) is tolerated


words = st.sampled_from(["", "a", "b"])
effects = st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])
taints = st.builds(Taint, words.filter(bool), words, effects)


@given(taint=taints)
def test_a_toleration_made_from_a_taint_tolerates_it(taint: Taint) -> None:
    assert Toleration(taint.key, "Equal", taint.value, taint.effect).tolerates(taint)
    assert Toleration(taint.key, "Exists", effect=taint.effect).tolerates(taint)
    assert Toleration(operator="Exists").tolerates(taint)


@given(taint=taints, key=words, value=words, effect=st.one_of(st.just(""), effects))
def test_exists_tolerates_at_least_what_equal_does(taint: Taint, key: str, value: str, effect: str) -> None:
    if Toleration(key, "Equal", value, effect).tolerates(taint):
        assert Toleration(key, "Exists", "", effect).tolerates(taint)


@pytest.mark.parametrize(
    ("phase", "finished"),
    [("Pending", False), ("Running", False), ("Unknown", False), ("Succeeded", True), ("Failed", True)],
)
def test_a_pod_that_has_ended_is_finished(phase: str, finished: bool) -> None:
    pod = msgspec.structs.replace(a_pod("u1"), phase=phase)
    assert pod.finished is finished
