"""Copies of existing objects that somebody denies: nothing is known then, and nothing is taken for safe."""

from __future__ import annotations

from typing import Any, cast

import pytest

from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION, Kind
from shiplift.kube.client import Client, Written
from shiplift.kube.errors import Forbidden
from shiplift.operators.crds import existing
from tests.operators.bundles import GROUP, definition

Json = dict[str, Any]
OLD = definition("boats")
BOAT = {
    "apiVersion": f"{GROUP}/v1",
    "kind": "Boat",
    "metadata": {"name": "titanic", "namespace": "sea", "labels": {"team": "deck"}, "uid": "u-1"},
    "spec": {"size": 99},
}


class Denying:
    """As much of an API server as the check asks, with a webhook that denies every copy."""

    def __init__(self, *, denies: bool) -> None:
        self._denies, self.copies = denies, list[Json]()

    def get(self, kind: Kind, name: str, namespace: str = "") -> Json:
        return {**OLD, "metadata": {**OLD["metadata"], "uid": "u", "resourceVersion": "1"}}

    def list(self, kind: Kind, *_: object, **__: object) -> list[Json]:
        return [BOAT] if kind.plural == "boats" else []

    def create(self, kind: Kind, body: Json, namespace: str = "", *, dry_run: bool = False) -> Written:
        if kind == CUSTOM_RESOURCE_DEFINITION:
            return Written({**body, "metadata": {**body["metadata"], "uid": "s"}}, None)
        self.copies.append(body)
        if self._denies:
            raise Forbidden("a policy denies it", status=403, reason="Forbidden")
        return Written({}, None)

    def delete(self, *_: object, **__: object) -> None:
        pass


def test_who_may_not_make_a_copy_knows_nothing() -> None:
    server = cast("Client", Denying(denies=True))
    with pytest.raises(existing.ExistingError, match="sea/titanic cannot be checked: a policy denies it"):
        existing.check(server, definition("boats", size={"type": "integer", "maximum": 3}))


def test_a_copy_has_the_labels_of_the_original() -> None:
    server = Denying(denies=False)
    existing.check(cast("Client", server), definition("boats", size={"type": "integer", "maximum": 3}))
    assert server.copies[0]["metadata"] == {
        "name": "titanic",
        "namespace": "sea",
        "labels": {"team": "deck"},
    }
