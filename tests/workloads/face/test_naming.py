"""The workload that is meant is found; a slip is answered with what may be meant."""

from __future__ import annotations

import pytest

from shiplift.face.parts import FaceError, Question
from shiplift.workloads.face.naming import Wanted, resolve, wanted

Key = tuple[str, str, str]
WEB_A: Key = ("Deployment", "a", "web")
WEB_B: Key = ("Deployment", "b", "web")
DB_A: Key = ("StatefulSet", "a", "db")
API_A: Key = ("Deployment", "a", "api")
API_STS: Key = ("StatefulSet", "a", "api")
WEBS_A: Key = ("Deployment", "a", "webs")
THERE = (WEB_A, WEB_B, WEBS_A, DB_A, API_A, API_STS)


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("deploy", "Deployment"),
        ("deployments.apps", "Deployment"),
        ("sts", "StatefulSet"),
        ("statefulset.apps", "StatefulSet"),
        ("pod", "Pod"),
        ("", ""),
    ],
)
def test_kinds_are_named_as_for_kubectl(word: str, kind: str) -> None:
    assert wanted(Question(word, "web", "a")) == Wanted(kind, "web", "a")


@pytest.mark.parametrize(
    ("wanted", "here", "found"),
    [
        (Wanted("Deployment", "web", "b"), "a", WEB_B),
        (Wanted("Deployment", "web", ""), "a", WEB_A),
        (Wanted("Deployment", "web", ""), "b", WEB_B),
        (Wanted("StatefulSet", "db", ""), "default", DB_A),
        (Wanted("", "db", ""), "default", DB_A),
        (Wanted("StatefulSet", "api", ""), "a", API_STS),
    ],
)
def test_the_one_that_is_meant_is_found(wanted: Wanted, here: str, found: Key) -> None:
    assert resolve(wanted, here, THERE) == found


@pytest.mark.parametrize(
    ("wanted", "message", "hint"),
    [
        (
            Wanted("Deployment", "web", ""),
            "there are 2 of Deployment web",
            "one of deploy/web -n a, deploy/web -n b",
        ),
        (
            Wanted("", "api", "a"),
            "there are 2 of workload api in namespace a",
            "one of deploy/api -n a, sts/api -n a",
        ),
        (Wanted("Deployment", "db", ""), "there is no Deployment db", "did you mean sts/db -n a?"),
        (
            Wanted("Deployment", "web", "c"),
            "there is no Deployment web in namespace c",
            "did you mean deploy/web -n a, deploy/web -n b?",
        ),
        (
            Wanted("Deployment", "wbe", "b"),
            "there is no Deployment wbe in namespace b",
            "did you mean deploy/web -n b?",
        ),
        (
            Wanted("Deployment", "xyzzy", ""),
            "there is no Deployment xyzzy",
            "kubectl get deployments,statefulsets -A lists them",
        ),
    ],
)
def test_a_slip_is_answered_with_what_may_be_meant(wanted: Wanted, message: str, hint: str) -> None:
    with pytest.raises(FaceError) as refused:
        resolve(wanted, "default", THERE)
    assert (refused.value.message, refused.value.hint) == (message, hint)


def test_many_choices_are_not_all_listed() -> None:
    many = [("Deployment", f"n{number}", "web") for number in range(9)]
    with pytest.raises(FaceError) as refused:
        resolve(Wanted("Deployment", "web", ""), "default", many)
    assert refused.value.hint.endswith("deploy/web -n n4, 4 more")
