"""What an API server has, in memory: JSON that is read, patched as a client patches it, and admitted by
webhooks."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from shiplift.facts.kinds import Kind
from shiplift.kube.client import PatchType, Written
from shiplift.kube.errors import NotFound
from tests.merging import edited, merged

Json = dict[str, Any]


class Objects:
    """What the API server has, and who is asked before it changes."""

    def __init__(self) -> None:
        self.found: dict[tuple[Kind, str], Json] = {}
        self.admission: list[Callable[[Kind, Json], None]] = []
        """Webhooks: they change what is written, or raise."""
        self.patches: list[tuple[Kind, str]] = []
        """By the layer, in their order."""
        self._version = 0

    def get(self, kind: Kind, name: str, namespace: str = "") -> Json:
        del namespace
        if (kind, name) not in self.found:
            raise NotFound(f"{name} is not there", status=404)
        return copy.deepcopy(self.found[kind, name])

    def list(self, kind: Kind, namespace: str = "", *, label_selector: str = "") -> Iterator[Json]:
        del namespace
        wanted = dict(pair.split("=") for pair in label_selector.split(",") if pair)
        for (one, _), live in list(self.found.items()):
            labels: dict[str, str] = live["metadata"].get("labels") or {}
            if one == kind and wanted.items() <= labels.items():
                yield copy.deepcopy(live)

    def patch(
        self,
        kind: Kind,
        name: str,
        patch: Any,
        namespace: str = "",
        *,
        type: PatchType = PatchType.MERGE,  # noqa: A002 - as the client has it
        uid: str = "",
        resource_version: str | None = None,
        subresource: str = "",
    ) -> Written:
        del namespace, subresource
        live = self.get(kind, name)
        about = live["metadata"]
        assert uid == about["uid"]
        assert resource_version in (None, about["resourceVersion"])
        self.patches.append((kind, name))
        live = edited(live, patch) if type is PatchType.JSON else merged(live, patch)
        for webhook in self.admission:
            webhook(kind, live)
        self.put(kind, live)
        return Written(live, None)

    def put(self, kind: Kind, live: Json) -> None:
        before = self.found.get((kind, live["metadata"]["name"]))
        self._version += 1
        live["metadata"]["resourceVersion"] = str(self._version)
        changed = before is not None and before["spec"] != live["spec"]
        live["metadata"]["generation"] = live["metadata"].get("generation", 1) + changed
        self.found[kind, live["metadata"]["name"]] = live

    def remove(self, kind: Kind, name: str) -> None:
        self.found.pop((kind, name), None)
