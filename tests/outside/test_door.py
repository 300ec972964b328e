"""The door, against a real HTTPS server that behaves and one that does not."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from shiplift.kube.secrets import Hidden
from shiplift.outside.door import LONGEST_WAIT, Call, Door, Got, Reach
from shiplift.outside.errors import Answered, Lost, OutsideError, Refused, TooLarge, Unreachable
from tests.kube.connect_proxy import connect_proxy
from tests.outside.https import Asked, Reply, server_context, serving

TOKEN = "c0ffee-5ecret-t0ken"
LOOPBACK = ("127.0.0.0/8",)


def reach(keys: Path, **more: object) -> Reach:
    given = {"private": LOOPBACK, "authority": (keys / "ca.crt").read_text(), "seconds": 5.0, **more}
    return Reach(**given)  # pyright: ignore[reportArgumentType]


def get(url: str, token: bool = True) -> Call:
    return Call("GET", url, token=Hidden(TOKEN.encode()) if token else None)


def said(keys: Path, reply: Reply, **more: object) -> Got:
    with serving(server_context(keys), lambda _: reply) as server:
        return Door(reach(keys, **more)).send(get(f"{server.url}/policy?cluster=7"))


def test_what_was_asked_comes_back(keys: Path) -> None:
    with serving(server_context(keys), lambda asked: Reply(body=asked.path.encode())) as server:
        got = Door(reach(keys)).send(get(f"{server.url}/policy?cluster=7"))
    assert (got.status, got.body) == (200, b"/policy?cluster=7")
    assert server.asked[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert server.asked[0].headers["host"] == f"127.0.0.1:{server.port}"


def test_what_is_sent_arrives_whole(keys: Path) -> None:
    body = b"x" * 300_000
    with serving(server_context(keys), lambda asked: Reply(status=202, body=b"taken")) as server:
        call = Call("PATCH", f"{server.url}/state", (("Content-Type", "application/json"),), body)
        assert Door(reach(keys)).send(call).good().status == 202
    assert server.asked[0].body == body
    assert "authorization" not in server.asked[0].headers


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503])
def test_a_failure_is_named_by_its_status(keys: Path, status: int) -> None:
    got = said(keys, Reply(status, b"no policy for you", (("Retry-After", "7"),)))
    with pytest.raises(Answered, match=f"GET 127.0.0.1: answered {status}: no policy for you") as caught:
        got.good()
    assert (caught.value.status, caught.value.retry_after) == (status, 7.0)


def test_nobody_is_believed_whom_the_authority_does_not_vouch_for(keys: Path) -> None:
    with (
        serving(server_context(keys), lambda _: Reply()) as server,
        pytest.raises(Unreachable, match="certificate that is not trusted"),
    ):
        Door(Reach(private=LOOPBACK)).send(get(server.url))
    assert not server.asked


def test_a_certificate_for_another_name_is_not_believed(keys: Path) -> None:
    door = Door(reach(keys), resolve=lambda _: ["127.0.0.1"])
    with (
        serving(server_context(keys), lambda _: Reply()) as server,
        pytest.raises(Unreachable, match="not trusted"),
    ):
        door.send(get(f"https://policies.example:{server.port}/"))
    assert not server.asked


def test_a_private_address_is_refused_unless_it_is_allowed(keys: Path) -> None:
    with serving(server_context(keys), lambda _: Reply()) as server:
        for host in ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"):
            with pytest.raises(Refused, match="a private address"):
                Door(reach(keys, private=())).send(get(f"https://{host}:{server.port}/"))
    assert not server.asked


def test_a_name_that_changes_its_address_is_judged_at_each_connection(keys: Path) -> None:
    """A name that was public when somebody looked, and leads inside when the call is made."""
    answers = iter([["93.184.215.14"], ["127.0.0.1"]])
    seen: list[str] = []

    def resolve(name: str) -> Sequence[str]:
        seen.append(name)
        return next(answers)

    door = Door(reach(keys, private=(), seconds=0.3), resolve=resolve)
    with serving(server_context(keys), lambda _: Reply()) as server:
        with pytest.raises(Unreachable):
            door.send(get(f"https://localhost:{server.port}/"))
        with pytest.raises(Refused, match=r"localhost is at 127\.0\.0\.1, a private address"):
            door.send(get(f"https://localhost:{server.port}/"))
    assert seen == ["localhost", "localhost"]
    assert not server.asked


def test_of_several_addresses_only_those_that_may_be_are_reached(keys: Path) -> None:
    door = Door(reach(keys), resolve=lambda _: ["10.255.255.1", "127.0.0.1"])
    with serving(server_context(keys), lambda _: Reply(body=b"here")) as server:
        assert door.send(get(f"https://localhost:{server.port}/")).body == b"here"


def test_a_name_that_nobody_finds_in_time_costs_no_more_than_the_call_may(keys: Path) -> None:
    def resolve(_: str) -> Sequence[str]:
        time.sleep(3)
        return []

    begun = time.monotonic()
    with pytest.raises(Unreachable, match="not found in time"):
        Door(reach(keys, seconds=0.2), resolve=resolve).send(get("https://policies.example/"))
    assert time.monotonic() - begun < 2


@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        (Reply(stall=True), Lost, "timed out"),
        (Reply(body=b"x" * 100, drip=True), Lost, "too long|timed out"),
        (Reply(chatter=True), Lost, "too long|timed out"),
        (Reply(body=b"x" * 1000, half=True), Lost, "no whole answer"),
        (Reply(endless=True), TooLarge, "larger than 65536 bytes"),
        (Reply(body=b"x" * 70000), TooLarge, "larger than 65536 bytes"),
    ],
    ids=["stall", "drip", "chatter", "half", "endless", "large"],
)
def test_whatever_the_other_side_does_a_call_ends(
    keys: Path, reply: Reply, error: type[OutsideError], words: str
) -> None:
    begun = time.monotonic()
    with pytest.raises(error, match=words):
        said(keys, reply, seconds=1.0, most=65536)
    assert time.monotonic() - begun < 4


def test_no_address_that_is_odd_is_called(keys: Path) -> None:
    for url in (
        "ftp://policies.example/",
        "https:///x",
        "https://a b/",
        "https://x:99999/",
        "policies",
        "https://ü/",
    ):
        with pytest.raises(Refused, match="not an address that can be called"):
            Door(reach(keys)).send(get(url))
    with pytest.raises(Refused, match=r"the address of policies\.example holds a login"):
        Door(reach(keys)).send(get("https://me:pass@policies.example/"))


def test_a_token_is_sent_by_https_only(keys: Path) -> None:
    with serving(None, lambda _: Reply(body=b"plain")) as server:
        with pytest.raises(Refused, match="a token is sent by https only"):
            Door(reach(keys)).send(get(server.url))
        assert Door(reach(keys)).send(get(server.url, token=False)).body == b"plain"


def test_a_token_that_would_end_its_header_is_not_sent(keys: Path) -> None:
    call = Call("GET", "https://policies.example/", token=Hidden(b"a\r\nX-Evil: 1"))
    with (
        serving(server_context(keys), lambda _: Reply()) as server,
        pytest.raises(Refused, match="not one line of plain characters"),
    ):
        Door(reach(keys)).send(Call("GET", server.url, token=call.token))
    assert not server.asked


@pytest.mark.parametrize(
    ("says", "wait"),
    [
        ("7", 7.0),
        ("99999999999999999999", LONGEST_WAIT),
        ("Mon, 01 Jan 9999 00:00:00 GMT", LONGEST_WAIT),
        ("Mon, 01 Jan 0001 00:00:00 GMT", 0.0),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("Mon, 01 Jan 2030 00:00:00 +99999999999", None),
        ("soon", None),
        ("", None),
    ],
)
def test_whatever_the_other_side_says_of_waiting_is_a_wait_or_none(says: str, wait: float | None) -> None:
    assert Got("GET x", 503, (("Retry-After", says),), b"").retry_after == wait


# --- redirects ---


def redirecting(target: Callable[[], str], status: int = 302) -> Callable[[Asked], Reply]:
    def answer(asked: Asked) -> Reply:
        if asked.path == "/end":
            return Reply(body=b"end")
        return Reply(status, headers=(("Location", target()),))

    return answer


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_the_same_host_is_followed_with_the_token(keys: Path, status: int) -> None:
    with serving(server_context(keys), redirecting(lambda: "/end", status)) as server:
        assert Door(reach(keys)).send(get(server.url)).body == b"end"
    assert [one.headers.get("authorization") for one in server.asked] == [f"Bearer {TOKEN}"] * 2


def test_a_redirect_to_another_port_is_followed_without_the_token(keys: Path) -> None:
    with (
        serving(server_context(keys), lambda _: Reply(body=b"end")) as other,
        serving(server_context(keys), redirecting(lambda: f"{other.url}/end")) as server,
    ):
        assert Door(reach(keys)).send(get(server.url)).body == b"end"
    assert "authorization" not in other.asked[0].headers


def test_a_redirect_elsewhere_is_refused_unless_the_host_is_allowed(keys: Path) -> None:
    with (
        serving(server_context(keys), lambda _: Reply(body=b"end")) as other,
        serving(server_context(keys), redirecting(lambda: f"https://localhost:{other.port}/end")) as server,
    ):
        with pytest.raises(Refused, match="redirected to localhost, which is not allowed"):
            Door(reach(keys)).send(get(server.url))
        assert not other.asked
        allowed = Door(reach(keys, hosts=("localhost",)))
        assert allowed.send(get(server.url)).body == b"end"
    assert "authorization" not in other.asked[0].headers


def test_a_redirect_never_leads_from_https_to_http(keys: Path) -> None:
    with (
        serving(None, lambda _: Reply(body=b"end")) as plain,
        serving(server_context(keys), redirecting(lambda: f"{plain.url}/end")) as server,
        pytest.raises(Refused, match="redirected from https to http"),
    ):
        Door(reach(keys)).send(get(server.url))
    assert not plain.asked


def test_a_redirect_to_a_private_address_is_judged_like_any_other(keys: Path) -> None:
    with (
        serving(server_context(keys), redirecting(lambda: "https://10.0.0.1/latest/meta-data")) as server,
        pytest.raises(Refused, match=r"10\.0\.0\.1 is, a private address"),
    ):
        Door(reach(keys, hosts=("10.0.0.1",))).send(get(server.url))


@pytest.mark.parametrize("target", ["https://[bad", "https://[::1", "https://x:y/", "http:///"])
def test_a_redirect_to_what_is_no_address_is_refused(keys: Path, target: str) -> None:
    with (
        serving(server_context(keys), redirecting(lambda: target)) as server,
        pytest.raises(Refused, match=r"no address|not an address"),
    ):
        Door(reach(keys)).send(get(server.url))


def test_redirects_end(keys: Path) -> None:
    with (
        serving(server_context(keys), redirecting(lambda: "/again")) as server,
        pytest.raises(Refused, match="redirected more than 5 times"),
    ):
        Door(reach(keys)).send(get(server.url))
    assert len(server.asked) == 6


def test_what_changes_something_is_not_redirected(keys: Path) -> None:
    with serving(server_context(keys), redirecting(lambda: "/end")) as server:
        got = Door(reach(keys)).send(Call("POST", server.url, body=b"x"))
    assert got.status == 302
    assert len(server.asked) == 1


# --- proxies ---


def test_the_proxy_of_the_environment_is_used(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy finds names itself: none of them is looked up here."""

    def nobody(name: str) -> Sequence[str]:
        raise AssertionError(f"{name} was looked up")

    with (
        connect_proxy() as proxy,
        serving(server_context(keys), lambda _: Reply(body=b"there")) as server,
    ):
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        door = Door(reach(keys), resolve=nobody)
        with pytest.raises(Refused, match=r"10\.1\.1\.1 is, a private address"):
            door.send(get("https://10.1.1.1/"))
        with pytest.raises(OutsideError):
            door.send(get(f"https://kubernetes:{server.port}/"))
    assert [one.split("\r\n")[0] for one in proxy.requests] == [f"CONNECT kubernetes:{server.port} HTTP/1.1"]


# --- what is told ---


def test_no_token_is_in_anything_that_is_told(keys: Path) -> None:
    echo = f"bad token {TOKEN}, go away".encode()
    tellings: list[str] = []
    replies = [
        Reply(401, echo),
        Reply(500, echo, (("X-Echo", TOKEN),)),
        Reply(body=echo * 100, half=True),
        Reply(body=echo * 9000),
        Reply(302, headers=(("Location", f"https://{TOKEN}.example/"),)),
    ]
    for reply in replies:
        try:
            got = said(keys, reply, most=65536)
            tellings.append(repr(got))
            got.good()
        except OutsideError as error:
            tellings += [str(error), repr(error), "".join(traceback.format_exception(error))]
    tellings += [repr(get("https://policies.example/")), repr(Hidden(TOKEN.encode()))]
    assert len(tellings) >= 17
    assert not [one for one in tellings if TOKEN in one]


def test_neither_part_of_a_token_in_two_parts_is_told(keys: Path) -> None:
    got = Got("GET x", 401, (), b"denied: dGhlLXBhc3N3b3Jk", Hidden(b"7f7f7f7f-aaaa:dGhlLXBhc3N3b3Jk"))
    with pytest.raises(Answered, match="answered 401: denied: …"):
        got.good()


@pytest.mark.parametrize("before", range(len(TOKEN)))
def test_no_head_of_a_token_is_told_where_what_repeats_it_is_cut(before: int) -> None:
    body = ("x" * before + TOKEN * 100).encode()
    with pytest.raises(Answered) as caught:
        Got("GET x", 401, (), body, Hidden(TOKEN.encode())).good()
    assert TOKEN[:4] not in str(caught.value)


def test_a_time_until_which_to_wait_is_heeded_too() -> None:
    def asked(said: str) -> float | None:
        return Got("GET x", 503, (("Retry-After", said),), b"").retry_after

    later = asked(format_datetime(datetime.now(UTC) + timedelta(seconds=600), usegmt=True))
    assert later is not None
    assert 500 < later <= 600
    assert asked("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert asked("Wed, 21 Oct 2099 07:28:00 GMT") == LONGEST_WAIT
    assert asked("soon") is None
    assert asked("") is None


def test_an_authority_or_a_network_that_is_none_is_named() -> None:
    with pytest.raises(Refused, match="no PEM certificates"):
        Door(Reach(authority="nonsense"))
    with pytest.raises(Refused, match="'ten' is no network"):
        Door(Reach(private=("ten",)))
