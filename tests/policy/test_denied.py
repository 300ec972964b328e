"""Somebody denies what the layer has to write: whatever status the denial has, it is told, and nothing is
taken for done."""

from __future__ import annotations

from typing import Any, cast

import pytest

from shiplift.engine.step import Answer, Step
from shiplift.kube.client import Client
from shiplift.kube.errors import AlreadyExists, ApiError, Conflict, Forbidden, NotFound, PreconditionFailed
from shiplift.outside.outbox import Outbox
from shiplift.policy.act import Actor
from shiplift.policy.providers.asking import Asker
from shiplift.policy.providers.ocm import OcmProvider
from shiplift.policy.steps import Confirm, Create, Delete, Replace
from tests.policy.views import HTTP, policy

SAYS = 'admission webhook "policy.example" denied the request: not on Fridays'
DENIALS = (
    Forbidden(SAYS, status=403),
    NotFound(SAYS, status=404),
    Conflict(SAYS, status=409),
    AlreadyExists(SAYS, status=409, reason="AlreadyExists"),
)
STEPS: tuple[Step, ...] = (
    Create("HTTP", policy()),
    Replace("u1", 7, "HTTP", policy()),
    Delete("u1", 7, "p1"),
    Confirm("u1", 7, "wish-1", "2026-11-20T02:00:00Z"),
)


class Server:
    """Answers every write with an error; nothing is there to be read."""

    def __init__(self, error: ApiError) -> None:
        self.error = error

    def get(self, *_: Any) -> None:
        raise NotFound("not found", status=404)

    def refuse(self, *_: Any, **__: Any) -> None:
        raise self.error

    apply = patch = delete = refuse


def actor(error: ApiError) -> Actor:
    return Actor(
        cast("Client", Server(error)),
        cast("Asker", None),
        cast("Outbox", None),
        cast("OcmProvider", None),
        lambda: HTTP,
    )


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("error", DENIALS)
def test_a_denial_is_a_failure_and_says_who_denies_it(step: Step, error: ApiError) -> None:
    outcome = actor(error).act(step)
    assert (outcome.answer, outcome.message) == (Answer.FAILED, str(error))


@pytest.mark.parametrize(
    "error",
    [
        NotFound('upgradeconfigs.shiplift.dev "cluster" not found', status=404),
        PreconditionFailed("Precondition failed: UID in precondition", status=409),
    ],
)
def test_what_is_gone_already_need_not_be_deleted(error: ApiError) -> None:
    assert actor(error).act(Delete("u1", 7, "p1")).ok
