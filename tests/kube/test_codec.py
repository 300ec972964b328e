"""Both ways to travel say the same of bookmarks, errors, pages and identities."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shiplift.facts import kinds
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.kube import errors
from shiplift.kube.codec import Bookmark, Codec, Identity, Json, Protobuf, codec_for
from shiplift.kube.errors import BadAnswer
from shiplift.kube.stream import EVENT_LIMIT
from shiplift.kube.wire import MESSAGES


def as_json(message: str, fields: dict[str, Any]) -> bytes:
    return json.dumps(fields).encode()


def as_protobuf(message: str, fields: dict[str, Any]) -> bytes:
    built = dict(fields)
    if "metadata" in built and "annotations" in built["metadata"]:
        pairs = [{"key": key, "value": value} for key, value in built["metadata"]["annotations"].items()]
        built["metadata"] = built["metadata"] | {"annotations": pairs}
    return MESSAGES[message](**built).SerializeToString()


def wrapped(raw: bytes) -> bytes:
    return b"k8s\x00" + MESSAGES["Unknown"](raw=raw).SerializeToString()


def no_row(raw: bytes) -> Row:
    raise AssertionError("nothing is decoded here")


both = pytest.mark.parametrize(
    ("codec", "encoded"), [(Json(no_row), as_json), (Protobuf(no_row), as_protobuf)], ids=["json", "protobuf"]
)


@both
@pytest.mark.parametrize(
    ("annotations", "ends"),
    [
        ({}, False),
        ({"k8s.io/initial-events-end": "true"}, True),
        ({"k8s.io/initial-events-end": "false"}, False),
        ({"other": "true"}, False),
    ],
)
def test_a_bookmark(codec: Codec, encoded: Any, annotations: dict[str, str], ends: bool) -> None:
    raw = encoded("Bookmark", {"metadata": {"resourceVersion": "42", "annotations": annotations}})
    assert codec.bookmark(raw) == Bookmark(42, ends)


@both
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ({"message": "too old", "reason": "Expired", "code": 410}, errors.Gone),
        ({"message": "no", "reason": "Forbidden", "code": 403}, errors.Forbidden),
        ({"message": "what", "reason": "InternalError", "code": 500}, errors.ServerError),
        ({"message": "without a code"}, errors.ServerError),
    ],
)
def test_an_error_in_the_middle_of_a_watch(
    codec: Codec, encoded: Any, status: dict[str, Any], kind: type[Exception]
) -> None:
    error = codec.error(encoded("Status", status))
    assert type(error) is kind
    assert error.message == status["message"]


@both
def test_an_identity(codec: Codec, encoded: Any) -> None:
    about = {"name": "cart", "namespace": "shop", "uid": "u1", "resourceVersion": "7"}
    known = codec.identity(encoded("Identity", {"metadata": about}))
    assert known == Identity("shop", "cart", "u1", 7)
    assert str(known) == "shop/cart"
    assert str(Identity("", "n1", "u2", 8)) == "n1"
    assert codec.identity(encoded("Identity", {})) == Identity("", "", "", 0)


def test_a_page() -> None:
    about = {"resourceVersion": "9", "continue": "more"}
    page = Json(no_row).page(json.dumps({"metadata": about, "items": [{"a": 1}, {"b": 2}]}).encode())
    assert (page.resource_version, page.next) == (9, "more")
    assert [json.loads(item) for item in page.items] == [{"a": 1}, {"b": 2}]
    listed = MESSAGES["List"](metadata=about, items=[b"one", b"two"]).SerializeToString()
    page = Protobuf(no_row).page(wrapped(listed))
    assert (page.items, page.resource_version, page.next) == ([b"one", b"two"], 9, "more")


def test_events() -> None:
    lines = b'{"type":"ADDED","object":{"a":[1, 2]}}\n{"object":{},"type":"DELETED"}\n'
    assert list(Json(no_row).events([lines])) == [("ADDED", b'{"a":[1, 2]}'), ("DELETED", b"{}")]
    event = MESSAGES["WatchEvent"](type="ADDED", object={"raw": wrapped(b"pod")}).SerializeToString()
    frame = len(event).to_bytes(4, "big") + event
    assert list(Protobuf(no_row).events([frame, frame])) == [("ADDED", b"pod")] * 2


@pytest.mark.parametrize("body", [b"", b"k8s", b"{}", b"k8s\x00\xff", wrapped(b"\x0a\xff")])
def test_a_page_that_is_none(body: bytes) -> None:
    with pytest.raises(BadAnswer):
        Protobuf(no_row).page(body)


def test_an_event_too_large_is_refused() -> None:
    with pytest.raises(BadAnswer, match="too large"):
        list(Protobuf(no_row).events([(EVENT_LIMIT + 1).to_bytes(4, "big")]))


def test_each_kind_travels_its_way() -> None:
    assert isinstance(codec_for(kinds.POD), Protobuf)
    assert all(isinstance(codec_for(kind), Json) for kind in kinds.OURS)
    with pytest.raises(KeyError, match="no rows are made of Secret"):
        codec_for(kinds.SECRET)
    with pytest.raises(KeyError, match="Strange"):
        codec_for(Kind("Strange", "stranges", "example.com"))


def test_times_of_our_objects_are_whole_seconds() -> None:
    about = {"name": "one", "creationTimestamp": "2026-11-15T01:02:03Z"}
    row = codec_for(kinds.WORKLOAD_MIGRATION).row(json.dumps({"metadata": about}).encode())
    assert isinstance(row, Custom)
    assert (row.created, row.deleting) == (1794704523, 0)
    assert (row.namespace, row.resource_version) == ("", 0)
