"""`shiplift explain rollout/x`, and who is meant where a name is mistyped."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any, cast

import pytest
from rich.console import Console

from shiplift.api.nodes import NodeRollout, NodeState, RolloutPhase
from shiplift.cli.explain import read_name
from shiplift.face.parts import FaceError, Question, Reader
from shiplift.facts.kinds import NODE_ROLLOUT, Kind
from shiplift.kube.store import Snapshot
from shiplift.kube.watch import Watch
from shiplift.nodes.face.explain import EXPLAIN
from tests.nodes.face.rollouts import NOW, a_record, a_rollout
from tests.view.rows import Snapshot as Rows
from tests.view.rows import node

STOPPED = a_rollout(
    a_record("b", NodeState.QUARANTINED, 3, message="no space left"),
    phase=RolloutPhase.STOPPED,
    stalled="1 node failed; `shiplift resume rollout/r` tries it again",
)


class Cluster:
    """Some rollouts, and node `worker-1`."""

    namespace = "default"

    def __init__(self, *rollouts: NodeRollout) -> None:
        self._rollouts = rollouts

    def objects(self, kind: Kind) -> Sequence[Any]:
        assert kind == NODE_ROLLOUT
        return self._rollouts

    def collected(self, watches: Iterable[Watch]) -> Snapshot:
        assert list(watches)
        return cast("Snapshot", Rows(node("worker-1", "v1.35.4")))


def explained(what: str, *rollouts: NodeRollout) -> str:
    kind, name = read_name(what, [EXPLAIN])
    told = EXPLAIN.explained(cast("Reader", Cluster(*rollouts)), Question(kind, name), NOW)
    out = io.StringIO()
    Console(file=out, width=110, no_color=True).print(EXPLAIN.picture(told))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


@pytest.mark.parametrize("word", ["rollout", "nr", "NodeRollout"])
def test_a_rollout_says_what_it_is_at_what_it_needs_and_which_nodes(word: str) -> None:
    said = explained(f"{word}/r", STOPPED, a_rollout(name="other"))
    assert said.startswith("Nodes      r stopped, Kubernetes v1.36.3, for 60 min\n")
    assert "Needs you  1 node failed; `shiplift resume rollout/r` tries it again\n" in said
    assert "\nb     Quarantined  3 min  no space left" in said
    assert "other" not in said


@pytest.mark.parametrize(
    ("what", "hint"),
    [
        ("rollout/rr", "did you mean rollout/r?"),
        ("rollout/v9", "`kubectl get noderollouts` lists them"),
    ],
)
def test_a_rollout_that_is_not_there_is_answered_with_who_may_be_meant(what: str, hint: str) -> None:
    with pytest.raises(FaceError) as caught:
        explained(what, STOPPED)
    assert (caught.value.message, caught.value.hint) == (
        f"there is no NodeRollout {what.partition('/')[2]}",
        hint,
    )
