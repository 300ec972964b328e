"""The kubelet's kubeconfig is read as kubeadm and the kubelet write it; all else is refused by its line."""

from __future__ import annotations

import base64
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from shiplift.agent.door import kubeconfig
from shiplift.agent.door.kubeconfig import parse
from shiplift.agent.errors import AgentError
from tests.agent.door.kubelet import CONFIG
from tests.examples import tries

EMBEDDED = """apiVersion: v1
clusters:
  - cluster:
      certificate-authority-data: {data}
      server: https://api.example.org
      tls-server-name: kubernetes
    name: default-cluster
contexts:
  - context:
      cluster: default-cluster
      namespace: default
      user: default-auth
    name: default-context
current-context: default-context
kind: Config
users:
  - name: default-auth
    user:
      client-certificate-data: {data}
      client-key-data: "{data}"
"""
DATA = base64.b64encode(b"pem").decode()


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "kubelet.conf"
    path.write_text(text)
    return path


def of_kubeadm(tmp_path: Path) -> str:
    (tmp_path / "ca.crt").write_text("pem")
    return CONFIG.format(authority=tmp_path / "ca.crt", port=6443, folder=tmp_path, name="worker-1")


def test_one_of_kubeadm_is_read(tmp_path: Path) -> None:
    found = kubeconfig.load(written(tmp_path, of_kubeadm(tmp_path)))
    assert (found.host, found.port, found.server_name, found.authority) == (
        "127.0.0.1",
        6443,
        "127.0.0.1",
        "pem",
    )
    assert found.certificate == found.key == tmp_path / "kubelet-client-current.pem"


def test_one_with_all_in_it_is_read(tmp_path: Path) -> None:
    found = kubeconfig.load(written(tmp_path, EMBEDDED.format(data=DATA)))
    assert (found.host, found.port, found.server_name) == ("api.example.org", 443, "kubernetes")
    assert (found.authority, found.certificate, found.key) == ("pem", b"pem", b"pem")


def test_json_is_read_too(tmp_path: Path) -> None:
    text = json.dumps(yaml.safe_load(EMBEDDED.format(data=DATA)))
    assert kubeconfig.load(written(tmp_path, text)).host == "api.example.org"


REFUSED = {
    "http": (("https://api", "http://api"), "is no https address"),
    "no verification": (
        ("      tls-server-name: kubernetes", "      insecure-skip-tls-verify: true"),
        "insecure-skip-tls-verify and proxy-url are not for agents",
    ),
    "another context": (("current-context: default-context", "current-context: x"), "is called 'x'"),
    "no user": (("      user: default-auth\n", ""), "there is no 'user'"),
    "no certificate": (("client-certificate-data", "token"), "there is no 'client-certificate'"),
    "no base64": ((DATA, "=x"), "is no base64"),
    "an anchor": (("kind: Config", "kind: &a Config"), "line 15 is of a kind that is not known here"),
    "a block of text": (("kind: Config", "kind: |\n  Config"), "line 15 is of a kind that is not known here"),
    "a tab": (("kind: Config", "kind:\tConfig"), "line 15 has a tab"),
    "no key": (("kind: Config", "Config"), "line 15 is no key with a value"),
    "a key twice": (("kind: Config", "kind: Config\nkind: Config"), "line 16 is no key with a value"),
    "set in oddly": (("kind: Config", "   kind: Config"), "line 15 is set in as none before it"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(tmp_path: Path, what: str) -> None:
    (old, new), told = REFUSED[what]
    text = EMBEDDED.format(data=DATA)
    assert old in text
    with pytest.raises(AgentError, match=told) as raised:
        kubeconfig.load(written(tmp_path, text.replace(old, new, 1)))
    assert str(tmp_path / "kubelet.conf") in str(raised.value)


def test_none_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match=r"kubelet.conf is not there"):
        kubeconfig.load(tmp_path / "kubelet.conf")
    with pytest.raises(AgentError, match="it is empty"):
        kubeconfig.load(written(tmp_path, "# nothing\n"))


NAMES = st.from_regex(r"[a-z][a-z-]{0,8}", fullmatch=True)
TEXTS = st.text(st.sampled_from("abcXYZ019:/.-_@ '#\\\"é"), max_size=12).map(str.strip)
VALUES = st.recursive(
    TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=10,
)


def as_texts(value: Any) -> Any:
    """What YAML takes for a number or a truth is a text here."""
    if isinstance(value, dict):
        return {key: as_texts(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [as_texts(inner) for inner in value]
    return value


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=4))
@settings(max_examples=tries(500))
def test_what_a_full_reader_understands_is_understood_the_same_or_refused(body: dict[str, Any]) -> None:
    text = yaml.safe_dump(body, default_flow_style=False, width=1000, allow_unicode=True)
    try:
        found = parse(text)
    except ValueError:
        return
    assert found == as_texts(yaml.load(text, yaml.BaseLoader)) or _without_nothing(found) == body


def _without_nothing(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nothing(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_nothing(inner) for inner in value]
    return "" if value is None else value


@given(st.text(max_size=200))
@settings(max_examples=tries(300))
def test_nothing_else_than_an_error_comes_of_any_text(text: str) -> None:
    with contextlib.suppress(ValueError, RecursionError):
        parse(text)
