"""Through proxies of every kind to a server that wants our certificate: what comes back is whole, the watch's
bytes too, and no key is ever in a file."""

from __future__ import annotations

import base64
import contextlib
import socket
import ssl
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from shiplift.kube.client import Client
from shiplift.kube.credentials import hang_up, load
from shiplift.kube.errors import Unreachable
from shiplift.kube.stream import JSON, Stream
from shiplift.local import pki
from tests.accepting import accepted
from tests.kube.connect_proxy import ConnectProxy, SocksProxy, connect_proxy

SECRET = "s3cret"
BODY = b'{"filler": "' + b"x" * 300_000 + b'"}'


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    pki.write_all(folder)
    return folder


def server_context(keys: Path, *, asks: bool) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(keys / "server.crt", keys / "server.key")
    if asks:
        context.load_verify_locations(keys / "ca.crt")
        context.verify_mode = ssl.CERT_REQUIRED
    return context


class ApiServer:
    """Answers every request of whoever shows a certificate of the cluster's authority."""

    def __init__(self, listener: socket.socket, context: ssl.SSLContext) -> None:
        self._listener, self._context = listener, context
        self.port = listener.getsockname()[1]

    def serve(self) -> None:
        for client in accepted(self._listener):
            threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), self._context.wrap_socket(client, server_side=True) as secure:
            while True:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    if not (byte := secure.recv(1)):
                        return
                    head += byte
                secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY))


@pytest.fixture
def api_server(keys: Path) -> Iterator[ApiServer]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = ApiServer(listener, server_context(keys, asks=True))
        thread = threading.Thread(target=server.serve, daemon=True)
        thread.start()
        yield server
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def kubeconfig(keys: Path, folder: Path, server: ApiServer, proxy: str, host: str = "127.0.0.1") -> Path:
    def data(name: str) -> str:
        return base64.b64encode((keys / name).read_bytes()).decode()

    cluster = {
        "server": f"https://{host}:{server.port}",
        "certificate-authority-data": data("ca.crt"),
        **({"proxy-url": proxy} if proxy else {}),
    }
    user = {"client-certificate-data": data("admin.crt"), "client-key-data": data("admin.key")}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "one",
        "contexts": [{"name": "one", "context": {"cluster": "one", "user": "one"}}],
        "clusters": [{"name": "one", "cluster": cluster}],
        "users": [{"name": "one", "user": user}],
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(config))
    return path


def read_both_ways(path: Path) -> None:
    """A request, twice on one connection, and a stream."""
    credentials = load(path)
    with Client(credentials) as client:
        assert client.raw("GET", "/version") == BODY
        assert client.raw("GET", "/version") == BODY
    with Stream(credentials, connect=5, idle=5) as stream:
        assert b"".join(stream.get("/version", {}, JSON)) == BODY


@pytest.mark.parametrize("login", ["", f"me:{SECRET}"], ids=["no-login", "login"])
@pytest.mark.parametrize("scheme", ["http", "https", "socks5", "socks5h"])
def test_a_proxy_of_any_kind_is_gone_through(
    scheme: str, login: str, keys: Path, tmp_path: Path, api_server: ApiServer
) -> None:
    socks = scheme.startswith("socks")
    kind = SocksProxy if socks else ConnectProxy
    known = login if socks or not login else base64.b64encode(login.encode()).decode()
    tls = server_context(keys, asks=False) if scheme == "https" else None
    with connect_proxy(known, kind, tls) as proxy:
        at = f"{login}@" if login else ""
        path = kubeconfig(keys, tmp_path, api_server, f"{scheme}://{at}127.0.0.1:{proxy.port}")
        read_both_ways(path)
        assert len(proxy.requests) == 2, "one connection for the requests, one for the stream"
        assert str(api_server.port) in proxy.requests[0]


def test_names_are_resolved_by_the_proxy(keys: Path, tmp_path: Path, api_server: ApiServer) -> None:
    with connect_proxy(kind=SocksProxy) as proxy:
        path = kubeconfig(keys, tmp_path, api_server, f"socks5://127.0.0.1:{proxy.port}", "localhost")
        read_both_ways(path)
        assert proxy.requests[0] == f"3 localhost:{api_server.port}"


@pytest.mark.parametrize(
    ("login", "refuses", "said"),
    [("me:other", 0, "the login is wrong"), ("", 5, "the connection was refused"), ("", 99, "answer 99")],
)
def test_a_socks_proxy_that_refuses_us_is_named_without_its_login(
    login: str, refuses: int, said: str, keys: Path, tmp_path: Path, api_server: ApiServer
) -> None:
    with connect_proxy(login, SocksProxy) as proxy:
        proxy.refuses = refuses  # pyright: ignore[reportAttributeAccessIssue]
        path = kubeconfig(keys, tmp_path, api_server, f"socks5://me:{SECRET}@127.0.0.1:{proxy.port}")
        with Client(load(path), timeout=30) as client, pytest.raises(Unreachable, match=said) as error:
            client.raw("GET", "/version")
        assert SECRET not in repr(error.value)


class Overslept(threading.Event):
    """A pause that takes longer than it should, as on a computer that was suspended meanwhile."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait((timeout or 0) + 3)


def test_why_it_failed_is_said_though_no_time_was_left_to_try_again(
    keys: Path, tmp_path: Path, api_server: ApiServer
) -> None:
    with connect_proxy("", SocksProxy) as proxy:
        proxy.refuses = 99  # pyright: ignore[reportAttributeAccessIssue]
        path = kubeconfig(keys, tmp_path, api_server, f"socks5://127.0.0.1:{proxy.port}")
        with Client(load(path), timeout=3) as client:
            client._transport._closed = Overslept()  # pyright: ignore[reportPrivateUsage]
            with pytest.raises(Unreachable, match="answer 99"):
                client.raw("GET", "/version")


def test_a_socks_proxy_that_wants_a_login_is_not_silently_passed(
    keys: Path, tmp_path: Path, api_server: ApiServer
) -> None:
    with connect_proxy("me:pw", SocksProxy) as proxy:
        path = kubeconfig(keys, tmp_path, api_server, f"socks5://127.0.0.1:{proxy.port}")
        with Client(load(path), timeout=30) as client, pytest.raises(Unreachable, match="another login"):
            client.raw("GET", "/version")


def test_a_tls_proxy_with_a_certificate_of_nobody_we_trust_is_not_used(
    keys: Path, tmp_path: Path, api_server: ApiServer
) -> None:
    other = tmp_path / "other"
    pki.write_all(other)
    with connect_proxy(tls=server_context(other, asks=False)) as proxy:
        path = kubeconfig(keys, tmp_path, api_server, f"https://127.0.0.1:{proxy.port}")
        with Client(load(path), timeout=30) as client, pytest.raises(Unreachable, match="not trusted"):
            client.raw("GET", "/version")
        assert proxy.requests == [], "it has not even learnt where we go"


def test_a_stream_through_two_layers_of_tls_can_be_ended_by_another_thread(
    keys: Path, tmp_path: Path, api_server: ApiServer
) -> None:
    with connect_proxy(tls=server_context(keys, asks=False)) as proxy:
        path = kubeconfig(keys, tmp_path, api_server, f"https://127.0.0.1:{proxy.port}")
        with load(path).open(5) as opened:
            opened.settimeout(10)
            threading.Timer(0.2, hang_up, [opened]).start()
            assert opened.recv(10) == b""


def test_a_client_key_is_never_in_a_file(
    keys: Path, tmp_path: Path, api_server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_files(*_: object, **__: object) -> None:
        raise AssertionError("a file was made for a key")

    for name in ("mkstemp", "NamedTemporaryFile", "TemporaryFile"):
        monkeypatch.setattr(tempfile, name, no_files)
    read_both_ways(kubeconfig(keys, tmp_path, api_server, ""))


def test_where_there_are_no_files_in_memory_the_key_s_file_is_gone_at_once(
    keys: Path, tmp_path: Path, api_server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("os.memfd_create")
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(empty))
    read_both_ways(kubeconfig(keys, tmp_path, api_server, ""))
    assert list(empty.iterdir()) == []
