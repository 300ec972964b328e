"""What controller and agent write is what the other side reads; garbage names its annotation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.agent import protocol
from shiplift.agent.protocol import (
    Agent,
    Operation,
    Order,
    Outcome,
    ProtocolError,
    Readiness,
    Reboot,
    Result,
    Token,
)

UIDS = st.uuids().map(str)
TOKENS = st.builds(Token, UIDS, UIDS, st.sampled_from(Operation), st.integers(0, 1000))
TEXTS = st.text(max_size=300)
READERS = [
    (protocol.CHANGES_ALLOWED, protocol.order_of),
    (protocol.READY, protocol.readiness_of),
    (protocol.OUTCOME, protocol.outcome_of),
    (protocol.AGENT, protocol.agent_of),
]


@given(TOKENS)
def test_a_token_is_read_as_it_was_written(token: Token) -> None:
    assert Token.parsed(str(token)) == token
    assert len(str(token)) <= 128


@given(st.builds(Order, TOKENS, st.sampled_from(["", "v1.36.3"]), st.sampled_from(Reboot), st.booleans()))
def test_an_order_is_read_as_it_was_written(order: Order) -> None:
    assert protocol.order_of({protocol.CHANGES_ALLOWED: order.written()}) == order


@given(st.builds(Outcome, TOKENS.map(str), st.sampled_from(Result), TEXTS, st.sampled_from(["", "/a"])))
def test_an_outcome_is_read_as_it_was_written(outcome: Outcome) -> None:
    assert protocol.outcome_of({protocol.OUTCOME: outcome.written()}) == outcome


@given(st.booleans(), TOKENS)
def test_readiness_is_read_as_it_was_written(ready: bool, token: Token) -> None:
    readiness = Readiness(ready, str(token))
    assert protocol.readiness_of({protocol.READY: readiness.written()}) == readiness


def test_an_agent_of_another_protocol_can_still_be_read() -> None:
    agent = Agent("9.0.0", 7, protocol=2)
    assert protocol.agent_of({protocol.AGENT: agent.written()}) == agent


@pytest.mark.parametrize(("key", "reader"), READERS)
def test_what_is_not_there_is_nothing(key: str, reader: object) -> None:
    assert callable(reader)
    assert reader({}) is None
    assert reader({key: ""}) is None


@given(st.text(max_size=3000))
@pytest.mark.parametrize(("key", "reader"), READERS)
def test_garbage_is_refused_by_the_name_of_its_annotation(key: str, reader: object, text: str) -> None:
    assert callable(reader)
    complaint = ""
    try:
        reader({key: text})
    except ProtocolError as error:
        complaint = str(error)
    assert not complaint or key in complaint
    assert len(complaint) < 300


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"protocol":2,"token":"x"}', "protocol '2' is not 1"),
        ('{"token":"Packages.1.a.b"}', "names no protocol"),
        ('{"protocol":1,"token":"x"}', "'x' is no token"),
        ('{"protocol":1,"token":"Dance.1.a.b"}', "'Dance' is no operation"),
        ('{"protocol":1,"token":"Packages.1..b"}', "names no rollout or no node"),
        ('{"protocol":1,"token":7}', "token has to be a text"),
        ('{"protocol":1,"token":"Packages.1.a.b","reboot":"Never"}', "reboot 'Never' is not known"),
        ("[]", "is no JSON object"),
        ("true", "is no JSON object"),
        ("{", "is no JSON"),
    ],
)
def test_a_bad_order_says_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(ProtocolError, match=says):
        protocol.order_of({protocol.CHANGES_ALLOWED: text})


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ('{"protocol":2,"token":"Dance.1.a.b"}', "Dance.1.a.b"),
        ('{"protocol":2,"token":"two words"}', "unreadable"),
        ('{"protocol":2,"token":7}', "7"),
        ('{"protocol":2}', "unreadable"),
        ("{", "unreadable"),
        ("", "unreadable"),
    ],
)
def test_an_order_that_cannot_be_read_is_answered_by_its_token(text: str, token: str) -> None:
    assert protocol.token_text({protocol.CHANGES_ALLOWED: text}) == token


def test_versions_are_found_by_software() -> None:
    annotations = {
        protocol.desired_key("kubelet"): "1.36.3-1",
        protocol.current_key("kubelet"): "1.35.4-1",
        protocol.current_key("containerd"): "1.7.0",
        "node.shiplift.dev/ready": "true x",
        "Bad_Name.shiplift.dev/current-version": "1",
    }
    assert protocol.desired_versions(annotations) == {"kubelet": "1.36.3-1"}
    assert protocol.current_versions(annotations) == {"containerd": "1.7.0", "kubelet": "1.35.4-1"}


def test_only_packages_disturb_pods() -> None:
    assert [one for one in Operation if one.wants_cordon] == [Operation.PACKAGES]


@pytest.mark.parametrize(
    ("desired", "current", "expected"),
    [
        ("1.36.3", "1.36.3", True),
        ("1.36.3", "1.36.3-1.1", True),
        ("1.36.3-1.1", "1.36.3-2.1", False),
        ("1.36.3", "1.36.30", False),
        ("1.36.3", "", False),
    ],
)
def test_a_version_without_a_revision_wants_any_revision(desired: str, current: str, expected: bool) -> None:
    assert protocol.fits(desired, current) is expected
