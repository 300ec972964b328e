"""What a server knows of what is installed: by its version, and as it says itself."""

from __future__ import annotations

import pytest

from shiplift.facts.kinds import (
    MUTATING_ADMISSION_POLICY,
    MUTATING_ADMISSION_POLICY_BINDING,
    SERVICE_ACCOUNT,
    VALIDATING_ADMISSION_POLICY,
)
from shiplift.kube.client import Client
from shiplift.kube.errors import BadAnswer
from shiplift.kube.served import VersionError, as_asked, by_version, told_apart
from tests.kube.answering import answer, answering


@pytest.mark.parametrize(
    ("version", "minor", "mutates"),
    [
        ("1.33", "1.33", False),
        ("v1.34", "1.34", False),
        ("1.35.4", "1.35", False),
        ("1.36", "1.36", True),
        ("v1.36.3+k3s1", "1.36", True),
        ("v1.36.0-eks-1-36-2", "1.36", True),
        ("1.40", "1.40", True),
    ],
)
def test_mutating_policies_are_known_from_1_36_on(version: str, minor: str, *, mutates: bool) -> None:
    server = by_version(version)
    assert server.version == minor
    assert server.knows(MUTATING_ADMISSION_POLICY) == mutates
    assert server.knows(MUTATING_ADMISSION_POLICY_BINDING) == mutates
    assert server.knows(VALIDATING_ADMISSION_POLICY)


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("1.32", "Kubernetes 1.32 is too old"),
        ("2.0", "'2.0' is no version of Kubernetes"),
        ("latest", "'latest' is no version"),
        ("1.36x", "'1.36x' is no version"),
        ("1.36.x", "'1.36.x' is no version"),
        ("", "'' is no version"),
        ("1.٣٦", "is no version"),
    ],
)
def test_what_is_no_version_or_too_old_is_refused(version: str, why: str) -> None:
    with pytest.raises(VersionError, match=why):
        by_version(version)


def test_what_is_left_out_is_told() -> None:
    manifests = [
        {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "one"}}
        for kind in (SERVICE_ACCOUNT, MUTATING_ADMISSION_POLICY, VALIDATING_ADMISSION_POLICY)
    ]
    known, unknown = told_apart(manifests, by_version("1.34").knows)
    assert (known, unknown) == ([manifests[0], manifests[2]], [manifests[1]])


VERSION = answer(b'{"gitVersion": "v1.34.2"}', Connection="close")


def test_a_server_that_is_asked_says_what_was_switched_on() -> None:
    resources = b'{"resources": [{"name": "mutatingadmissionpolicies"}, {"name": "others"}]}'
    with answering(VERSION, answer(resources, Connection="close")) as server:
        with Client(server.credentials) as client:
            found = as_asked(client, [MUTATING_ADMISSION_POLICY, MUTATING_ADMISSION_POLICY_BINDING])
        assert len(server.requests) == 2
    assert found.version == "1.34"
    assert found.knows(MUTATING_ADMISSION_POLICY)
    assert not found.knows(MUTATING_ADMISSION_POLICY_BINDING)


def test_a_server_that_behaves_as_an_earlier_version_is_taken_for_it() -> None:
    version = b'{"gitVersion": "v1.36.3", "emulationMajor": "1", "emulationMinor": "33"}'
    nothing = answer(b'{"resources": []}', Connection="close")
    with (
        answering(answer(version, Connection="close"), nothing) as server,
        Client(server.credentials) as client,
    ):
        assert as_asked(client, [MUTATING_ADMISSION_POLICY]).version == "1.33"


def test_a_group_that_is_not_there_serves_nothing() -> None:
    gone = answer(b'{"kind": "Status", "reason": "NotFound"}', "404 Not Found", Connection="close")
    with answering(VERSION, gone) as server, Client(server.credentials) as client:
        assert not as_asked(client, [MUTATING_ADMISSION_POLICY]).knows(MUTATING_ADMISSION_POLICY)


def test_what_answers_and_is_no_api_server_is_named() -> None:
    page = answer(b"<html>please log in</html>", Connection="close")
    with (
        answering(page) as server,
        Client(server.credentials) as client,
        pytest.raises(BadAnswer, match="does something before the API server"),
    ):
        as_asked(client, [MUTATING_ADMISSION_POLICY])
