"""A text of ours in a ConfigMap of the operator's namespace, each change guarded by uid and resourceVersion.

The ConfigMap is installed empty, so that no right to make ConfigMaps is needed: where it is missing, the
error says so. What is read is always live.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shiplift.facts.kinds import CONFIG_MAP
from shiplift.kube.client import Client
from shiplift.kube.errors import Conflict, KubeError, NotFound, Unknown

_ATTEMPTS = 5


class KeptText:
    """One value of one ConfigMap."""

    def __init__(self, client: Client, namespace: str, name: str, key: str) -> None:
        self._client, self._namespace, self._name, self._key = client, namespace, name, key

    def __str__(self) -> str:
        return f"{self._key} of ConfigMap {self._namespace}/{self._name}"

    def read(self) -> str:
        """As it stands there now; empty where nothing was kept yet."""
        return self._text(self._live())

    def change(self, change: Callable[[str], str]) -> str:
        """Make of the text what `change` makes of it, and return that; again where somebody was faster."""
        for attempt in range(1, _ATTEMPTS + 1):
            live = self._live()
            before = self._text(live)
            after = change(before)
            if after == before:
                return after
            try:
                self._write(live["metadata"], after)
            except (Conflict, Unknown):
                if attempt == _ATTEMPTS:
                    raise
            else:
                return after
        raise AssertionError("the last attempt returns or raises")

    def _live(self) -> dict[str, Any]:
        try:
            return self._client.get(CONFIG_MAP, self._name, self._namespace)
        except NotFound:
            raise KubeError(
                f"ConfigMap {self._namespace}/{self._name} is missing",
                hint="apply again what installed shiplift (docs/install.md)",
            ) from None

    def _text(self, live: dict[str, Any]) -> str:
        data: dict[str, str] = live.get("data") or {}
        return data.get(self._key, "")

    def _write(self, about: dict[str, Any], text: str) -> None:
        self._client.patch(
            CONFIG_MAP,
            self._name,
            {"data": {self._key: text}},
            self._namespace,
            uid=about["uid"],
            resource_version=about["resourceVersion"],
        )
