"""The providers, asked for real: a real API server has the Secrets, a real HTTPS server the policies."""

from __future__ import annotations

import base64
import json
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shiplift.facts.kinds import SECRET
from shiplift.kube.client import Client
from shiplift.kube.documents import DocumentError
from shiplift.kube.errors import KubeError
from shiplift.outside.errors import OutsideError
from shiplift.policy.config import Section
from shiplift.policy.decide.reports import Report, State
from shiplift.policy.document import Wanted
from shiplift.policy.providers.http import HttpProvider
from shiplift.policy.providers.ocm import OcmProvider, channel_of
from tests.outside.https import Asked, Https, Reply, server_context, serving
from tests.policy.held import TOKEN, pull_secret
from tests.policy.ocm_server import AUTH, CLUSTER, EXTERNAL, ROOT, OcmServer, failure

DOCUMENT = b'{"id": "p1", "desired": {"version": "v1.36.3"}, "upgradeAt": "2026-11-20T02:00:00Z"}'
Errors = (OutsideError, KubeError, DocumentError)


def settings(server: Https, keys: Path, said: dict[str, Any]) -> Section:
    reach = {"private": ["127.0.0.0/8"], "authority": (keys / "ca.crt").read_text(), "timeout": "2s"}
    return msgspec.convert({"reach": reach, **said}, Section)


def http(server: Https, keys: Path) -> Section:
    asked = {"url": f"{server.url}/policy.yaml", "token": {"name": "chat", "key": "token"}}
    return settings(server, keys, {"provider": "HTTP", "http": asked})


def ocm(server: Https, keys: Path, **more: Any) -> Section:
    asked = {"baseUrl": server.url, "clusterId": EXTERNAL, "pullSecret": "pull", **more}
    return settings(server, keys, {"provider": "OCM", "ocm": asked})


class Told:
    """An OCM that a test speaks to, and how."""

    def __init__(self, ocm: OcmServer, server: Https, provider: OcmProvider, config: Section) -> None:
        self.ocm, self.server, self._provider, self.config = ocm, server, provider, config

    def ask(self, **more: Any) -> Wanted | None:
        changed = msgspec.structs.replace(self.config.ocm, **more)
        return self._provider.ask(msgspec.structs.replace(self.config, ocm=changed))


@pytest.fixture
def told(client: Client, secrets: str, keys: Path) -> Iterator[Told]:
    made = OcmServer()
    with serving(server_context(keys), made.answer) as server:
        yield Told(made, server, OcmProvider(client, secrets), ocm(server, keys))


# --- OCM ---


def test_a_policy_of_ocm_becomes_an_upgrade_config(told: Told) -> None:
    told.ocm.offer("u-1", "4.20.1")
    found = told.ask()
    assert found is not None
    assert found.id == "u-1"
    assert found.fields == {
        "desired": {"version": "4.20.1", "channel": "stable-4.20"},
        "type": "OpenShift",
        "upgradeAt": "2026-11-20T02:00:00Z",
        "PDBForceDrainTimeout": 60,
    }
    asked = [(one.method, one.path) for one in told.server.asked]
    assert asked == [
        ("GET", f"{ROOT}?search=external_id%20%3D%20%27{EXTERNAL}%27&size=1"),
        ("GET", f"{ROOT}/{CLUSTER}/upgrade_policies?page=1&size=50"),
        ("GET", f"{ROOT}/{CLUSTER}/upgrade_policies/u-1/state"),
    ]
    assert {one.headers["authorization"] for one in told.server.asked} == {f"AccessToken {EXTERNAL}:{AUTH}"}


@pytest.mark.parametrize("state", ["pending", "completed", "cancelled", "Cancelled"])
def test_policies_that_are_not_to_be_followed_are_passed_over(told: Told, state: str) -> None:
    told.ocm.offer("u-1", "4.20.1", state)
    assert told.ask() is None
    told.ocm.offer("u-2", "")
    assert told.ask() is None
    told.ocm.offer("u-3", "4.20.2", "started")
    found = told.ask()
    assert found is not None
    assert found.id == "u-3"


@pytest.mark.parametrize("state", ["scheduled", "started", "delayed", "failed"])
def test_policies_in_other_states_are_followed(told: Told, state: str) -> None:
    told.ocm.offer("u-1", "4.20.1", state)
    assert told.ask() is not None


def test_the_policies_of_a_control_plane_have_their_state_with_them(told: Told) -> None:
    told.ocm.offer("u-1", "4.20.1", "pending")
    told.ocm.offer("u-2", "4.20.2")
    found = told.ask(policies="control_plane_upgrade_policies")
    assert found is not None
    assert found.id == "u-2"
    assert told.server.asked[-1].path == f"{ROOT}/{CLUSTER}/control_plane/upgrade_policies?page=1&size=50"


def test_every_page_is_read(told: Told) -> None:
    told.ocm.largest_page = 3
    for number in range(7):
        told.ocm.offer(f"u-{number}", "4.20.1", "completed")
    told.ocm.offer("u-7", "4.20.2")
    found = told.ask()
    assert found is not None
    assert found.id == "u-7"
    pages = [one.path for one in told.server.asked if "page=" in one.path]
    assert [one[-14:] for one in pages] == ["page=1&size=50", "page=2&size=50", "page=3&size=50"]


def test_pages_that_never_end_are_not_read_for_ever(told: Told) -> None:
    body = json.dumps({"total": 10**6, "items": [{"id": "u", "version": ""}]}).encode()
    told.ocm.instead = lambda asked: Reply(body=body) if "page=" in asked.path else None
    with pytest.raises(OutsideError, match="more than 500 upgrade policies"):
        told.ask()


@pytest.mark.parametrize(
    ("reply", "words", "wait"),
    [
        (failure(401, "CLUSTERS-MGMT-401", "unknown"), "answered 401", None),
        (failure(403, "CLUSTERS-MGMT-403", "banned"), "answered 403", None),
        (failure(404, "CLUSTERS-MGMT-404", "gone"), "answered 404", None),
        (failure(429, "CLUSTERS-MGMT-429", "slow down", ("Retry-After", "120")), "answered 429", 120.0),
        (failure(500, "CLUSTERS-MGMT-500", "oops"), "answered 500", None),
        (Reply(body=b"<html>maintenance</html>"), "the answer cannot be read", None),
        (Reply(body=b'{"items": {}}'), "the answer cannot be read", None),
        (Reply(body=b'{"total": 1, "items": [{"id": 7}]}'), "the answer cannot be read", None),
        (Reply(body=b'{"total": 0, "items": []}'), "it knows 0 clusters with the external id", None),
        (Reply(body=b"{" * 5000, half=True), "no whole answer", None),
        (Reply(stall=True), "no whole answer: timed out", None),
        (Reply(endless=True), "larger than", None),
    ],
    ids=["401", "403", "404", "429", "500", "html", "shape", "type", "unknown", "half", "stall", "endless"],
)
def test_whatever_ocm_answers_is_named(told: Told, reply: Reply, words: str, wait: float | None) -> None:
    told.ocm.offer("u-1", "4.20.1")
    told.ocm.instead = lambda _: reply
    with pytest.raises(OutsideError, match=words) as caught:
        told.ask()
    assert caught.value.retry_after == wait
    told.ocm.instead = None
    assert told.ask() is not None


def test_an_id_of_ocm_cannot_lead_elsewhere(told: Told) -> None:
    told.ocm.cluster["id"] = "../../../accounts"
    with pytest.raises(OutsideError, match="answered 404"):
        told.ask()
    assert told.server.asked[-1].path.startswith(f"{ROOT}/..%2F..%2F..%2Faccounts/")


def test_a_pull_secret_that_was_changed_is_used_at_once(told: Told, client: Client, secrets: str) -> None:
    told.ocm.offer("u-1", "4.20.1")
    assert told.ask() is not None
    told.ocm.auth = "cm90YXRlZC1wdWxsLXNlY3JldA=="
    with pytest.raises(OutsideError, match="answered 401"):
        told.ask()
    uid = client.get(SECRET, "pull", secrets)["metadata"]["uid"]
    data = {"data": {".dockerconfigjson": pull_secret(told.ocm.auth)}}
    client.patch(SECRET, "pull", data, secrets, uid=uid)
    assert told.ask() is not None


@pytest.mark.parametrize(
    ("held", "words"),
    [
        (b"{}", "has no login for cloud.openshift.com"),
        (b"s3cret", "holds no pull secret"),
        (b"[1]", "holds no"),
    ],
)
def test_a_pull_secret_that_is_none_is_named(
    told: Told, client: Client, secrets: str, held: bytes, words: str
) -> None:
    uid = client.get(SECRET, "pull", secrets)["metadata"]["uid"]
    client.delete(SECRET, "pull", secrets, uid=uid)
    data = {".dockerconfigjson": base64.b64encode(held).decode()}
    client.create(SECRET, {"metadata": {"name": "pull"}, "data": data}, secrets)
    with pytest.raises(KubeError, match=f"Secret {secrets}/pull {words}") as caught:
        told.ask()
    assert "s3cret" not in str(caught.value)


def test_a_state_is_reported(told: Told) -> None:
    told.ocm.offer("u-1", "4.20.1")
    provider = told._provider  # pyright: ignore[reportPrivateUsage]
    assert provider.tell(told.config, Report("u-1", State.STARTED, "on its way")).status == 200
    assert provider.tell(told.config, Report("u-9", State.STARTED)).status == 404
    assert told.ocm.told == [("u-1", "started")]
    assert told.server.asked[1].method == "PATCH"
    assert json.loads(told.server.asked[1].body) == {"value": "started", "description": "on its way"}


def test_channels_are_named_as_openshift_names_them() -> None:
    assert channel_of("4.20.1", "stable") == "stable-4.20"
    assert channel_of("4.19.1", "eus") == "eus-4.20"
    assert channel_of("4.18.1", "eus") == "eus-4.18"
    assert channel_of("4.18.0-rc.1", "candidate") == "candidate-4.18"
    with pytest.raises(OutsideError, match="asks for version 'latest'"):
        channel_of("latest", "stable")


# --- HTTP ---


@contextmanager
def documents(keys: Path, *replies: Reply) -> Iterator[Https]:
    waiting = list(replies)
    with serving(server_context(keys), lambda _: waiting.pop(0)) as server:
        yield server


def test_a_document_is_read_and_its_etag_saves_what_has_not_changed(
    client: Client, secrets: str, keys: Path
) -> None:
    tagged = (("ETag", '"v1"'),)
    other = DOCUMENT.replace(b"p1", b"p2")
    with documents(
        keys, Reply(200, DOCUMENT, tagged), Reply(304), Reply(200, other), Reply(200, other)
    ) as server:
        provider, config = HttpProvider(client, secrets), http(server, keys)
        found = [provider.ask(config) for _ in range(4)]
    assert [one.id if one else None for one in found] == ["p1", "p1", "p2", "p2"]
    tags = [one.headers.get("if-none-match") for one in server.asked]
    assert tags == [None, '"v1"', '"v1"', None]
    assert {one.headers["authorization"] for one in server.asked} == {f"Bearer {TOKEN}"}


@pytest.mark.parametrize("reply", [Reply(204), Reply(200, b"policies: []"), Reply(200, b'{"policies": []}')])
def test_no_policy_is_said_outright(client: Client, secrets: str, keys: Path, reply: Reply) -> None:
    with documents(keys, reply) as server:
        assert HttpProvider(client, secrets).ask(http(server, keys)) is None


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(200, b""), "it is empty"),
        (Reply(200, b"null"), "it is empty"),
        (Reply(200, b"{}"), "missing required field `id`"),
        (Reply(200, b"id: [p"), "not YAML"),
        (Reply(200, b"id: p\nid: q\n"), "'id' is there twice"),
        (Reply(200, DOCUMENT.replace(b"upgradeAt", b"paused")), "unknown field `paused`"),
        (Reply(404, b"no such file"), "answered 404: no such file"),
        (Reply(304), "answered 304"),
        (Reply(200, DOCUMENT, half=True), "no whole answer"),
    ],
    ids=["empty", "null", "map", "yaml", "twice", "unknown", "404", "304", "half"],
)
def test_whatever_else_is_no_policy_and_no_absence_of_one(
    client: Client, secrets: str, keys: Path, reply: Reply, words: str
) -> None:
    with documents(keys, reply) as server, pytest.raises(OutsideError, match=words):
        HttpProvider(client, secrets).ask(http(server, keys))


def test_a_token_that_is_missing_is_named(client: Client, namespace: str, keys: Path) -> None:
    with documents(keys) as server, pytest.raises(KubeError, match=f"Secret {namespace}/chat does not exist"):
        HttpProvider(client, namespace).ask(http(server, keys))
    assert not server.asked


# --- tokens ---


def test_no_error_of_a_provider_tells_a_token(told: Told, client: Client, secrets: str, keys: Path) -> None:
    """Every error that can be provoked, from a server that repeats what it was sent."""

    def echo(asked: Asked, status: int = 500, **more: Any) -> Reply:
        said = asked.headers.get("authorization", "")
        return Reply(status, f'{{"total": 1, "items": [{{"id": "{said}", "version": 7}}]}}'.encode(), **more)

    tellings: list[str] = []
    plays: list[Any] = [
        lambda asked: echo(asked, 401),
        lambda asked: echo(asked, 403),
        lambda asked: echo(asked, 500),
        lambda asked: echo(asked, 200),
        lambda asked: echo(asked, 302, headers=(("Location", f"https://x.example/{AUTH}"),)),
        lambda asked: echo(asked, 200, half=True),
        lambda asked: Reply(200, f"id: {asked.headers['authorization']}\nnonsense: 1".encode()),
        lambda asked: Reply(200, f"{asked.headers['authorization']}: [".encode()),
        lambda asked: Reply(200, f"id: p\ndesired: {{version: '{asked.headers['authorization']}'}}".encode()),
        lambda asked: Reply(200, f"a: !{asked.headers['authorization'][7:]} 1".encode()),
    ]
    for play in plays:
        told.ocm.instead = play
        for ask in (told.ask, lambda: HttpProvider(client, secrets).ask(http(told.server, keys))):
            try:
                ask()
            except Errors as error:
                tellings += [str(error), repr(error), "".join(traceback.format_exception(error))]
    assert len(tellings) >= 54
    for secret in (AUTH, TOKEN):
        assert not [one for one in tellings if secret in one]
