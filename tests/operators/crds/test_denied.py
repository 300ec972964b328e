"""Copies of existing objects that somebody denies: nothing is known then, and nothing is taken for safe."""

from __future__ import annotations

import time
from typing import Any, cast

import msgspec
import pytest

from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION, Kind
from shiplift.kube.client import Client, Written
from shiplift.kube.errors import ApiError, Conflict, Forbidden, Invalid, NotFound, ServerError
from shiplift.operators.crds import existing, storing
from tests.operators.bundles import GROUP, definition

Json = dict[str, Any]
OLD = definition("boats")
BOAT = {
    "apiVersion": f"{GROUP}/v1",
    "kind": "Boat",
    "metadata": {"name": "titanic", "namespace": "sea", "labels": {"team": "deck"}, "uid": "u-1"},
    "spec": {"size": 99},
}


FORBIDDEN = Forbidden("a policy denies it", status=403, reason="Forbidden")
WEBHOOK = 'admission webhook "policy.example" denied the request: frozen'
ANY_STATUS = [
    ApiError(WEBHOOK, status=400),
    NotFound(WEBHOOK, status=404),
    Conflict(WEBHOOK, status=409),
    Invalid("is forbidden: ValidatingAdmissionPolicy 'p' denied request: frozen", status=422),
    ServerError('failed calling webhook "policy.example": timeout', status=500),
]
TIGHTER = definition("boats", size={"type": "integer", "maximum": 3})


class Denying:
    """As much of an API server as the check asks, with a webhook that denies every copy."""

    def __init__(self, *, denies: bool = True, error: ApiError = FORBIDDEN, keeps: bool = False) -> None:
        self._denies, self._error, self._keeps = denies, error, keeps
        self.copies = list[Json]()

    def get(self, kind: Kind, name: str, namespace: str = "") -> Json:
        return {**OLD, "metadata": {**OLD["metadata"], "uid": "u", "resourceVersion": "1"}}

    def list(self, kind: Kind, *_: object, **__: object) -> list[Json]:
        return [BOAT] if kind.plural == "boats" else []

    def create(self, kind: Kind, body: Json, namespace: str = "", *, dry_run: bool = False) -> Written:
        if kind == CUSTOM_RESOURCE_DEFINITION:
            return Written({**body, "metadata": {**body["metadata"], "uid": "s"}}, None)
        self.copies.append(body)
        if self._denies:
            raise self._error
        return Written({}, None)

    def update(self, *_: object, **__: object) -> Written:
        raise self._error

    def ask(self, *_: object, **__: object) -> Any:
        told = [{"name": "boats", "storageVersionHash": storing.storage_hash(GROUP, "v1", "Boat")}]
        return msgspec.convert({"resources": told}, storing._Resources)  # pyright: ignore[reportPrivateUsage]

    def patch(self, *_: object, **__: object) -> None:
        raise AssertionError("that no older version is in use must not be noted")

    def delete(self, *_: object, **__: object) -> None:
        if self._keeps:
            raise self._error


def test_who_may_not_make_a_copy_knows_nothing() -> None:
    server = cast("Client", Denying(denies=True))
    with pytest.raises(existing.ExistingError, match=r"sea/titanic cannot be checked: a policy denies it"):
        existing.check(server, definition("boats", size={"type": "integer", "maximum": 3}))


def test_a_copy_has_the_labels_of_the_original() -> None:
    server = Denying(denies=False)
    existing.check(cast("Client", server), definition("boats", size={"type": "integer", "maximum": 3}))
    assert server.copies[0]["metadata"] == {
        "name": "titanic",
        "namespace": "sea",
        "labels": {"team": "deck"},
    }


@pytest.mark.parametrize("error", ANY_STATUS, ids=str)
def test_whatever_status_a_denial_has_nothing_is_taken_for_safe(error: ApiError) -> None:
    """Denied of the old schema as well, an object that the new one refuses would not count."""
    server = cast("Client", Denying(error=error))
    with pytest.raises(existing.ExistingError, match=r"sea/titanic cannot be checked: .*(frozen|timeout)"):
        existing.check(server, TIGHTER)


def test_a_shadow_that_must_not_go_is_named() -> None:
    server = Denying(denies=False, keeps=True, error=ANY_STATUS[0])
    with pytest.raises(existing.ExistingError, match=r"made for the check, cannot be removed: .*frozen"):
        existing.check(cast("Client", server), TIGHTER)


@pytest.mark.parametrize("error", ANY_STATUS, ids=str)
def test_an_object_that_must_not_be_written_is_named_and_keeps_its_stored_version_known(
    error: ApiError,
) -> None:
    server = cast("Client", Denying(error=error))
    live = {**OLD, "status": {"storedVersions": ["v1alpha1", "v1"]}}
    with pytest.raises(storing.StoringError, match=r"sea/titanic cannot be stored anew: .*(frozen|timeout)"):
        storing.store_anew(server, live, time.monotonic() + 60, lambda: [server])
