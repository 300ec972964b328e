"""Bundles become channels by the update graph of their package."""

from __future__ import annotations

import pytest

from shiplift.operators.catalog.model import FaultKind, Package
from shiplift.operators.catalog.releases import Release
from shiplift.operators.catalog.releases import package as released
from tests.operators.catalog.building import bundle, entry, kinds, release


def made(*releases: Release, mode: str = "") -> Package:
    package, faults = released("app", releases, mode)
    assert package
    assert faults == []
    return package


def test_in_replaces_mode_versions_follow_what_they_name() -> None:
    package = made(
        release("1.1.0", replaces="app.v1.0.0", skip_range="<1.1.0"),
        release("1.0.0", "stable", "old"),
        mode="replaces-mode",
    )
    assert [channel.name for channel in package.channels] == ["old", "stable"]
    assert package.channels[1].entries == (entry("1.0.0"), entry("1.1.0", "1.0.0", (), "<1.1.0"))


def test_in_semver_mode_versions_follow_the_next_lower_one_whatever_they_name() -> None:
    package = made(
        release("1.10.0", replaces="app.v0.1.0", skips=("app.v1.9.0",)),
        release("1.9.0", skip_range="<1.0.0"),
        release("1.10.0-rc.1"),
        mode="semver-mode",
    )
    assert package.channels[0].entries == (
        entry("1.9.0", "", (), "<1.0.0"),
        entry("1.10.0-rc.1", "1.9.0"),
        entry("1.10.0", "1.10.0-rc.1"),
    )


def test_where_patches_are_skipped_the_highest_takes_over_from_the_others() -> None:
    package = made(
        *(release(version) for version in ("1.0.0", "1.0.1", "1.1.0", "1.1.1", "1.1.2", "2.0.0")),
        mode="semver-skippatch",
    )
    assert package.channels[0].entries == (
        entry("1.0.1", "", ("1.0.0",)),
        entry("1.1.2", "1.0.1", ("1.1.0", "1.1.1")),
        entry("2.0.0", "1.1.2"),
    )


@pytest.mark.parametrize(
    ("releases", "expected"),
    [
        ((release("1.0.0", "a"), release("1.1.0", "b", "c", default_channel="c")), "c"),
        ((release("1.0.0", "a", default_channel="a"), release("1.1.0", "b", "c")), "a"),
        ((release("1.0.0", "a"), release("1.1.0", "c", "b")), "b"),
        ((release("1.0.0", "a", default_channel="gone"), release("0.1.0", "b", default_channel="b")), "b"),
    ],
)
def test_the_default_channel_is_that_of_the_highest_version_that_names_one(
    releases: tuple[Release, ...], expected: str
) -> None:
    assert made(*releases).default_channel == expected


def test_an_update_graph_that_nobody_knows_is_told() -> None:
    package, faults = released("app", [release("1.0.0")], "semver")
    assert package
    assert kinds(faults) == [FaultKind.UPDATE_GRAPH]
    assert "'semver' is none of replaces-mode" in faults[0].message


def test_bundles_of_one_name_are_told_and_left_out() -> None:
    package, faults = released("app", [release("1.0.0"), release("1.0.0"), release("1.1.0")], "")
    assert package
    assert [one.version for one in package.bundles] == ["1.1.0"]
    assert kinds(faults) == [FaultKind.BUNDLE_TWICE]


def test_a_bundle_without_a_channel_is_told_and_the_others_stay() -> None:
    package, faults = released("app", [release("1.0.0"), Release(bundle=bundle("1.1.0"), channels=())], "")
    assert package
    assert [one.version for one in package.bundles] == ["1.0.0"]
    assert kinds(faults) == [FaultKind.BUNDLE_WITHOUT_CHANNEL]


def test_a_package_without_channels_is_told_and_left_out() -> None:
    package, faults = released("app", [], "")
    assert package is None
    assert kinds(faults) == [FaultKind.NO_CHANNEL]


def test_several_heads_are_told_and_the_channel_stays() -> None:
    package, faults = released("app", [release("1.0.0"), release("1.1.0")], "replaces-mode")
    assert package
    assert package.channels
    assert kinds(faults) == [FaultKind.SEVERAL_HEADS]


def test_a_range_that_cannot_be_read_is_told_and_does_not_count() -> None:
    package, faults = released("app", [release("1.0.0", skip_range="<=one", skips=("",))], "")
    assert package
    assert package.channels[0].entries == (entry("1.0.0"),)
    assert kinds(faults) == [FaultKind.SKIPS, FaultKind.SKIP_RANGE]


def test_versions_without_an_order_are_told_and_one_of_them_stays() -> None:
    package, faults = released("app", [release("1.0.0+b"), release("1.0.0+a")], "semver-mode")
    assert package
    assert package.channels[0].entries == (entry("1.0.0+a"),)
    assert kinds(faults) == [FaultKind.VERSION_TWICE]
