"""The page about the protocol says what the code says: its examples are read, its tables are whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shiplift.agent import protocol
from shiplift.agent.loop import AT_REST, AT_WORK
from shiplift.agent.protocol import Operation, Order, Result
from shiplift.api.marks import CORDONED_BEFORE, CORDONED_BY, SKIP_ROLLOUT
from shiplift.local.agents import FAILS, Failure

PAGE = (Path(__file__).parents[2] / "docs/agent-protocol.md").read_text()
EXAMPLES = re.findall(r"^([-a-z.]+\.shiplift\.dev/[-a-z]+): (.+)$", PAGE, re.MULTILINE)
READERS = {
    protocol.CHANGES_ALLOWED: protocol.order_of,
    protocol.READY: protocol.readiness_of,
    protocol.OUTCOME: protocol.outcome_of,
    protocol.AGENT: protocol.agent_of,
}


def column(heading: str) -> list[str]:
    """The first column of the table that begins with this heading, without its quotes."""
    table = PAGE.split(f"| {heading} |", 1)[1].split("\n\n", 1)[0]
    return [line.split("|")[1].strip(" `") for line in table.splitlines()[2:]]


@pytest.mark.parametrize(("key", "text"), [one for one in EXAMPLES if one[0] in READERS])
def test_an_example_is_what_the_code_writes(key: str, text: str) -> None:
    read = READERS[key]({key: text})
    assert read is not None
    assert read.written() == text


def test_every_annotation_and_every_kind_of_order_has_an_example() -> None:
    assert {key for key, _ in EXAMPLES} >= set(READERS)
    orders = [protocol.order_of({key: text}) for key, text in EXAMPLES if key == protocol.CHANGES_ALLOWED]
    given = [order for order in orders if isinstance(order, Order)]
    assert any(order.back for order in given)
    assert any(order.version for order in given)
    assert len({order.reboot for order in given}) == 2


def test_the_versions_of_the_page_are_read() -> None:
    annotations = dict(EXAMPLES)
    assert protocol.desired_versions(annotations) == {"containerd": "2.1.4-1", "kubelet": "1.36.3"}
    assert protocol.current_versions(annotations) == {"kube-apiserver": "v1.36.3", "kubelet": "1.36.3-1.1"}
    assert protocol.fits("1.36.3", "1.36.3-1.1")


def test_the_tables_are_whole() -> None:
    assert column("operation") == [one.value for one in Operation]
    assert column("result") == [one.value for one in Result]
    assert column("value") == [one.value for one in Failure]
    assert {*READERS, CORDONED_BY, CORDONED_BEFORE, SKIP_ROLLOUT} <= set(column("key"))


@pytest.mark.parametrize("operation", list(Operation), ids=lambda one: one.value)
def test_the_page_says_what_needs_a_cordon(operation: Operation) -> None:
    (line,) = (line for line in PAGE.splitlines() if line.startswith(f"| `{operation.value}` |"))
    assert line.endswith("| yes |") is operation.wants_cordon


def test_the_numbers_of_the_page_are_the_codes() -> None:
    assert f"version {protocol.PROTOCOL}, word by word" in PAGE
    assert f"at most {protocol.LONGEST} characters" in PAGE
    assert (AT_REST, AT_WORK) == (60, 10)
    assert "at least once a minute,\nevery ten seconds while an order is under way" in PAGE
    assert f"`{FAILS}`" in PAGE
