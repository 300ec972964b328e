"""One GET and its body: whatever the pieces it arrives in, and whatever answers."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiplift.kube import errors, stream
from shiplift.kube.credentials import Credentials
from shiplift.kube.errors import BadAnswer, Unreachable
from shiplift.kube.stream import JSON, Stream, frames, lines, status_as_json, unwrap
from shiplift.kube.wire import MESSAGES
from tests.kube.answering import CHUNKED_HEAD, answer, answering, chunked
from tests.until import until

steady = settings(derandomize=True, deadline=None)


def framed(*events: bytes) -> bytes:
    return b"".join(len(event).to_bytes(4, "big") + event for event in events)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """The same bytes in pieces, empty ones among them."""
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


places = st.lists(st.integers(0, 1 << 20), max_size=12)
events = st.lists(st.binary(max_size=40), max_size=8)
texts = st.lists(st.binary(max_size=40).map(lambda text: text.replace(b"\n", b" ")), max_size=8)


@steady
@given(events=events, places=places)
def test_frames_are_the_same_however_the_bytes_arrive(events: list[bytes], places: list[int]) -> None:
    assert list(frames(cut(framed(*events), places))) == events


@steady
@given(events=texts, places=places)
def test_lines_are_the_same_however_the_bytes_arrive(events: list[bytes], places: list[int]) -> None:
    data = b"".join(event + b"\n" for event in events)
    assert list(lines(cut(data, places))) == [event for event in events if event]


def test_one_byte_at_a_time() -> None:
    data = framed(b"one", b"", b"three" * 100)
    assert list(frames(data[i : i + 1] for i in range(len(data)))) == [b"one", b"", b"three" * 100]
    data = b"one\n\nthree\n"
    assert list(lines(data[i : i + 1] for i in range(len(data)))) == [b"one", b"three"]


def test_an_event_that_broke_off_is_not_an_event() -> None:
    assert list(frames([framed(b"one", b"two")[:-1]])) == [b"one"]
    assert list(frames([framed(b"one") + b"\0\0"])) == [b"one"]
    assert list(lines([b"one\ntw"])) == [b"one"]


def test_an_event_is_given_before_the_next_has_arrived() -> None:
    def chunks() -> Iterator[bytes]:
        yield framed(b"one") + b"\0"
        raise AssertionError("nobody asked for more")

    assert next(frames(chunks())) == b"one"


@steady
@given(places=places)
def test_a_frame_too_large_is_refused_before_it_is_there(places: list[int]) -> None:
    data = framed(b"one") + (stream.EVENT_LIMIT + 1).to_bytes(4, "big") + b"x"
    given = frames(cut(data, places))
    assert next(given) == b"one"
    with pytest.raises(BadAnswer, match=f"{stream.EVENT_LIMIT + 1} bytes is too large"):
        next(given)


@pytest.mark.parametrize("places", [[], [4 + 30], [4 + 50], [4 + 51, 4 + 52], list(range(4 + 53))])
@pytest.mark.parametrize("ended", [True, False])
def test_a_line_too_long_is_refused_however_it_arrives(
    monkeypatch: pytest.MonkeyPatch, places: list[int], ended: bool
) -> None:
    monkeypatch.setattr(stream, "EVENT_LIMIT", 50)
    given = lines(cut(b"one\n" + b"x" * 51 + b"\n" * ended, places))
    assert next(given) == b"one"
    with pytest.raises(BadAnswer, match="more than 50 bytes is too large"):
        next(given)


def test_an_event_of_just_the_limit_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "EVENT_LIMIT", 50)
    assert list(lines([b"x" * 30, b"x" * 20, b"\n"])) == [b"x" * 50]
    assert list(frames([framed(b"x" * 50)])) == [b"x" * 50]


def asked(credentials: Credentials, path: str = "/api", **query: str) -> bytes:
    with Stream(credentials, connect=5, idle=5) as open_stream:
        return b"".join(open_stream.get(path, query, JSON))


def answered(sent: bytes) -> bytes:
    with answering(sent) as server:
        return asked(server.credentials)


def test_the_request_says_what_is_wanted() -> None:
    with answering(answer(b"")) as server:
        authority = server.credentials.server.authority
        asked(server.credentials, "/api/v1/pods", watch="1", fieldSelector="spec.nodeName=a b&c")
    head = server.requests[0].split("\r\n")
    assert head[0] == "GET /api/v1/pods?watch=1&fieldSelector=spec.nodeName%3Da+b%26c HTTP/1.1"
    assert {"Accept: application/json", "Accept-Encoding: identity", "Connection: close"} <= set(head)
    assert f"Host: {authority}" in head


BODY = b"abc" * 100_000


@pytest.mark.parametrize(
    "sent",
    [
        answer(BODY),
        answer(BODY) + b"more than it said",
        chunked(BODY),
        chunked(*(BODY[i : i + 7000] for i in range(0, len(BODY), 7000))),
        CHUNKED_HEAD + b"493E0;name=value\r\n" + BODY + b"\r\n000\r\nTrailer: yes\r\n\r\n",
        CHUNKED_HEAD.replace(b"chunked", b"Chunked") + b"493e0 \r\n" + BODY + b"\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n" + BODY,
        b"HTTP/1.0 200\r\nServer: old\r\n\r\n" + BODY,
        b"HTTP/1.1 200 OK\nContent-Length: 300000\n\n" + BODY,
    ],
    ids=[
        "length",
        "length-and-more",
        "chunk",
        "chunks",
        "extension",
        "case",
        "close",
        "1.0",
        "bare-newlines",
    ],
)
def test_every_kind_of_body_is_read_to_its_end(sent: bytes) -> None:
    assert answered(sent) == BODY


def test_an_empty_body_is_empty() -> None:
    assert answered(answer(b"")) == answered(chunked()) == answered(b"HTTP/1.1 200 OK\r\n\r\n") == b""


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
        CHUNKED_HEAD,
        CHUNKED_HEAD + b"3",
        CHUNKED_HEAD + b"3\r\n",
        CHUNKED_HEAD + b"3\r\nab",
        CHUNKED_HEAD + b"3\r\nabc",
        CHUNKED_HEAD + b"3\r\nabc\r",
        CHUNKED_HEAD + b"3\r\nabc\r\n",
        b"HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\nbut",
    ],
)
def test_an_answer_that_breaks_off_is_never_taken_for_a_whole_one(sent: bytes) -> None:
    with pytest.raises(Unreachable, match="broke off: connection closed"):
        answered(sent)


def test_half_a_chunk_is_not_handed_out() -> None:
    given: list[bytes] = []
    with (
        answering(CHUNKED_HEAD + b"3\r\nabc\r\n3\r\nde") as server,
        Stream(server.credentials, connect=5, idle=5) as open_stream,
        pytest.raises(Unreachable),
    ):
        given.extend(open_stream.get("/api", {}, JSON))
    assert given == [b"abc"]


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"SSH-2.0-OpenSSH\r\n", "did not answer in HTTP"),
        (b"HTTP/2 200\r\n\r\n", "did not answer in HTTP"),
        (b"HTTP/1.1\r\n\r\n", "did not answer in HTTP"),
        (b"HTTP/1.1 two OK\r\n\r\n", "did not answer in HTTP"),
        (b"\x15\x03\x01\x00\x02\x02\x28", "did not answer in HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000 + b"\r\n", "head of the answer is too long"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\n\r\n", "head of the answer is too long"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "length of the answer is not a number"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n", "length of the answer is not a number"),
        (CHUNKED_HEAD + b"zz\r\n", "does not begin with its size"),
        (CHUNKED_HEAD + b"-1\r\n" + b"abc", "does not begin with its size"),
        (CHUNKED_HEAD + b"0x3\r\nabc\r\n", "does not begin with its size"),
        (CHUNKED_HEAD + b"\r\n", "does not begin with its size"),
        (CHUNKED_HEAD + b"3;" + b"x" * 1000 + b"\r\nabc\r\n", "does not begin with its size"),
        (CHUNKED_HEAD + b"3\r\nabcdef\r\n", "longer than it says"),
        (CHUNKED_HEAD + b"fffffff\r\nabc", "a chunk of 268435455 bytes is too large"),
    ],
)
def test_an_answer_that_is_no_answer_is_refused(sent: bytes, said: str) -> None:
    with pytest.raises(BadAnswer, match=said):
        answered(sent)


STATUS = {"kind": "Status", "message": "pods is forbidden", "reason": "Forbidden", "code": 403}


def as_protobuf(status: dict[str, object]) -> bytes:
    unknown = MESSAGES["Unknown"](raw=MESSAGES["Status"](**status).SerializeToString())
    return b"k8s\x00" + unknown.SerializeToString()


@pytest.mark.parametrize(
    ("sent", "kind", "said"),
    [
        (answer(json.dumps(STATUS).encode(), "403 Forbidden"), errors.Forbidden, "pods is forbidden"),
        (
            answer(as_protobuf({"message": "too old", "reason": "Expired", "code": 410}), "410 Gone"),
            errors.Gone,
            "too old",
        ),
        (answer(b"404 page not found\n", "404 Not Found"), errors.NotFound, "404 page not found"),
        (answer(b"", "503 Service Unavailable"), errors.ServerError, "answered 503 and said nothing"),
        (answer(b"<html>Bad Gateway</html>", "502 Bad Gateway"), errors.ServerError, "Bad Gateway"),
        (b"HTTP/1.1 500 No\r\n\r\nall is lost", errors.ServerError, "all is lost"),
        (chunked(b"be", b"gone").replace(b"200", b"410"), errors.Gone, "begone"),
        (answer(b"x" * 1_000_000, "500 Long"), errors.ServerError, "xxx"),
        (answer(b"", "301 Moved", Location="http://elsewhere/"), errors.ApiError, "answered 301"),
    ],
)
def test_a_refusal_is_the_api_error_that_it_is(sent: bytes, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said) as refused:
        answered(sent)
    assert type(refused.value) is kind
    assert len(str(refused.value)) < 1200


def test_a_refusal_says_when_to_come_back() -> None:
    with pytest.raises(errors.Throttled) as refused:
        answered(answer(b"Too many requests", "429 Too Many Requests", Retry_After="7"))
    assert refused.value.retry_after == 7
    status = MESSAGES["Status"](
        message="wait", reason="TooManyRequests", details=MESSAGES["StatusDetails"](retryAfterSeconds=9)
    )
    body = b"k8s\x00" + MESSAGES["Unknown"](raw=status.SerializeToString()).SerializeToString()
    with pytest.raises(errors.Throttled, match="wait") as refused:
        answered(answer(body, "429 Too Many Requests"))
    assert refused.value.retry_after == 9


def test_a_401_makes_the_credentials_fresh() -> None:
    with answering(answer(b"Unauthorized", "401 Unauthorized")) as server:
        credentials = server.credentials
        before = credentials.generation
        with pytest.raises(errors.Unauthorized):
            asked(credentials)
        assert credentials.generation == before + 1


def test_a_server_that_says_nothing_any_more_is_noticed() -> None:
    with answering(CHUNKED_HEAD + b"3\r\nabc\r\n", stay=True) as server:  # noqa: SIM117 - one after the other
        with Stream(server.credentials, connect=5, idle=0.2) as open_stream:
            chunks = open_stream.get("/api", {}, JSON)
            assert next(chunks) == b"abc"
            with pytest.raises(Unreachable, match="nothing was heard any more"):
                next(chunks)


def test_a_read_under_way_ends_when_another_thread_ends_the_stream() -> None:
    ended: list[BaseException | None] = []

    def read(chunks: Iterator[bytes]) -> None:
        error: BaseException | None = None
        try:
            list(chunks)
        except BaseException as raised:
            error = raised
        ended.append(error)

    with (
        answering(CHUNKED_HEAD + b"3\r\nabc\r\n", stay=True) as server,
        Stream(server.credentials, connect=5, idle=30) as open_stream,
    ):
        thread = threading.Thread(target=read, args=(open_stream.get("/api", {}, JSON),))
        thread.start()
        open_stream.end()
        until(lambda: ended)
        thread.join(5)
    assert ended[0] is None or isinstance(ended[0], Unreachable)


def test_an_ended_stream_is_not_opened_any_more() -> None:
    with answering(answer(b"")) as server:
        open_stream = Stream(server.credentials, connect=5, idle=5)
        open_stream.end()
        with pytest.raises(Unreachable, match="ended"):
            open_stream.get("/api", {}, JSON)


def test_nobody_there() -> None:
    with answering(b"") as server:
        credentials = server.credentials
    with pytest.raises(Unreachable, match="cannot connect"):
        asked(credentials)


def test_what_is_not_protobuf_is_a_bad_answer() -> None:
    with pytest.raises(BadAnswer, match="not Kubernetes protobuf"):
        unwrap(b'{"kind":"Status"}')
    with pytest.raises(BadAnswer, match="not a protobuf Unknown"):
        unwrap(b"k8s\x00\x12\xff\xff")
    assert status_as_json(b"plain words") == b"plain words"


@steady
@given(st.binary(max_size=60))
def test_no_bytes_give_any_other_error(body: bytes) -> None:
    with contextlib.suppress(BadAnswer):
        status_as_json(b"k8s\x00" + body)
