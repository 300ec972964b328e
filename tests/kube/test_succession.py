"""Letting another pod of the operator lead: once, and then not for a while."""

from __future__ import annotations

from shiplift.kube.succession import AGAIN_AFTER, NOBODY, Succession


def test_it_is_not_tried_again_for_a_while() -> None:
    now, asked = [0.0], list[str]()
    succession = Succession(lambda: "uid", asked.append, lambda: now[0])
    assert succession.may_hand_over()
    succession.hand_over("its pod is to go")
    assert (asked, succession.may_hand_over()) == (["its pod is to go"], False)
    assert succession.pending, "until the term has ended"
    succession.over()
    assert (succession.pending, succession.may_hand_over()) == (False, False)
    now[0] = AGAIN_AFTER - 1
    assert not succession.may_hand_over()
    now[0] = AGAIN_AFTER
    assert succession.may_hand_over()


def test_who_runs_in_no_pod_has_none() -> None:
    assert NOBODY.pod() == ""
