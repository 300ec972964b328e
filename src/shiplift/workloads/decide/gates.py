"""Why a workload, or a pod of it, has not moved yet: one ordered tuple of gates, each open or closed by a
line.

The first closed gate is what the workload waits for. It also says what there is to do about it, and nothing
else is done for the workload. `shiplift explain pod/NAME` prints the same tuple.

    WORKLOAD_GATES        whose turn it is, and what has to be in place before any pod of it moves
    pod_gates.POD_GATES   for each pod of a workload that has passed those, in the order in which its pods go

Gates change nothing but the books: a pod that finds a place has that place kept for it.
"""

from __future__ import annotations

from shiplift.api.workloads import Mode
from shiplift.workloads.decide import turn_gates, way_gates
from shiplift.workloads.decide.books import Books
from shiplift.workloads.decide.gate import Closed, Gate
from shiplift.workloads.model import Reason, Tally


class Way:
    """The gates that workloads meet in one decision, those that nobody can find closed left out."""

    def __init__(self, books: Books) -> None:
        mode = books.view.target.mode
        concerned = [gate for gate in WORKLOAD_GATES if gate.is_of(mode) and gate.concerns(books)]
        self._books = books
        self._all = tuple(gate.closed for gate in concerned)
        self._released = tuple(gate.closed for gate in concerned if not gate.before_release)

    def first_closed(self, tally: Tally) -> Closed | None:
        """What the workload waits for before any pod of it moves."""
        books = self._books
        for closed in self._released if tally.id in books.released else self._all:
            if (found := closed(books, tally)) is not None:
                return found
        return None


WORKLOAD_GATES = (
    Gate(
        "everything in its namespace can be read",
        turn_gates.all_is_readable,
        concerns=lambda books: bool(books.unreadable),
    ),
    Gate("all that it depends on have moved", turn_gates.dependencies, before_release=True),
    Gate("nobody keeps it from its turn", turn_gates.its_turn, before_release=True),
    Gate(
        "nodes carry their taints",
        turn_gates.nodes_are_tainted,
        concerns=lambda books: bool(books.view.fleet.taints),
        mode=Mode.TEMPLATE,
    ),
    Gate("its namespace's placement can name it", turn_gates.fits_into_placement, before_release=True),
    Gate("its template lets its pods onto target nodes", turn_gates.template_lets_on),
    Gate(
        "nodes of the target version are there",
        turn_gates.target_nodes,
        before_release=True,
        concerns=lambda books: (
            not books.view.fleet.targets and not turn_gates.consolidates(books) and not books.growth.on
        ),
    ),
    Gate(
        "target nodes have come before the first move",
        turn_gates.nodes_have_come,
        before_release=True,
        concerns=lambda books: books.settling is not None,
    ),
    Gate(
        "its images run on what target nodes are",
        turn_gates.images_run_there,
        before_release=True,
        concerns=turn_gates.waits_for_architecture,
    ),
    Gate(
        "no pod of it makes room on an old node",
        turn_gates.not_between_old_nodes,
        before_release=True,
        concerns=lambda books: bool(books.view.status.emptying),
    ),
    Gate("a target node has room for a pod of it", turn_gates.room_to_begin, before_release=True),
    Gate("its release is written down", turn_gates.release_is_written, before_release=True),
    Gate("no surge of it is under way", way_gates.surge_is_over),
    Gate("pods of it are left to move, or to come", way_gates.not_all_there),
    Gate(
        "nothing stops all moves",
        way_gates.nothing_stops_all,
        concerns=lambda books: books.stop is not None,
        known_to_operator=(Reason.NODE_NOT_MARKED, Reason.POD_NOT_STEERED),
    ),
    Gate(
        "its pods were not evicted again and again",
        way_gates.evicted_seldom,
        concerns=lambda books: books.brakes,
        known_to_operator=(Reason.EVICTED_TOO_OFTEN, Reason.MADE_AGAIN_TOO_OFTEN),
    ),
    Gate(
        "its PodDisruptionBudget is given back",
        way_gates.budget_is_given_back,
        concerns=lambda books: bool(books.view.holds),
    ),
    Gate("its template tolerates target nodes", way_gates.template_tolerates, mode=Mode.TEMPLATE),
    Gate(
        "API servers go by its placement",
        way_gates.placement_in_force,
        mode=Mode.INJECT,
        known_to_operator=(Reason.NOT_IN_FORCE,),
    ),
    Gate(
        "every namespace has its placement",
        way_gates.placements_are_there,
        concerns=lambda books: bool(books.without_placement),
        mode=Mode.INJECT,
    ),
    Gate("no quorum service swaps its binary", way_gates.no_swap),
    Gate("no rollout of it is running", way_gates.no_rollout),
)
"""In the order in which a workload passes them."""
