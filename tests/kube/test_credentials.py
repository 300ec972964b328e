"""Kubeconfig files as people write them: merged, located, refused by name, and never shown."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from shiplift.kube.credentials import Credentials, Impersonation, Server, load
from shiplift.kube.credentials.address import parse_proxy, parse_server
from shiplift.kube.credentials.environment import proxy_for
from shiplift.kube.credentials.files import RotatingFile
from shiplift.kube.credentials.loading import in_cluster
from shiplift.kube.errors import CredentialsError

SECRET = "s3cr3t-t0k3n"


@pytest.fixture(autouse=True)
def no_other_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in (
        "KUBECONFIG",
        "KUBERNETES_SERVICE_HOST",
        "HTTPS_PROXY",
        "https_proxy",
        "NO_PROXY",
        "no_proxy",
    ):
        monkeypatch.delenv(name, raising=False)


def entry(cluster: dict[str, Any], user: dict[str, Any] | None = None, name: str = "main") -> dict[str, Any]:
    """A kubeconfig of one cluster, one user and one context."""
    return {
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": "https://example.com:6443", **cluster}}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    }


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


def loaded(tmp_path: Path, cluster: dict[str, Any] | None = None, **user: Any) -> Credentials:
    return load(write(tmp_path / "config", entry(cluster or {}, user)))


def authorization(credentials: Credentials) -> str:
    return dict(credentials.headers()).get("Authorization", "")


def test_the_named_context_is_used_and_else_the_current_one(tmp_path: Path) -> None:
    config = entry({})
    config["clusters"].append({"name": "other", "cluster": {"server": "https://other:1"}})
    config["contexts"].append(
        {"name": "other", "context": {"cluster": "other", "user": "main", "namespace": "shop"}}
    )
    path = write(tmp_path / "config", config)
    assert load(path).server == Server("https", "example.com", 6443)
    assert load(path).namespace == "default"
    assert load(path, "other").server.host == "other"
    assert load(path, "other").namespace == "shop"


def test_of_several_files_the_first_to_name_an_entry_wins_with_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = entry({}, {"token": "first"})
    del first["current-context"]
    second = entry({"server": "https://second:1"}, {"username": "second", "password": "x"})
    second["users"].append({"name": "extra", "user": {"token": "extra"}})
    second["contexts"].append({"name": "extra", "context": {"cluster": "main", "user": "extra"}})
    paths = [write(tmp_path / "a", first), tmp_path / "missing", write(tmp_path / "b", second)]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(["", *map(str, paths), str(paths[0])]))
    assert load().server.host == "example.com"
    assert authorization(load()) == "Bearer first"
    assert authorization(load(context="extra")) == "Bearer extra"


def test_a_path_is_relative_to_the_file_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "one" / "token", "right")
    write(tmp_path / "two" / "token", "wrong")
    one = write(tmp_path / "one" / "config", entry({}, {"tokenFile": "token"}))
    two = write(tmp_path / "two" / "config", entry({}, {"tokenFile": "token"}))
    monkeypatch.setenv("KUBECONFIG", f"{one}{os.pathsep}{two}")
    monkeypatch.chdir(tmp_path / "two")
    assert authorization(load()) == "Bearer right"


def test_the_home_folder_comes_after_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "home" / ".kube" / "config", entry({}, {"token": "home"}))
    assert authorization(load()) == "Bearer home"
    monkeypatch.setenv("KUBECONFIG", str(write(tmp_path / "config", entry({}, {"token": "variable"}))))
    assert authorization(load()) == "Bearer variable"


def test_a_variable_that_names_nothing_is_an_error_and_not_a_fallback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "home" / ".kube" / "config", entry({}))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
    with pytest.raises(CredentialsError, match="missing"):
        load()


def test_nothing_anywhere_says_what_to_do() -> None:
    with pytest.raises(CredentialsError, match="set KUBECONFIG"):
        load()


def test_nulls_are_as_if_not_there(tmp_path: Path) -> None:
    config = entry({"certificate-authority": None, "extensions": None}, {"token": None, "exec": None})
    config["preferences"] = None
    assert load(write(tmp_path / "config", config)).headers() == []


@pytest.mark.parametrize(
    ("cluster", "user", "message"),
    [
        ({"server": ""}, {}, "server of cluster 'main' is empty"),
        ({"server": "https://"}, {}, "server of cluster 'main': not an address"),
        ({"server": "ftp://x"}, {}, "scheme 'ftp'"),
        ({"server": 5}, {}, r"\$\.clusters\[0\]\.cluster\.server"),
        ({"server": "https://x:99999"}, {}, "not an address"),
        ({"certificate-authority-data": "%%%"}, {}, "certificate-authority-data of 'main' is not base64"),
        ({"insecure-skip-tls-verify": True, "certificate-authority": "x"}, {}, "remove one of them"),
        ({"proxy-url": "socks4://localhost:1"}, {}, "socks4 proxies are not supported"),
        ({"proxy-url": "ftp://localhost:1"}, {}, "ftp proxies are not supported"),
        ({}, {"auth-provider": {"name": "gcp"}}, "auth-provider of user 'main' was removed"),
        ({}, {"client-certificate": "x"}, "has no client-key"),
        ({}, {"token": "a", "username": "b"}, "both set"),
        ({}, {"as-groups": ["a"]}, "as of user 'main' is empty"),
        ({}, {"token": 12345}, r"\$\.users\[0\]\.user\.token"),
        ({}, {"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1alpha1"}}, "v1alpha1"),
        ({}, {"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1"}}, "interactiveMode"),
        ({}, {"exec": {"command": "", "apiVersion": "client.authentication.k8s.io/v1beta1"}}, "no command"),
        ({}, {"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}, "command"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_field(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], message: str
) -> None:
    with pytest.raises(CredentialsError, match=message) as error:
        loaded(tmp_path, cluster, **user)
    assert str(tmp_path / "config") in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no current-context"),
        ("current-context: x", "no context 'x'"),
        ("[1, 2", r"not YAML, line \d"),
        ("- a\n- b", "is no kubeconfig: Expected object, got array"),
        ("clusters: 5", "clusters"),
        ("a: &a [b]\nb: [*a, *a]\ncurrent-context: x", "no context 'x'"),
        ("a: &a [*a]", "nested too deeply"),
        ("[" * 5000, "not YAML"),
    ],
)
def test_a_file_that_is_no_kubeconfig_is_refused(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(CredentialsError, match=message):
        load(write(tmp_path / "config", content))


def test_a_small_file_that_unfolds_to_a_huge_one_is_refused(tmp_path: Path) -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
    with pytest.raises(CredentialsError, match="too many values"):
        load(write(tmp_path / "config", bomb))


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shiplift.kube.credentials.kubeconfig.KUBECONFIG_LIMIT", 50)
    with pytest.raises(CredentialsError, match="larger than 50 bytes"):
        load(write(tmp_path / "config", entry({})))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="No such file"):
        load(tmp_path / "missing")


@pytest.mark.parametrize(
    ("cluster", "user"),
    [
        ({}, {"token": SECRET, "exec": {"command": 5}}),
        ({}, {"token": f"{SECRET}\nHost: evil"}),
        ({}, {"username": SECRET, "password": SECRET, "auth-provider": {"name": "x"}}),
        ({"proxy-url": f"socks4://user:{SECRET}@host"}, {}),
        ({"proxy-url": f"http://user:{SECRET}@host:bad"}, {}),
        ({}, {"client-key-data": f"%{SECRET}", "client-certificate-data": "AAAA"}),
    ],
)
def test_an_error_never_shows_a_secret(tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any]) -> None:
    with pytest.raises(CredentialsError) as error:
        loaded(tmp_path, cluster, **user).headers()
    assert SECRET not in repr(error.value)
    assert SECRET not in str(error.value)


def test_a_broken_file_is_refused_without_quoting_it(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError) as error:
        load(write(tmp_path / "config", f"users: [token: {SECRET}, {{"))
    assert SECRET not in repr(error.value)
    assert error.value.__cause__ is None


def test_credentials_never_show_a_secret(tmp_path: Path) -> None:
    plugin = {
        "command": "x",
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "env": [{"name": "A", "value": SECRET}],
    }
    for user in ({"token": SECRET}, {"username": "u", "password": SECRET}, {"exec": plugin}):
        made = loaded(tmp_path, {"proxy-url": f"http://u:{SECRET}@proxy:1"}, **user)
        shown = [repr(made), repr(made.proxy), *(repr(value) for value in vars(made).values())]
        assert SECRET not in " ".join(shown)


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ({"token": "abc"}, "Bearer abc"),
        ({"token": " abc\n"}, "Bearer abc"),
        ({"username": "me", "password": "pw"}, "Basic " + base64.b64encode(b"me:pw").decode()),
        ({}, ""),
    ],
)
def test_the_authorization_header_is_what_the_user_has(
    tmp_path: Path, user: dict[str, str], expected: str
) -> None:
    assert authorization(loaded(tmp_path, **user)) == expected


def test_a_token_file_comes_before_a_token(tmp_path: Path) -> None:
    write(tmp_path / "token", "from-file\n")
    assert authorization(loaded(tmp_path, token="from-config", tokenFile="token")) == "Bearer from-file"


def test_a_token_is_not_sent_in_the_clear(tmp_path: Path) -> None:
    made = loaded(tmp_path, {"server": "http://example.com"}, token=SECRET)
    assert made.headers() == []
    assert made.ssl_context() is None


def test_a_rotated_token_is_used_at_once(tmp_path: Path) -> None:
    file = write(tmp_path / "token", "old")
    made = loaded(tmp_path, tokenFile="token")
    assert authorization(made) == "Bearer old"
    write(tmp_path / "new", "new").rename(file)
    assert authorization(made) == "Bearer new"


def test_a_token_file_that_is_away_for_a_moment_leaves_the_last_token(tmp_path: Path) -> None:
    file = write(tmp_path / "token", "old")
    made = loaded(tmp_path, tokenFile="token")
    assert authorization(made) == "Bearer old"
    file.unlink()
    assert authorization(made) == "Bearer old"
    write(file, "")
    assert authorization(made) == "Bearer old"
    write(file, "newer")
    assert authorization(made) == "Bearer newer"


def test_a_file_that_changes_without_a_trace_is_read_again_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "token", "old")
    rotating = RotatingFile(file, "token")
    assert rotating.read() == b"old"
    before = file.stat()
    write(file, "new")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert rotating.read() == b"old"
    monkeypatch.setattr("shiplift.kube.credentials.files.REREAD_AFTER_SECONDS", 0.0)
    assert rotating.read() == b"new"


def test_to_act_as_somebody_is_one_header_for_each_group_and_value(tmp_path: Path) -> None:
    user = {
        "as": "jane",
        "as-uid": "7",
        "as-groups": ["a", "b"],
        "as-user-extra": {"example.com/Scope": ["x", "y"]},
    }
    expected = [
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-example.com%2FScope", "x"),
        ("Impersonate-Extra-example.com%2FScope", "y"),
    ]
    got = loaded(tmp_path, **user).headers()
    assert [(name.lower(), value) for name, value in got] == [
        (name.lower(), value) for name, value in expected
    ]
    chosen = load(tmp_path / "config", impersonate=Impersonation("joe"))
    assert chosen.headers() == [("Impersonate-User", "joe")]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.com", Server("https", "example.com", 443)),
        ("https://[fd00::1]:6443/", Server("https", "fd00::1", 6443)),
        ("https://example.com/k8s/clusters/c-1/", Server("https", "example.com", 443, "/k8s/clusters/c-1")),
        ("http://localhost:8080", Server("http", "localhost", 8080)),
        ("10.0.0.1:6443", Server("https", "10.0.0.1", 6443)),
    ],
)
def test_a_server_address_is_taken_apart(url: str, expected: Server) -> None:
    assert parse_server(url, "server") == expected


def test_an_address_of_six_is_put_back_in_brackets() -> None:
    assert Server("https", "fd00::1", 6443).url == "https://[fd00::1]:6443"


def test_a_proxys_login_may_hold_any_character() -> None:
    proxy = parse_proxy("http://me%40home:p%3Aw@proxy:3128", "proxy-url")
    assert (proxy.host, proxy.port, proxy.username, proxy.password) == ("proxy", 3128, "me@home", "p:w")


@pytest.mark.parametrize(
    ("host", "listed", "proxied"),
    [
        ("api.example.com", "", True),
        ("api.example.com", "example.com", False),
        ("api.example.com", ".example.com", False),
        ("api.example.com", "*.example.com", False),
        ("example.com", ".example.com", True),
        ("myexample.com", "example.com", True),
        ("api.example.com", "api.example.com:6443", False),
        ("api.example.com", "api.example.com:1", True),
        ("api.example.com", "*", False),
        ("10.1.2.3", "10.0.0.0/8", False),
        ("10.1.2.3", "192.168.0.0/16,10.1.2.3", False),
        ("10.1.2.3", "192.168.0.0/16", True),
        ("fd00::1", "fd00::/8", False),
        ("127.0.0.1", "", False),
        ("localhost", "", False),
    ],
)
def test_the_environments_proxy_is_for_all_but_the_exceptions(
    monkeypatch: pytest.MonkeyPatch, host: str, listed: str, proxied: bool
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example.org:3128")
    monkeypatch.setenv("NO_PROXY", listed)
    assert (proxy_for(Server("https", host, 6443)) is not None) is proxied


def service_account(folder: Path) -> Path:
    write(folder / "token", "pod-token")
    write(folder / "namespace", "shop\n")
    write(folder / "ca.crt", "not read here")
    return folder


@pytest.mark.parametrize("host", ["10.96.0.1", "fd00::1", "[fd00::1]"])
def test_a_pod_finds_its_own_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    made = in_cluster(service_account(tmp_path))
    assert made.server == Server("https", host.strip("[]"), 443)
    assert made.namespace == "shop"
    assert authorization(made) == "Bearer pod-token"


def test_a_pod_with_a_port_that_is_none_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "tcp://10.96.0.1:443")
    with pytest.raises(CredentialsError, match="no port"):
        in_cluster(service_account(tmp_path))


@given(st.text(max_size=200))
def test_no_content_makes_anything_but_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any-config"
    path.write_text(text, encoding="utf-8", errors="replace")
    with pytest.raises(CredentialsError):
        load(path)


@pytest.mark.parametrize(
    ("names", "said"),
    [("/nope", "which does not exist"), ("/nope:/none", "and none of these files exists")],
)
def test_a_kubeconfig_that_is_not_there_is_named_with_the_option_that_names_another(
    monkeypatch: pytest.MonkeyPatch, names: str, said: str
) -> None:
    monkeypatch.setenv("KUBECONFIG", names)
    with pytest.raises(CredentialsError, match=f"KUBECONFIG names {names}, {said}") as raised:
        load()
    assert raised.value.hint == "name a file that is there with --kubeconfig"
