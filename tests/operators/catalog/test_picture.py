"""The picture shows every version and arrow once, and what a catalog says is text in it and nothing else."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import pytest

from shiplift.operators.catalog.model import Channel, Entry, Package
from shiplift.operators.catalog.picture import Walk, draw
from tests.operators.catalog.building import bundle, entry, package

SVG = "{http://www.w3.org/2000/svg}"
DRAWN = package(
    entry("1.0.0"),
    entry("1.1.0", "1.0.0"),
    entry("1.2.0", "1.1.0", ("1.0.0",), ">=1.0.0 <1.2.0"),
    old=(entry("1.0.0", "0.9.0"),),
)


WAY = "#d9480f"


def drawn(package: Package, *way: str, channel: str = "stable") -> ElementTree.Element:
    walk = Walk(channel, tuple(f"app.v{version}" for version in way)) if way else None
    return ElementTree.fromstring(draw(package, package.channels, walk))


def taken(svg: ElementTree.Element) -> list[ElementTree.Element]:
    """The arrows of the way, without that of the legend."""
    return [one for one in svg.iter() if one.get("stroke") == WAY][1:]


def begins(path: ElementTree.Element) -> str:
    return path.attrib["d"].partition("Q")[0]


def texts(svg: ElementTree.Element) -> list[str]:
    return [one.text or "" for one in svg.iter(f"{SVG}text")]


def test_every_version_is_a_dot_in_each_of_its_channels() -> None:
    svg = drawn(DRAWN)
    dots = [one.findtext(f"{SVG}title") for one in svg.iter(f"{SVG}circle")][1:]
    assert dots == ["app.v1.0.0", "app.v1.1.0", "app.v1.2.0", "app.v1.0.0"]
    assert texts(svg)[-5:] == ["stable", "old", "1.0.0", "1.1.0", "1.2.0"]


def test_heads_are_marked() -> None:
    heads = [
        one.findtext(f"{SVG}title")
        for one in drawn(DRAWN).iter(f"{SVG}circle")
        if one.get("fill") == "#1c7ed6"
    ]
    assert heads == [None, "app.v1.2.0", "app.v1.0.0"]


def test_a_way_is_drawn_over_the_arrows_that_it_takes() -> None:
    plain, svg = drawn(DRAWN), drawn(DRAWN, "1.0.0", "1.1.0", "1.2.0")
    assert len(taken(svg)) == 2
    assert len(list(svg.iter(f"{SVG}path"))) == len(list(plain.iter(f"{SVG}path"))) + 1


def test_a_way_by_a_range_begins_where_it_begins() -> None:
    by_range = package(entry("1.0.0"), entry("1.1.0"), entry("1.2.0", "", (), ">=1.0.0 <1.2.0"))
    (from_lowest,) = taken(drawn(by_range, "1.0.0", "1.2.0"))
    (from_another,) = taken(drawn(by_range, "1.1.0", "1.2.0"))
    assert begins(from_lowest) != begins(from_another)


@pytest.mark.parametrize("replaces", ["1.0.0", "0.9.0", ""])
def test_a_way_from_a_version_outside_the_channel_comes_from_outside(replaces: str) -> None:
    outside = package(entry("1.1.0", replaces, (), "<1.1.0"), other=(entry("1.0.0"),))
    (arrow,) = taken(drawn(outside, "1.0.0", "1.1.0"))
    assert arrow.findtext(f"{SVG}title") == "the way begins with app.v1.0.0, which is not in this channel"


def test_a_way_is_drawn_in_its_own_channel_only() -> None:
    chain = (entry("1.0.0"), entry("1.1.0", "1.0.0"))
    assert len(taken(drawn(package(*chain, fast=chain), "1.0.0", "1.1.0", channel="fast"))) == 1


def test_the_legend_names_the_way_where_there_is_one() -> None:
    assert "the way" in texts(drawn(DRAWN, "1.0.0", "1.1.0"))
    assert "the way" not in texts(drawn(DRAWN))


@pytest.mark.parametrize("letters", [1, 20, 60, 5000])
def test_labels_lie_within_the_picture(letters: int) -> None:
    svg = drawn(package(entry(f"1.0.0-{'x' * letters}"), entry("1.1.0")), "1.0.0", "1.1.0")
    labels = [one for one in svg.iter(f"{SVG}text") if one.get("transform")]
    for label in labels:
        x, y = map(float, re.findall(r"[\d.]+", label.attrib["transform"])[:2])
        length = 6.6 * len(label.text or "")
        assert x - length * math.cos(math.radians(50)) > 0
        assert y + length * math.sin(math.radians(50)) < float(svg.attrib["height"])
    assert float(svg.attrib["height"]) < 600


def test_the_legend_lies_within_the_picture() -> None:
    svg = drawn(package(entry("1.0.0")), "0.9.0", "1.0.0")
    ends = [float(one.get("x", 0)) + 7.2 * len(one.text or "") for one in svg.iter(f"{SVG}text")]
    assert max(ends) < float(svg.attrib["width"])


def test_a_predecessor_outside_the_channel_is_told() -> None:
    titles = [one.findtext(f"{SVG}title") for one in drawn(DRAWN).iter(f"{SVG}path")]
    assert "replaces app.v0.9.0, which is not in this channel" in titles


def test_what_a_catalog_says_is_text() -> None:
    evil = '"/><script>alert(1)</script>\x00\x1b[31m'
    channel = Channel(evil, (Entry("app.v1.0.0", evil),))
    svg = drawn(Package(evil, evil, (channel,), (bundle("1.0.0"),)))
    assert not list(svg.iter(f"{SVG}script"))
    assert sum("script" in text for text in texts(svg)) == 2
