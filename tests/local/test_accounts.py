"""Kubeconfigs of accounts: the server takes their users for the account, and nothing else is in them."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from shiplift.kube.account import Account, account_of
from shiplift.kube.client import Client
from shiplift.kube.credentials import load
from shiplift.kube.fence import whoami
from shiplift.local.accounts import kubeconfig_of, with_token
from shiplift.local.cluster import Cluster

ADMIN = {
    "current-context": "it",
    "clusters": [{"name": "it", "cluster": {"server": "https://127.0.0.1:6443"}}],
    "users": [{"name": "admin", "user": {"client-certificate-data": "c2VjcmV0", "as": "chief"}}],
    "contexts": [{"name": "it", "context": {"cluster": "it", "user": "admin"}}],
}


def test_all_stays_but_for_how_its_user_is_proven(tmp_path: Path) -> None:
    (tmp_path / "admin").write_text(json.dumps(ADMIN))
    made = yaml.safe_load(with_token(tmp_path / "admin", tmp_path / "account", "abc").read_text())
    assert made == ADMIN | {"users": [{"name": "admin", "user": {"token": "abc"}}]}


def test_the_file_is_nobody_elses(tmp_path: Path) -> None:
    (tmp_path / "admin").write_text(json.dumps(ADMIN))
    made = with_token(tmp_path / "admin", tmp_path / "account", "abc")
    assert made.stat().st_mode & 0o777 == 0o600


def test_the_api_server_takes_its_user_for_the_account(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    account = Account(namespace, "default")
    with Client(load(kubeconfig_of(account, cluster.kubeconfig, tmp_path / "account"))) as client:
        assert account_of(whoami(client).username) == account
