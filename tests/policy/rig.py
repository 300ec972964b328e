"""A real API server with the operator on it, and a real HTTPS server that policies come from."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from shiplift.api.marks import REFRESH_ASKED, REFRESH_DONE
from shiplift.facts.kinds import CONFIG_MAP, EVENT, UPGRADE_CONFIG
from shiplift.kube import grants
from shiplift.kube.config import KEY as CONFIG_KEY
from shiplift.kube.config import NAME as CONFIG
from shiplift.kube.errors import Conflict, NotFound
from shiplift.kube.manifests import kind_of
from shiplift.local.cluster import Cluster
from shiplift.operator import install
from shiplift.policy.controller import PART
from shiplift.policy.names import KEY, OUTBOX, RECORD
from tests.operated import NEW, SPACE, Operated
from tests.outside.https import Asked, Https, Reply, server_context, serving
from tests.policy.held import put_secrets
from tests.policy.ocm_server import EXTERNAL, OcmServer
from tests.until import until

Json = dict[str, Any]
AT = "2026-11-20T02:00:00Z"


class Documents:
    """What the document server says; None is no policy, a Reply is said as it is."""

    def __init__(self) -> None:
        self.says: Json | Reply | None = None
        self.instead: Callable[[Asked], Reply] | None = None

    def answer(self, asked: Asked) -> Reply:
        if self.instead is not None:
            return self.instead(asked)
        if isinstance(self.says, Reply):
            return self.says
        return Reply(204) if self.says is None else Reply(body=json.dumps(self.says).encode())


def document(version: str = NEW, name: str = "p1", **more: Any) -> Json:
    return {"id": name, "desired": {"version": version}, **more}


class Rig(Operated):
    """The cluster, the operator, and who says what."""

    def __init__(self, cluster: Cluster, keys: Path, documents: Https, ocm: Https) -> None:
        super().__init__(cluster, (PART,))
        self._keys, self._documents, self._ocm = keys, documents, ocm
        self.document, self.ocm = Documents(), OcmServer()
        documents.answer, ocm.answer = self.document.answer, self.ocm.answer
        self.asked = documents.asked
        self._wishes = 0
        put_secrets(self.client, SPACE)
        for name in ("chat", "pull"):
            for manifest in grants.secret(SPACE, name, install.ACCOUNT, SPACE):
                self.client.create(kind_of(manifest), manifest)

    # --- settings ---

    def configure(self, section: Json) -> None:
        """The operator's ConfigMap, with this section and nothing else."""
        text = yaml.safe_dump({"configManager": section})
        self.remove(CONFIG_MAP, CONFIG, SPACE)
        self.client.create(CONFIG_MAP, {"metadata": {"name": CONFIG}, "data": {CONFIG_KEY: text}}, SPACE)

    def remove(self, kind: Any, name: str, space: str = "") -> None:
        with contextlib.suppress(NotFound):
            self.client.delete(kind, name, space, uid=self.client.get(kind, name, space)["metadata"]["uid"])

    def http(self, **more: Any) -> Json:
        token = {"name": "chat", "key": "token"}
        asked = {"url": f"{self._documents.url}/policy", "token": token}
        return {"provider": "HTTP", "watchInterval": "10s", "http": asked, "reach": self.reach, **more}

    def ocm_section(self, **more: Any) -> Json:
        asked = {"baseUrl": self._ocm.url, "clusterId": EXTERNAL, "pullSecret": "pull", **more}
        return {"provider": "OCM", "watchInterval": "10s", "ocm": asked, "reach": self.reach}

    @property
    def reach(self) -> Json:
        authority = (self._keys / "ca.crt").read_text()
        return {"private": ["127.0.0.0/8"], "authority": authority, "timeout": "2s"}

    def begin(self, section: Json | None) -> None:
        """A new operator with these settings."""
        self.stop()
        if section is None:
            self.remove(CONFIG_MAP, CONFIG, SPACE)
        else:
            self.configure(section)
        self.start()

    # --- looking ---

    def config(self) -> Json | None:
        with contextlib.suppress(NotFound):
            return self.client.get(UPGRADE_CONFIG, KEY)
        return None

    def version(self) -> str:
        found = self.config()
        return found["spec"]["desired"]["version"] if found else ""

    def told(self) -> Json:
        """What `status.policy` says."""
        found = self.config()
        return (found or {}).get("status", {}).get("policy", {})

    def record(self) -> Json:
        data = self.client.get(CONFIG_MAP, RECORD, SPACE).get("data") or {}
        return json.loads(data.get("sync", "{}"))

    def box(self) -> list[str]:
        data = self.client.get(CONFIG_MAP, OUTBOX, SPACE).get("data") or {}
        return [one["id"] for one in json.loads(data.get("box", "{}")).get("letters", [])]

    def ocm_asked(self) -> list[Asked]:
        return list(self._ocm.asked)

    def events(self) -> list[Json]:
        return list(self.client.list(EVENT))

    # --- doing ---

    def make(self, spec: Json | None = None) -> Json:
        """An UpgradeConfig, by hand."""
        body = {"metadata": {"name": KEY}, "spec": spec or {"desired": {"version": NEW}}}
        return self.client.create(UPGRADE_CONFIG, body).object

    def patch(self, patch: Json, subresource: str = "") -> Json:
        about = self.client.get(UPGRADE_CONFIG, KEY)["metadata"]
        version = about["resourceVersion"] if subresource else None
        return self.client.patch(
            UPGRADE_CONFIG, KEY, patch, uid=about["uid"], subresource=subresource, resource_version=version
        ).object

    def status(self, **status: Any) -> None:
        """As the conductor would write it."""
        until(lambda: self._status(status))

    def _status(self, status: Json) -> bool:
        with contextlib.suppress(Conflict):
            self.patch({"status": status}, "status")
            return True
        return False

    def wish(self) -> str:
        """Ask for a refresh, as who is about to start does."""
        self._wishes += 1
        text = f"wish-{self._wishes}"
        self.patch({"metadata": {"annotations": {REFRESH_ASKED: text}}})
        return text

    def refresh(self) -> None:
        """Ask for one, and wait until it was answered."""
        text = self.wish()
        until(lambda: self.refreshed() == text)

    def refreshed(self) -> str:
        found = self.config() or {"metadata": {}}
        return (found["metadata"].get("annotations") or {}).get(REFRESH_DONE, "")

    def clear(self) -> None:
        """As it was before the first test."""
        self.stop()
        for kind, name, space in ((UPGRADE_CONFIG, KEY, ""), (CONFIG_MAP, CONFIG, SPACE)):
            self.remove(kind, name, space)
        for name in (RECORD, OUTBOX):
            uid = self.client.get(CONFIG_MAP, name, SPACE)["metadata"]["uid"]
            self.client.patch(CONFIG_MAP, name, {"data": None}, SPACE, uid=uid)
        self.document.says = self.document.instead = None
        fresh = OcmServer()
        self.ocm.__dict__.update({key: value for key, value in fresh.__dict__.items() if key != "lock"})
        self.asked.clear()
        self._ocm.asked.clear()


@contextlib.contextmanager
def rigged(cluster: Cluster, keys: Path) -> Iterator[Rig]:
    """A rig that is there until the end of the block."""

    def silent(_: Asked) -> Reply:
        return Reply(503)

    tls = server_context(keys)
    with serving(tls, silent) as documents, serving(tls, silent) as ocm:
        made = Rig(cluster, keys, documents, ocm)
        try:
            yield made
        finally:
            made.close()


__all__ = ["AT", "Rig", "document", "rigged"]
