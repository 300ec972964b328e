"""Every mix of what real servers were seen to answer, host by host, at staging and at the switch: what is
decided next, by the leader that heard it and by one that did not."""

from __future__ import annotations

import json
from itertools import product

import msgspec
import pytest

from shiplift.engine.step import Answer, Outcome, Outcomes
from shiplift.quorum import judging
from shiplift.quorum.decide import decide
from shiplift.quorum.engines.minio.answers import updated
from shiplift.quorum.engines.protocol import Server
from shiplift.quorum.model import View
from shiplift.quorum.steps import Stage, Switch
from tests.quorum.decide.views import NEW, NOW, OLD, TARGET_SAID, begun, member, record, told, view

RECORDED = {
    "done": "",
    "garbled": "Updated file has wrong checksum. Expected: 2b06b5, got: f451ef",
    "zstd": "invalid input: magic number mismatch",
    "gone": "peer is not reachable",
    "new": "server is running the latest version: 2025-09-07T16:13:09Z",
    "read-only": "server update failed with: open /opt/bin/.minio.check-perm: operation not permitted,"
    " do not restart the servers yet",
    "untrusted": "selfupdate: signature verification failed",
    "busy": "update already in progress",
}
"""As servers of both releases wrote it."""
GOOD_ENOUGH = ("done",)
FOR_GOOD = ("read-only", "untrusted")
COUNT = 3
SERVERS = tuple(
    Server(f"minio-{at}", f"10.0.0.{at}", 9000, f"minio-{at}.minio.store.svc") for at in range(COUNT)
)


def body(said: tuple[str, ...]) -> bytes:
    results = [
        {
            "host": f"minio-{at}.minio.store.svc.cluster.local:9000",
            "currentVersion": OLD,
            "updatedVersion": "" if RECORDED[one] else NEW,
            **({"err": RECORDED[one]} if RECORDED[one] else {}),
        }
        for at, one in enumerate(said)
    ]
    return json.dumps({"dryRun": True, "results": results}).encode()


def after(said: tuple[str, ...], new: frozenset[int]) -> tuple[View, judging.Judgement]:
    """A service of which those servers run the target, after staging was answered so."""
    names = {f"minio-{at}" for at in new}
    found = judging.staged(updated(200, body(said)), SERVERS, names)
    servers = tuple(
        member(at, told=told(TARGET_SAID if at in new else OLD, endpoints=("x:1", "y:1", "z:1")))
        for at in range(COUNT)
    )
    outcome = Outcome(step=f"stage {NEW}", answer=found.answer, message=found.message, at=NOW)
    staged = frozenset(f"uid-{at}" for at in range(COUNT)) if found.answer is Answer.OK else frozenset[str]()
    made = view(
        pools=(begun(),),
        members=servers,
        staged=staged,
        operation=record("switch" if staged else "stage"),
        outcomes=Outcomes({outcome.step: outcome}),
    )
    return made, found


MIXES = [frozenset[int](), frozenset({1}), frozenset({0, 2})]


@pytest.mark.parametrize("new", MIXES, ids=str)
def test_all_that_servers_can_answer_at_staging_leads_on_or_back_and_never_past_a_server_without_it(
    new: frozenset[int],
) -> None:
    for said in product(RECORDED, repeat=COUNT):
        made, found = after(said, new)
        left = [one for at, one in enumerate(said) if one not in GOOD_ENOUGH and at not in new]
        decision = decide(made, NOW)
        switches = any(isinstance(step, Switch) for step in decision.steps)
        assert switches == (not left), (said, decision)
        gives_up = bool(left) and not new and any(one in FOR_GOOD for one in left)
        assert bool(decision.give_up) == gives_up, (said, decision)
        # the next leader knows of nothing: it stages once more, whatever was answered
        forgotten = msgspec.structs.replace(
            made, staged=frozenset(), outcomes=Outcomes(), operation=record("stage")
        )
        assert [type(step) for step in decide(forgotten, NOW).steps] == [Stage]
        assert found.answer is (Answer.OK if not left else found.answer)


def test_whatever_is_answered_to_a_switch_the_servers_are_asked_and_only_the_old_ones_go_on() -> None:
    for said, count in product(product(RECORDED, repeat=COUNT), range(COUNT + 1)):
        found = judging.switched(updated(200, body(said)), SERVERS)
        assert found.answer is Answer.OK
        new = frozenset(range(count))
        made, _ = after(("done",) * COUNT, new)
        outcome = Outcome(step=f"switch {NEW}", answer=found.answer, message=found.message, at=NOW)
        made = msgspec.structs.replace(
            made, staged=frozenset(), operation=record("stage"), outcomes=Outcomes({outcome.step: outcome})
        )
        steps = decide(made, NOW).steps
        if count < COUNT:
            [stage] = steps
            assert isinstance(stage, Stage)
            assert stage.through == f"minio-{count}"
            assert set(stage.switched) == {f"uid-{at}" for at in new}
        else:
            assert not any(isinstance(step, Stage | Switch) for step in steps)
