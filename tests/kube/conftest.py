"""An object to write to, by the client of each module."""

from __future__ import annotations

from typing import Any

import pytest

from shiplift.facts.kinds import CONFIG_MAP
from shiplift.kube.client import Client


@pytest.fixture
def config(client: Client, namespace: str) -> dict[str, Any]:
    settings = {"metadata": {"name": "settings"}, "data": {"colour": "red"}}
    return client.create(CONFIG_MAP, settings, namespace).object
