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
from shiplift.nodes.face.others import ExplainedRollout, others
from shiplift.nodes.face.rollouts import rollouts_view
from shiplift.nodes.observe.members import Members
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


def test_all_nodes_of_a_rollout_are_there_also_those_to_which_nothing_is_done() -> None:
    said = explained("rollout/r", STOPPED)
    assert "\nOTHER NODE  VERSION  WAITS FOR\nworker-1    v1.35.4  its turn" in said
    over = a_rollout(phase=RolloutPhase.ABORTED)
    assert "worker-1    v1.35.4  nothing: the rollout is over" in explained("rollout/r", over)
    through = a_rollout(phase=RolloutPhase.COMPLETE, spec={"version": "v1.35.4"})
    assert "worker-1    v1.35.4  nothing: it runs what it should" in explained("rollout/r", through)
    assert "worker-1" not in explained("rollout/r", a_rollout(spec={"pools": ("gold",)}))


def test_of_many_other_nodes_those_come_first_that_are_still_to_be_changed() -> None:
    rows = [node(f"a-{one:02}", "v1.36.3") for one in range(60)] + [node("z", "v1.35.4")]
    found = others(a_rollout(), Members().look(rows, ()).values())
    assert (found[0].name, found[0].waits_for) == ("z", "its turn")
    out = io.StringIO()
    view = rollouts_view([a_rollout()], NOW, None)
    assert view is not None
    Console(file=out, width=110, no_color=True).print(EXPLAIN.picture(ExplainedRollout(view, found)))
    assert out.getvalue().rstrip().endswith("and 11 more")


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
