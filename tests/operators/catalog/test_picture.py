"""The picture shows every version and arrow once, and what a catalog says is text in it and nothing else."""

from __future__ import annotations

from xml.etree import ElementTree

from shiplift.operators.catalog.model import Channel, Entry, Package
from shiplift.operators.catalog.picture import draw
from tests.operators.catalog.building import bundle, entry, package

SVG = "{http://www.w3.org/2000/svg}"
DRAWN = package(
    entry("1.0.0"),
    entry("1.1.0", "1.0.0"),
    entry("1.2.0", "1.1.0", ("1.0.0",), ">=1.0.0 <1.2.0"),
    old=(entry("1.0.0", "0.9.0"),),
)


def drawn(package: Package, *way: str) -> ElementTree.Element:
    return ElementTree.fromstring(draw(package, package.channels, way))


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
    svg = drawn(DRAWN, "app.v1.0.0", "app.v1.1.0", "app.v1.2.0")
    taken = [one for one in svg.iter() if one.get("stroke") == "#d9480f"]
    assert len(taken) == 2


def test_a_predecessor_outside_the_channel_is_told() -> None:
    titles = [one.findtext(f"{SVG}title") for one in drawn(DRAWN).iter(f"{SVG}path")]
    assert "replaces app.v0.9.0, which is not in this channel" in titles


def test_what_a_catalog_says_is_text() -> None:
    evil = '"/><script>alert(1)</script>\x00\x1b[31m'
    channel = Channel(evil, (Entry("app.v1.0.0", evil),))
    svg = drawn(Package(evil, evil, (channel,), (bundle("1.0.0"),)))
    assert not list(svg.iter(f"{SVG}script"))
    assert sum("script" in text for text in texts(svg)) == 2
