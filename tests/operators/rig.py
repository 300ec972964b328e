"""A real cluster with the operator on it, catalogs in ConfigMaps, and accounts that may install."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from shiplift.facts.kinds import (
    APP_TYPE,
    CONFIG_MAP,
    CUSTOM_RESOURCE_DEFINITION,
    DEPLOYMENT,
    EVENT,
    NAMESPACE,
    OPERATOR_CATALOG,
    OPERATOR_VERSION,
    SERVICE_ACCOUNT,
    Kind,
)
from shiplift.kube import grants, rbac
from shiplift.kube.errors import AlreadyExists, Conflict, NotFound
from shiplift.kube.manifests import kind_of
from shiplift.local.cluster import Cluster
from shiplift.operator import install
from shiplift.operators.controller import PART
from tests.operated import SPACE, Operated
from tests.operators import bundles
from tests.operators.bundles import GROUP, Written
from tests.until import until

Json = dict[str, Any]
ACCOUNT = "installer"
CATALOGS = "catalogs"
ALL = ["get", "list", "create", "update", "patch", "delete"]
NEAR = [
    rbac.rule("", ["configmaps", "secrets", "services", "serviceaccounts"], ALL),
    rbac.rule("apps", ["deployments"], ALL),
    rbac.rule("batch", ["jobs"], ["get", "create"]),
    rbac.rule("", ["pods"], ["list"]),
    rbac.rule(rbac.GROUP, ["roles", "rolebindings"], ALL),
]
WIDE = [
    rbac.rule("apiextensions.k8s.io", ["customresourcedefinitions"], ALL),
    rbac.rule("apiextensions.k8s.io", ["customresourcedefinitions/status"], ["patch"]),
    rbac.rule("shadow.shiplift.dev", ["*"], ["get", "list", "create"]),
    rbac.rule(GROUP, ["*"], ["get", "list", "update"]),
    rbac.rule(rbac.GROUP, ["clusterroles", "clusterrolebindings"], ALL),
]


class Rig(Operated):
    """The cluster, the operator, and who may do what."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster, (PART,))
        self.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CATALOGS}})
        for one in grants.catalogs(CATALOGS, install.ACCOUNT, SPACE):
            self.put(one)

    def put(self, manifest: Json) -> None:
        with contextlib.suppress(AlreadyExists):
            self.client.create(kind_of(manifest), manifest)


def installer(namespace: str) -> list[Json]:
    """An account that may install operators in its namespace, and the operator's right to act as it."""
    near, wide = rbac.role(ACCOUNT, NEAR, namespace), rbac.role(f"{ACCOUNT}-{namespace}", WIDE)
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT, "namespace": namespace}},
        near,
        rbac.binding(near, ACCOUNT, namespace),
        wide,
        rbac.binding(wide, ACCOUNT, namespace),
        *grants.acting_as(namespace, ACCOUNT, install.ACCOUNT, SPACE),
    ]


class Scene:
    """One test's namespace and catalog; all that it made goes when it ends."""

    def __init__(self, rig: Rig) -> None:
        self.rig, self.client = rig, rig.client
        self.name = f"s{uuid.uuid4().hex[:8]}"
        self.space = self.namespace(self.name)
        self._maps: dict[str, str] = {}

    def namespace(self, name: str, *, granted: bool = True) -> str:
        self.rig.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        for one in installer(name):
            if granted or "shiplift-account" not in one["metadata"]["name"]:
                self.rig.put(one)
        with contextlib.suppress(AlreadyExists):
            self.client.create(SERVICE_ACCOUNT, {"metadata": {"name": "default"}}, name)
        return name

    # --- what is wanted ---

    def offer(self, *versions: Written, name: str = "") -> None:
        """The catalog has these and no others, from now on."""
        wanted = list(bundles.in_maps(name or self.name, CATALOGS, versions))
        for one in wanted[:-1]:
            self.apply(one)
        with contextlib.suppress(AlreadyExists):
            self.client.create(OPERATOR_CATALOG, wanted[-1])

    def apply(self, manifest: Json) -> None:
        kind, meta = kind_of(manifest), manifest["metadata"]
        try:
            self.client.create(kind, manifest)
        except AlreadyExists:
            self.change(
                kind,
                meta["name"],
                {key: manifest[key] for key in ("data", "binaryData") if key in manifest},
                meta.get("namespace", ""),
            )

    def ask(self, package: str, name: str = "", **spec: Any) -> None:
        wanted = {"package": package, "serviceAccountName": ACCOUNT, "catalog": self.name, **spec}
        self.client.create(APP_TYPE, {"metadata": {"name": name or package}, "spec": wanted}, self.space)

    def edit(self, name: str, **spec: Any) -> None:
        self.change(APP_TYPE, name, {"spec": spec}, self.space)

    def change(self, kind: Kind, name: str, patch: Json, space: str = "", subresource: str = "") -> None:
        for _ in range(20):
            about = self.client.get(kind, name, space)["metadata"]
            with contextlib.suppress(Conflict):
                self.client.patch(
                    kind,
                    name,
                    patch,
                    space,
                    uid=about["uid"],
                    resource_version=about["resourceVersion"],
                    subresource=subresource,
                )
                return
        raise AssertionError(f"{kind} {name} changes too often")

    def tell(self, version: str, **condition: str) -> None:
        """A condition on an OperatorVersion, as its operator would write it."""
        live = self.client.get(OPERATOR_VERSION, version, self.space)
        said = [
            one
            for one in (live.get("status") or {}).get("conditions", [])
            if one["type"] != condition["type"]
        ]
        whole = {"lastTransitionTime": "2026-11-17T10:00:00Z", **condition}
        self.change(
            OPERATOR_VERSION, version, {"status": {"conditions": [*said, whole]}}, self.space, "status"
        )

    def remove(self, kind: Kind, name: str, space: str = "") -> None:
        with contextlib.suppress(NotFound):
            uid = self.client.get(kind, name, space)["metadata"]["uid"]
            self.client.delete(kind, name, space, uid=uid)

    # --- what is seen ---

    def find(self, kind: Kind, name: str, space: str | None = None) -> Json | None:
        try:
            return self.client.get(
                kind, name, self.space if space is None and kind.namespaced else space or ""
            )
        except NotFound:
            return None

    def app(self, name: str) -> Json:
        return (self.find(APP_TYPE, name) or {}).get("status") or {}

    def version(self, name: str) -> Json:
        return (self.find(OPERATOR_VERSION, name) or {}).get("status") or {}

    def versions(self) -> list[str]:
        return sorted(one["metadata"]["name"] for one in self.client.list(OPERATOR_VERSION, self.space))

    def come_to(self, name: str, installed: str, seconds: float = 90) -> None:
        """Until that version of an AppType runs and nothing of the one before is left."""

        def so() -> bool:
            return self.app(name).get("installed") == installed and len(self.versions_of(name)) == 1

        self.waits(so, seconds)

    def versions_of(self, name: str) -> list[str]:
        rows = self.client.list(OPERATOR_VERSION, self.space)
        return [one["metadata"]["name"] for one in rows if one["spec"]["appType"] == name]

    def says(self, name: str, about: str, reason: str, seconds: float = 60) -> str:
        """Until a condition of an AppType, or else of an OperatorVersion, has that reason; its message."""

        def so() -> Json | None:
            for status in (self.app(name), self.version(name)):
                for one in status.get("conditions") or ():
                    if one["type"] == about and one["reason"] == reason:
                        return one
            return None

        found = self.waits(so, seconds)
        assert found
        return found.get("message", "")

    def waits(self, what: Callable[[], Any], seconds: float = 60) -> Any:
        try:
            return until(what, seconds, every=0.1)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.picture()}") from None

    def picture(self) -> str:
        """All that there is to say, where something does not happen."""
        lines: list[str] = []
        for kind in (APP_TYPE, OPERATOR_VERSION):
            for one in self.client.list(kind, self.space):
                lines.append(
                    f"{kind} {one['metadata']['name']} {one['metadata'].get('deletionTimestamp', '')}"
                )
                for said in (one.get("status") or {}).get("conditions") or ():
                    lines.append(
                        f"   {said['type']} {said['status']} {said['reason']}: {said.get('message')}"
                    )
        for one in self.client.list(OPERATOR_CATALOG):
            lines.append(f"catalog {one['metadata']['name']}: {one.get('status')}"[:600])
        for one in self.client.list(DEPLOYMENT, self.space):
            lines.append(f"Deployment {one['metadata']['name']}: {one.get('status')}"[:600])
        return "\n".join(lines)

    def owned(self, kind: Kind, name: str) -> str:
        """The OperatorVersion that an object says it belongs to, by label."""
        found = self.find(kind, name)
        return ((found or {}).get("metadata", {}).get("labels") or {}).get("operators.shiplift.dev/owner", "")

    def events(self, name: str) -> set[str]:
        return {
            one["reason"]
            for one in self.client.list(EVENT, self.space)
            if (one.get("regarding") or {}).get("name") == name
        }

    def close(self) -> None:
        for one in self.client.list(APP_TYPE, self.space):
            self.remove(APP_TYPE, one["metadata"]["name"], self.space)
        with contextlib.suppress(AssertionError):
            until(lambda: not self.versions() and not list(self.client.list(APP_TYPE, self.space)), 10)
        self.remove(OPERATOR_CATALOG, self.name)
        for one in list(self.client.list(CONFIG_MAP, CATALOGS)):
            if one["metadata"]["name"].startswith(self.name):
                self.remove(CONFIG_MAP, one["metadata"]["name"], CATALOGS)
        for one in list(self.client.list(CUSTOM_RESOURCE_DEFINITION)):
            if one["spec"]["group"] == GROUP:
                self.remove(CUSTOM_RESOURCE_DEFINITION, one["metadata"]["name"])
        self.remove(NAMESPACE, self.space)


@contextlib.contextmanager
def scene(rig: Rig) -> Iterator[Scene]:
    made = Scene(rig)
    rig.start()
    try:
        yield made
    finally:
        made.close()
        rig.stop()


def boats(*versions: str, **fields: Any) -> list[Written]:
    """Versions of one operator, each of which replaces the one before it, with one definition."""
    found: list[Written] = []
    for number, version in enumerate(versions):
        replaces = found[-1].name if number else ""
        given = {"owned": (bundles.definition("boats"),), **fields}
        found.append(Written(package="boats", version=version, replaces=replaces, **given))
    return found


def names(found: Iterable[Written]) -> list[str]:
    return [one.name for one in found]
