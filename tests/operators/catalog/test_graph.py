"""A version is a successor where replaces, skips or skipRange say so, and of nothing else."""

from __future__ import annotations

import pytest

from shiplift.operators.catalog import chains
from shiplift.operators.catalog.graph import By, ChannelGraph
from shiplift.operators.catalog.graph import installed as called
from shiplift.operators.catalog.model import Channel, Entry, FaultKind, Package
from tests.operators.catalog.building import entry, installed, package


def graph(package: Package, channel: str = "stable") -> ChannelGraph:
    found = package.channel(channel)
    assert found
    return ChannelGraph(package, found)


def followers(drawn: ChannelGraph, version: str) -> list[tuple[str, By]]:
    return [(one.bundle.version, one.by) for one in drawn.successors(installed(version))]


def test_a_version_is_followed_by_what_replaces_skips_or_covers_it() -> None:
    drawn = graph(
        package(
            entry("1.0.0"),
            entry("1.1.0", "1.0.0"),
            entry("1.2.0", "1.1.0", ("1.0.0",)),
            entry("1.3.0", "1.2.0", (), ">=1.0.0 <1.3.0"),
        )
    )
    assert followers(drawn, "1.0.0") == [
        ("1.3.0", By.SKIP_RANGE),
        ("1.2.0", By.SKIPS),
        ("1.1.0", By.REPLACES),
    ]
    assert followers(drawn, "1.2.0") == [("1.3.0", By.REPLACES)]
    assert followers(drawn, "1.3.0") == []


def test_a_version_that_the_channel_or_the_catalog_does_not_have_can_be_followed() -> None:
    drawn = graph(package(entry("2.0.0", "1.9.0", (), ">=1.0.0 <1.5.0")))
    assert followers(drawn, "1.9.0") == [("2.0.0", By.REPLACES)]
    assert followers(drawn, "1.4.9") == [("2.0.0", By.SKIP_RANGE)]
    assert followers(drawn, "1.6.0") == []


def test_a_version_never_follows_itself_or_a_higher_one() -> None:
    drawn = graph(package(entry("1.0.0", "2.0.0", (), "<=1.0.0"), entry("2.0.0", "2.0.0")))
    assert followers(drawn, "1.0.0") == []
    assert followers(drawn, "2.0.0") == []


def test_of_several_heads_the_highest_is_the_one_that_the_channel_leads_to() -> None:
    drawn = graph(package(entry("1.9.0"), entry("1.10.0"), entry("1.8.0")))
    assert drawn.heads == ("app.v1.10.0", "app.v1.8.0", "app.v1.9.0")
    assert drawn.head
    assert drawn.head.version == "1.10.0"


def test_what_is_skipped_or_replaced_is_no_head() -> None:
    drawn = graph(package(entry("1.0.0"), entry("1.1.0"), entry("1.2.0", "1.1.0", ("1.0.0",))))
    assert drawn.heads == ("app.v1.2.0",)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ((entry("1.0.0"), entry("1.1.0", "1.0.0")), None),
        ((entry("1.1.0", "0.9.0"),), None),
        ((entry("1.0.0", "1.0.0"),), FaultKind.NO_HEAD),
        ((entry("1.0.0", "1.1.0"), entry("1.1.0", "1.0.0")), FaultKind.NO_HEAD),
        ((entry("1.0.0"), entry("1.1.0")), FaultKind.SEVERAL_HEADS),
        (
            (entry("1.0.0", "1.1.0"), entry("1.1.0", "1.0.0"), entry("1.2.0", "1.1.0")),
            FaultKind.CYCLE,
        ),
        (
            (entry("1.0.0"), entry("1.1.0", "1.0.0"), entry("1.2.0", "0.9.0", ("1.1.0",))),
            FaultKind.STRANDED,
        ),
        ((entry("1.0.0"), entry("1.1.0"), entry("1.2.0", "1.1.0", ("1.1.0", "1.0.0"))), None),
    ],
)
def test_a_channel_should_be_one_chain(entries: tuple[Entry, ...], expected: FaultKind | None) -> None:
    assert [kind for kind, _ in chains.findings(Channel("stable", entries))] == (
        [expected] if expected else []
    )


def test_a_circle_is_told_by_the_versions_in_it() -> None:
    circle = Channel("stable", (entry("1.0.0", "1.1.0"), entry("1.1.0", "1.0.0"), entry("1.2.0", "1.1.0")))
    ((_, message),) = chains.findings(circle)
    assert message == "channel stable goes in a circle: app.v1.1.0, app.v1.0.0, app.v1.1.0"


def test_a_long_chain_is_no_matter() -> None:
    entries = [entry("0.0.0"), *(entry(f"0.0.{n}", f"0.0.{n - 1}") for n in range(1, 50_000))]
    assert list(chains.findings(Channel("stable", tuple(entries)))) == []


def test_what_is_installed_may_be_called_by_name_or_version() -> None:
    known = package(entry("1.0.0"))
    for name in ("app.v1.0.0", "1.0.0", "v1.0.0"):
        assert called(known, name) == installed("1.0.0")
    unknown = called(known, "v0.1.0")
    assert unknown
    assert (unknown.name, str(unknown.version)) == ("v0.1.0", "0.1.0")
    assert called(known, "latest") is None
