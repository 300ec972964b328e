"""Undo what policies have brought into a cluster, without the operator: the UpgradeConfig of a provider.

The conductor, undone before, has aborted it, so nothing goes on. As long as settings lead to a provider an
operator would make it anew: it stays then, aborted, and what to do first is said. What is in ConfigMaps of
the operator's namespace is a record, and stays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from shiplift.api.marks import PROVIDER_LABEL
from shiplift.api.upgrade import UpgradeConfig
from shiplift.face.parts import Undone
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import CONFIG_MAP, UPGRADE_CONFIG
from shiplift.kube.client import Client
from shiplift.kube.config import KEY as FILE
from shiplift.kube.config import NAME as CONFIG
from shiplift.kube.config import parsed
from shiplift.kube.documents import DocumentError
from shiplift.kube.errors import KubeError, NotFound
from shiplift.kube.store import Store
from shiplift.kube.undoing import UndoError
from shiplift.policy.config import Provider, Section
from shiplift.policy.names import KEY, SECTION


def undo_all(client: Client, store: Store, say: Callable[[str], None]) -> Undone:
    row = store.snapshot(UPGRADE_CONFIG).custom(UPGRADE_CONFIG, KEY)
    if row is None or PROVIDER_LABEL not in row.labels or row.deleting:
        return Undone(0)
    provider = row.labels[PROVIDER_LABEL]
    if spaces := _settings(client):
        say(
            f"UpgradeConfig {KEY} of provider {provider} stays, aborted: an operator would make it again;"
            f" take the provider out of ConfigMap {spaces[0]}/{CONFIG}, then say it again"
        )
        return Undone(0, stays=1)
    _delete(client, row)
    say(f"UpgradeConfig {KEY} of provider {provider} is deleted")
    return Undone(1)


def _settings(client: Client) -> list[str]:
    """The namespaces with settings that may lead to a provider; none where nobody may read them."""
    try:
        found = list(client.list(CONFIG_MAP, field_selector=f"metadata.name={CONFIG}"))
    except KubeError:
        return []
    return [one["metadata"]["namespace"] for one in found if _leads_outside(one.get("data") or {})]


def _leads_outside(data: Mapping[str, str]) -> bool:
    """Whether a provider is named; settings that cannot be read may name one."""
    try:
        return parsed(data.get(FILE, ""), SECTION, Section).provider is not Provider.LOCAL
    except DocumentError:
        return True


def _delete(client: Client, row: Custom) -> None:
    upgrade = cast("UpgradeConfig", row.object)
    try:
        client.delete(UPGRADE_CONFIG, KEY, uid=upgrade.metadata.uid)
    except NotFound:
        return
    except KubeError as error:
        raise UndoError(
            f"UpgradeConfig {KEY} cannot be deleted: {error}", "kubectl delete upgradeconfig"
        ) from error
