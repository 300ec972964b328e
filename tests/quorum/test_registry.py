"""What a registry may lead us to: redirects, tokens, names; without a registry."""

from __future__ import annotations

import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from shiplift.kube.secrets import Hidden
from shiplift.local import pki
from shiplift.quorum.images import credentials
from shiplift.quorum.images.errors import BadImage, Denied, NotAllowed, RegistryAway
from shiplift.quorum.images.fetching import Https, Page
from shiplift.quorum.images.reference import Reference, allowed
from shiplift.quorum.images.registry import Platform, Registry
from tests.quorum.images_made import digest, image, layer, packed

ZEROS = f"sha256:{'0' * 64}"


@pytest.mark.parametrize(
    ("text", "host", "repository", "tag", "by_digest"),
    [
        ("quay.io/minio/minio:RELEASE.1", "quay.io", "minio/minio", "RELEASE.1", ""),
        (f"reg:5000/minio:a@{ZEROS}", "reg:5000", "minio", "a", ZEROS),
        (f"localhost/minio@{ZEROS}", "localhost", "minio", "", ZEROS),
        ("minio/minio:latest", "docker.io", "minio/minio", "latest", ""),
        ("minio:latest", "docker.io", "library/minio", "latest", ""),
    ],
)
def test_a_name_is_read_as_runtimes_read_it(
    text: str, host: str, repository: str, tag: str, by_digest: str
) -> None:
    assert Reference.read(text) == Reference(host, repository, tag, by_digest)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it has none"),
        ("quay.io/minio/minio", "it has none"),
        ("q.io/x:", "it has none"),
        ("quay.io/../x:1", "'../x' is no repository"),
        ("q.io/a//b:1", "'a//b' is no repository"),
        ("quay.io/x:1@sha256:0", "a digest is sha256: and 64 hexadecimal digits"),
        ("q.io/X:1", "its repository has capital letters"),
        ("https://q.io/x:1", "no http:// or https:// goes before it"),
        ("q.io/a b:1", "it has blanks"),
        ("q.io/x:a/b", "'a/b' is no tag"),
        ("-.io/x:1", "'-.io' is no registry"),
        (f"q.io/{'x' * 256}:1", "its repository has more than 255 characters"),
    ],
)
def test_what_names_no_image_is_refused(text: str, why: str) -> None:
    with pytest.raises(NotAllowed, match=f"is no image with a tag or a digest: {re.escape(why)}$"):
        Reference.read(text)


def test_an_image_from_a_host_that_is_not_trusted_is_refused_by_name() -> None:
    reference = Reference.read("quay.io/minio/minio:1")
    assert allowed(Reference.read("registry.example/x:1"), ()) == {"registry.example"}
    both = allowed(reference, ("quay.io", "mirror.example"))
    assert both == allowed(reference, ()) | {"mirror.example"}
    with pytest.raises(NotAllowed, match=r"comes from quay.io, and trust.registries has registry.example"):
        allowed(reference, ("registry.example",))


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("quay.io/minio/minio:1", "cdn02.quay.io"),
        ("minio/minio:1", "production.cloudflare.docker.com"),
        ("minio/minio:1", "auth.docker.io"),
        ("ghcr.io/minio/minio:1", "pkg-containers.githubusercontent.com"),
    ],
)
def test_layers_of_well_known_registries_are_fetched_from_where_they_keep_them(name: str, host: str) -> None:
    assert host in allowed(Reference.read(name), ())


def test_pull_secrets_are_read_and_not_shown() -> None:
    first = Hidden(b'{"auths":{"https://quay.io/v1/":{"username":"u","password":"p"}}}')
    second = Hidden(b'{"auths":{"quay.io":{"auth":"eDp5"},"https://index.docker.io/v1/":{"auth":"YTpi"}}}')
    found = credentials.merged(credentials.read(one) for one in (first, second))
    assert {host: pair.reveal() for host, pair in found.items()} == {"quay.io": b"u:p", "docker.io": b"a:b"}
    assert "u:p" not in repr(found)
    for bad in (b"", b"[]", b'{"auths":{"quay.io":{"auth":"???"}}}'):
        with pytest.raises(NotAllowed, match="a pull secret"):
            credentials.read(Hidden(bad))


def test_the_old_form_of_a_pull_secret_is_read() -> None:
    found = credentials.read_old(Hidden(b'{"https://quay.io/v1/":{"auth":"eDp5","email":"x@y"}}'))
    assert {host: pair.reveal() for host, pair in found.items()} == {"quay.io": b"x:y"}
    with pytest.raises(NotAllowed, match="a pull secret"):
        credentials.read_old(Hidden(b"[]"))


class Recorded:
    """A registry that wants a token, and what it was shown."""

    def __init__(self, realm: str = "https://auth.example/token") -> None:
        self.made = image(packed(layer()))
        self.shown: list[tuple[str, str]] = []
        self.token: object = "t0ken"
        self._realm = realm

    def page(self, url: str, headers: Mapping[str, str], most: int) -> Page:
        self.shown.append((url, headers.get("Authorization", "")))
        if url.startswith(self._realm):
            return Page(200, {}, json.dumps({"token": self.token}).encode())
        if headers.get("Authorization") != "Bearer t0ken":
            return Page(401, {"www-authenticate": f'Bearer realm="{self._realm}",service="s",scope="x"'}, b"")
        content = self.made.manifest if "/manifests/" in url else self.made.blobs[url.rpartition("/")[2]]
        return Page(200, {}, content)

    def file(self, url: str, headers: Mapping[str, str], digest: str, size: int, target: Path) -> int:
        raise AssertionError("nothing is pulled")


def asked(recorded: Recorded, secrets: Mapping[str, Hidden] | None = None) -> Registry:
    return Registry(recorded, Reference.read("quay.io/minio/minio:1"), secrets or {})


def test_credentials_are_shown_for_a_token_and_the_token_to_the_registry() -> None:
    recorded = Recorded()
    asked(recorded, {"quay.io": Hidden(b"u:p")}).image(Platform())
    assert recorded.shown[:3] == [
        ("https://quay.io/v2/minio/minio/manifests/1", ""),
        ("https://auth.example/token?service=s&scope=repository%3Aminio%2Fminio%3Apull", "Basic dTpw"),
        ("https://quay.io/v2/minio/minio/manifests/1", "Bearer t0ken"),
    ]


@pytest.mark.parametrize("token", [None, 7, "", "two\r\nlines"])
def test_a_token_that_is_none_is_refused(token: object) -> None:
    recorded = Recorded()
    recorded.token = token
    with pytest.raises(BadImage, match="gave no token"):
        asked(recorded).image(Platform())


def test_a_token_that_does_not_do_is_denied() -> None:
    recorded = Recorded()
    recorded.token = "another"
    with pytest.raises(Denied):
        asked(recorded).image(Platform())


class Speaking:
    """A TLS server that says one thing to whoever comes."""

    def __init__(self, folder: Path) -> None:
        self.tls = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        self._own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._own.load_cert_chain(folder / "server.crt", folder / "server.key")
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.host = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.said, self.drips = b"", False
        self.heard: list[bytes] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
                with self._own.wrap_socket(connection, server_side=True) as secured:
                    self.heard.append(secured.recv(65536))
                    secured.sendall(self.said)
                    deadline = time.monotonic() + 25
                    while self.drips and time.monotonic() < deadline:
                        time.sleep(0.05)
                        secured.sendall(b"x")
            except OSError:
                if self._listener.fileno() < 0:
                    return

    def redirects(self, place: str) -> None:
        self.says(302, f"Location: {place}\r\n")

    def says(self, status: int, headers: str = "", body: bytes = b"") -> None:
        self.said = f"HTTP/1.1 {status} X\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Speaking, Speaking, Https]]:
    """Two hosts that are allowed, and the way to them."""
    pki.write_all(tmp_path / "pki")
    one, other = Speaking(tmp_path / "pki"), Speaking(tmp_path / "pki")
    yield one, other, Https(frozenset({one.host, other.host}), time.monotonic() + 10, one.tls)
    one.close()
    other.close()


Pair = tuple[Speaking, Speaking, Https]


def test_a_redirect_to_an_allowed_host_is_followed_without_our_credentials(pair: Pair) -> None:
    one, other, https = pair
    one.redirects(f"https://{other.host}/there?a=b")
    other.says(200, "", b"content")
    page = https.page(f"https://{one.host}/here", {"Authorization": "Basic secret", "Accept": "x"}, 1000)
    assert (page.status, page.body) == (200, b"content")
    assert b"Basic secret" in one.heard[0]
    assert b"secret" not in other.heard[0]
    assert other.heard[0].startswith(b"GET /there?a=b ")


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("https://169.254.169.254/latest/meta-data", "trust.registries does not have it"),
        ("https://127.0.0.1/", "trust.registries does not have it"),
        ("http://{host}/", "only https is"),
        ("file:///etc/passwd", "only https is"),
        ("https://user@{host}/", "only https is"),
        ("//evil.example/", "evil.example .*hint: where the registry keeps its layers there, name both"),
    ],
)
def test_a_redirect_to_anywhere_else_is_not_followed(pair: Pair, place: str, why: str) -> None:
    one, other, https = pair
    one.redirects(place.format(host=other.host))
    with pytest.raises(NotAllowed, match=why):
        https.page(f"https://{one.host}/", {}, 1000)
    assert other.heard == []


def test_redirects_in_a_circle_end(pair: Pair) -> None:
    one, _, https = pair
    one.redirects("/again")
    with pytest.raises(BadImage, match="redirects more than 5 times"):
        https.page(f"https://{one.host}/", {}, 1000)
    assert len(one.heard) == 6


def test_a_page_that_is_too_large_is_given_up(pair: Pair) -> None:
    one, _, https = pair
    one.says(200, "", bytes(2000))
    with pytest.raises(NotAllowed, match="more than 1000 bytes"):
        https.page(f"https://{one.host}/", {}, 1000)


def test_a_page_that_breaks_off_is_none(pair: Pair) -> None:
    one, _, https = pair
    one.said = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"
    with pytest.raises(RegistryAway, match="did not answer in full"):
        https.page(f"https://{one.host}/", {}, 1000)


@pytest.mark.parametrize("content", [b"other", b"right and more", b"righ"])
def test_a_file_that_is_not_its_digest_leaves_nothing(pair: Pair, tmp_path: Path, content: bytes) -> None:
    one, _, https = pair
    one.says(200, "", content)
    with pytest.raises(BadImage, match="what the registry sent is not"):
        https.file(f"https://{one.host}/", {}, digest(b"right"), 5, tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_a_file_comes_whole(pair: Pair, tmp_path: Path) -> None:
    one, _, https = pair
    one.says(200, "", b"right")
    assert https.file(f"https://{one.host}/", {}, digest(b"right"), 5, tmp_path / "file") == 200
    assert (tmp_path / "file").read_bytes() == b"right"


DRIPS = (b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n")


@pytest.mark.parametrize("said", DRIPS, ids=["headers", "body"])
def test_a_registry_that_drips_is_given_up_when_the_time_of_the_pull_is_over(
    pair: Pair, tmp_path: Path, said: bytes
) -> None:
    one, _, _ = pair
    one.said, one.drips = said, True
    https = Https(frozenset({one.host}), time.monotonic() + 0.5, one.tls)
    began = time.monotonic()
    with pytest.raises(RegistryAway, match=r"took too long|timed out|in time"):
        https.file(f"https://{one.host}/", {}, digest(b"x" * 9000), 9000, tmp_path / "file")
    with pytest.raises(RegistryAway, match="took too long"):
        https.page(f"https://{one.host}/", {}, 9000)
    assert time.monotonic() - began < 20
    one.drips = False


def test_a_registry_is_reached_through_the_proxy_that_the_environment_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as proxy:

        def serve() -> None:
            connection, _ = proxy.accept()
            with connection:
                heard.append(connection.recv(4096))
                connection.sendall(b"HTTP/1.1 403 No\r\n\r\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        https = Https(frozenset({"registry.example"}), time.monotonic() + 10)
        with pytest.raises(RegistryAway):
            https.page("https://registry.example/v2/", {}, 1000)
        thread.join(5)
    assert heard[0].startswith(b"CONNECT registry.example:443 ")
