"""One value of one Secret: read by a real account, which may read that one and no other."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiplift.facts.kinds import SECRET
from shiplift.kube import credentials, grants, secrets
from shiplift.kube.account import Account
from shiplift.kube.client import Client
from shiplift.kube.fence import HOME
from shiplift.kube.manifests import kind_of
from shiplift.kube.secrets import Hidden, SecretUnusable
from shiplift.local.accounts import kubeconfig_of
from shiplift.local.cluster import Cluster


def encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()


@pytest.fixture
def reader(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Client]:
    """An account that is granted the Secret `chat`, as an administrator would."""
    with cluster.client() as admin:
        admin.create(HOME, {"metadata": {"name": "reader"}}, namespace)
        for name in ("chat", "other"):
            data = {"token": encoded(b"geheim"), "empty": "", "large": encoded(b"x" * (64 << 10) + b"x")}
            admin.create(SECRET, {"metadata": {"name": name}, "data": data}, namespace)
        for name in ("chat", "absent"):
            for manifest in grants.secret(namespace, name, "reader", namespace):
                admin.create(kind_of(manifest), manifest, namespace)
    kubeconfig = kubeconfig_of(Account(namespace, "reader"), cluster.kubeconfig, tmp_path / "reader")
    with Client(credentials.load(kubeconfig)) as client:
        yield client


def test_a_value_is_read_and_never_shown(reader: Client, namespace: str) -> None:
    found = secrets.read(reader, namespace, "chat", "token")
    assert found.reveal() == b"geheim"
    assert "geheim" not in f"{found} {found!r} {[found]}"


def test_what_is_missing_is_named_and_how_to_get_it(reader: Client, namespace: str) -> None:
    with pytest.raises(SecretUnusable) as refused:
        secrets.read(reader, namespace, "other", "token")
    assert str(refused.value) == (
        f"shiplift may not read Secret {namespace}/other; an administrator runs: "
        f"shiplift manifests --grant {namespace}/other | kubectl apply -f -"
    )
    with pytest.raises(SecretUnusable, match=f"Secret {namespace}/absent does not exist; create it with the"):
        secrets.read(reader, namespace, "absent", "token")
    with pytest.raises(SecretUnusable, match=f"{namespace}/chat has no key tokn; it has empty, large, token"):
        secrets.read(reader, namespace, "chat", "tokn")


@pytest.mark.parametrize("key", ["empty", "large"])
def test_a_value_of_no_use_is_refused_without_being_shown(reader: Client, namespace: str, key: str) -> None:
    with pytest.raises(SecretUnusable, match=f"key {key} of Secret {namespace}/chat has .* bytes") as refused:
        secrets.read(reader, namespace, "chat", key)
    assert "xx" not in str(refused.value)


def test_a_hidden_value_has_no_other_way_out() -> None:
    assert repr(Hidden(b"geheim")) == "Hidden(…)"
    assert not hasattr(Hidden(b"geheim"), "__dict__")
