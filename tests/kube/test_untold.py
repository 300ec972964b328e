"""Whoever acts hears that admission denies a status of an object of ours: nobody could see what it does."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from shiplift.facts.kinds import NODE, NODE_ROLLOUT, POD_DISRUPTION_BUDGET, Kind
from shiplift.kube.client import Client
from shiplift.kube.errors import ApiError, KubeError
from tests.kube.answering import answer, answering

CHANGE = {"status": {"phase": "Running"}}
BY_POLICY = (
    "noderollouts.shiplift.dev \"r\" is forbidden: ValidatingAdmissionPolicy 'freeze' with binding 'freeze'"
    " denied request: not in December"
)
BY_WEBHOOK = 'admission webhook "freeze.example" denied the request: not in December'
WEBHOOK_AWAY = 'Internal error occurred: failed calling webhook "freeze.example": no endpoints available'
FORBIDDEN = 'noderollouts.shiplift.dev "r" is forbidden: User "a" cannot patch resource "noderollouts/status"'
INVALID = 'NodeRollout.shiplift.dev "r" is invalid: status.phase: Unsupported value: "x"'


def heard(kind: Kind, subresource: str, code: str, message: str) -> list[str]:
    """By who sends a change that is answered like that."""
    found: list[str] = []
    said = answer(msgspec.json.encode({"kind": "Status", "message": message}), code, Connection="close")
    space = "space" if kind.namespaced else ""
    with (
        answering(said) as server,
        Client(server.credentials, on_untold=_into(found)) as client,
        pytest.raises(KubeError),
    ):
        client.patch(
            kind, "r", CHANGE, space, uid="u", resource_version=subresource and "1", subresource=subresource
        )
    return found


def _into(found: list[str]) -> Callable[[ApiError], None]:
    return lambda error: found.append(error.message)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("422 Unprocessable Entity", BY_POLICY),
        ("403 Forbidden", BY_POLICY),
        ("403 Forbidden", BY_WEBHOOK),
        ("400 Bad Request", BY_WEBHOOK),
        ("500 Internal Server Error", WEBHOOK_AWAY),
    ],
)
def test_a_status_of_ours_that_admission_denies_is_heard_whatever_the_code(code: str, message: str) -> None:
    assert heard(NODE_ROLLOUT, "status", code, message) == [message]


@pytest.mark.parametrize(
    ("kind", "subresource", "code", "message"),
    [
        (NODE_ROLLOUT, "status", "403 Forbidden", FORBIDDEN),
        (NODE_ROLLOUT, "status", "422 Unprocessable Entity", INVALID),
        (NODE_ROLLOUT, "", "422 Unprocessable Entity", BY_POLICY),
        (NODE, "", "403 Forbidden", BY_WEBHOOK),
        (POD_DISRUPTION_BUDGET, "status", "403 Forbidden", BY_WEBHOOK),
    ],
)
def test_nothing_else_is(kind: Kind, subresource: str, code: str, message: str) -> None:
    assert heard(kind, subresource, code, message) == []
