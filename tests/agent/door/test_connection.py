"""Credentials that the kubelet renews while an agent reads them."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from shiplift.agent.door import connection
from shiplift.agent.door.kubeconfig import Kubeconfig
from tests.agent.door.kubelet import CONFIG


def test_credentials_that_change_while_they_are_read_are_read_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, current = tmp_path / "ca.crt", tmp_path / "kubelet-client-current.pem"
    authority.write_text("authority")
    current.write_text("one")
    path = tmp_path / "kubelet.conf"
    path.write_text(CONFIG.format(authority=authority, port=6443, folder=tmp_path, name="w-1"))
    renewals = iter(["renewed"])

    def trust(_config: Kubeconfig) -> ssl.SSLContext:
        for content in renewals:
            current.write_text(content)
        return ssl.create_default_context()

    monkeypatch.setattr(connection, "_trust", trust)
    found = connection.Connection(path)
    first = found._opened()
    second = found._opened()
    assert second is not first
    assert found._opened() is second
