import sys

from hypothesis import given
from hypothesis import strategies as st

from shiplift.engine.components import back_edges, components
from shiplift.engine.graph import Edge, Graph, OnCycle, OnMissing, Progress


def edges(*pairs, origin="order web", soft=False):
    return [Edge(dependent, dependency, origin, soft) for dependent, dependency in pairs]


def test_a_key_without_dependencies_is_ready():
    assert Progress(Graph("ab", [])).ready == ("a", "b")


def test_a_key_waits_for_all_of_its_dependencies():
    progress = Progress(Graph("abc", edges("ca", "cb")))
    assert progress.ready == ("a", "b")
    assert progress.meet("a") == ()
    assert progress.meet("b") == ("c",)
    assert progress.ready == ("c",)


def test_a_key_moves_as_soon_as_its_own_dependencies_are_met_and_not_wave_by_wave():
    progress = Progress(Graph("abcd", edges("ca", "db")))
    assert progress.meet("a") == ("c",)
    assert progress.ready == ("b", "c")


def test_what_was_met_before_counts_from_the_start():
    progress = Progress(Graph("abc", edges("ba", "cb")), met="ab")
    assert progress.ready == ("c",)
    assert progress.met("a")
    assert not progress.met("c")


def test_meeting_a_key_twice_changes_nothing():
    progress = Progress(Graph("ab", edges("ba")))
    assert progress.meet("a") == ("b",)
    assert progress.meet("a") == ()
    assert progress.ready == ("b",)


def test_two_reasons_for_one_dependency_are_both_kept_and_met_together():
    both = [*edges("ba", origin="annotation"), *edges("ba", origin="order web")]
    graph = Graph("ab", both)
    assert [edge.origin for edge in graph.dependencies("b")] == ["annotation", "order web"]
    assert Progress(graph).meet("a") == ("b",)


def test_waiting_is_explained_by_edges_with_their_origin():
    progress = Progress(Graph("abc", edges("ca", "cb")))
    progress.meet("a")
    assert progress.waits_for("c") == (Edge("c", "b", "order web"),)
    assert progress.waits_for("a") == ()


def test_a_cycle_is_found_with_its_members_and_the_edges_that_close_it():
    graph = Graph("abcd", edges("ab", "bc", "ca", "dc"))
    (cycle,) = graph.cycles
    assert cycle.members == ("a", "b", "c")
    assert cycle.edges == tuple(edges("ab", "bc", "ca"))
    assert cycle.closing == tuple(edges("ca"))


def test_a_short_cut_within_a_cycle_does_not_close_it():
    (cycle,) = Graph("abc", edges("ab", "bc", "ca", "ac")).cycles
    assert cycle.edges == tuple(edges("ab", "ac", "bc", "ca"))
    assert cycle.closing == tuple(edges("ca"))


def test_a_key_that_depends_on_itself_is_a_cycle():
    (cycle,) = Graph("ab", edges("aa", "ba")).cycles
    assert cycle.members == ("a",)
    assert cycle.closing == tuple(edges("aa"))


def test_cycles_that_share_a_member_are_one():
    (cycle,) = Graph("abc", edges("ab", "ba", "bc", "cb")).cycles
    assert cycle.members == ("a", "b", "c")
    assert cycle.closing == tuple(edges("ba", "cb"))


def test_separate_cycles_are_separate_and_in_order():
    assert [cycle.members for cycle in Graph("dcba", edges("ab", "ba", "cd", "dc")).cycles] == [
        ("d", "c"),
        ("b", "a"),
    ]


def test_a_collapsed_cycle_moves_as_one_when_all_it_needs_outside_is_met():
    progress = Progress(Graph("xabcz", edges("ab", "bc", "ca", "ax", "zc")))
    assert progress.ready == ("x",)
    assert progress.waits_for("b") == tuple(edges("ax"))
    assert progress.meet("x") == ("a", "b", "c")


def test_who_needs_one_of_a_collapsed_cycle_waits_for_all_of_it():
    progress = Progress(Graph("abcyz", edges("ab", "bc", "ca", "zc", "yz")))
    assert progress.ready == ("a", "b", "c")
    assert progress.meet("c") == ()
    assert {edge.dependency for edge in progress.waits_for("z")} == {"a", "b"}
    assert progress.meet("a") == ()
    assert progress.meet("b") == ("z",)
    assert progress.meet("z") == ("y",)


def test_a_stopped_cycle_holds_its_members_and_all_that_depend_on_them():
    graph = Graph("xabz", edges("ab", "ba", "zb"), on_cycle=OnCycle.STOP)
    progress = Progress(graph)
    assert progress.ready == ("x",)
    assert progress.waits_for("a") == tuple(edges("ba"))
    assert graph.waves().never == ("a", "b", "z")


def test_what_was_met_before_the_cycle_was_written_stays_met():
    progress = Progress(Graph("abz", edges("ab", "ba", "zb"), on_cycle=OnCycle.STOP), met="b")
    assert progress.ready == ("z",)


def test_a_missing_dependency_is_named_and_blocks_only_its_dependents():
    graph = Graph("abc", edges("bq", "ca"))
    assert graph.unknown == {"q": edges("bq")}
    progress = Progress(graph)
    assert progress.ready == ("a",)
    assert progress.waits_for("b") == tuple(edges("bq"))
    assert progress.meet("a") == ("c",)
    assert graph.waves().never == ("b",)


def test_a_missing_dependency_can_be_ignored():
    graph = Graph("ab", edges("bq"), on_missing=OnMissing.IGNORE)
    assert Progress(graph).ready == ("a", "b")
    assert list(graph.unknown) == ["q"]
    assert graph.waves().never == ()


def test_a_dependency_that_was_met_and_then_deleted_blocks_nobody():
    assert Progress(Graph("b", edges("bq")), met="q").ready == ("b",)


def test_an_edge_of_an_unknown_dependent_is_named_and_has_no_effect():
    graph = Graph("a", edges("qa", "qr"))
    assert graph.unknown == {"q": edges("qa", "qr"), "r": edges("qr")}
    assert Progress(graph).ready == ("a",)


def test_a_soft_edge_orders_where_it_can():
    assert Progress(Graph("ab", edges("ba", soft=True))).ready == ("a",)


def test_a_soft_edge_gives_way_in_a_cycle():
    graph = Graph("abc", [*edges("ab", "cb"), *edges("ba", "ca", soft=True)])
    assert graph.cycles == ()
    progress = Progress(graph)
    assert progress.ready == ("b",)
    assert progress.meet("b") == ("a",)
    assert progress.meet("a") == ("c",)


def test_a_soft_edge_to_nothing_blocks_nobody():
    assert Progress(Graph("a", edges("aq", soft=True))).ready == ("a",)


def test_waves_are_as_early_as_can_be():
    graph = Graph("abcde", edges("ba", "cb", "da", "ec", "ed"))
    assert graph.waves().waves == (("a",), ("b", "d"), ("c",), ("e",))


def test_a_collapsed_cycle_is_in_one_wave():
    assert Graph("abcd", edges("bc", "cb", "ba", "dc")).waves().waves == (("a",), ("b", "c"), ("d",))


def test_an_empty_graph_has_nothing_to_do():
    graph: Graph[str] = Graph([], [])
    assert (graph.waves().waves, graph.cycles, Progress(graph).ready) == ((), (), ())


def test_keys_may_be_anything_hashable():
    one, two = ("apps", "web"), ("apps", "db")
    assert Progress(Graph([one, two], [Edge(one, two, "x")])).ready == (two,)


def test_a_chain_far_deeper_than_the_stack_is_walked():
    depth = sys.getrecursionlimit() * 5
    chain = Graph(range(depth), [Edge(low + 1, low, "x") for low in range(depth - 1)])
    assert len(chain.waves().waves) == depth
    ring = Graph(range(depth), [Edge(node, (node + 1) % depth, "x") for node in range(depth)])
    assert len(ring.cycles[0].members) == depth
    assert len(ring.cycles[0].closing) == 1


nodes = st.integers(0, 7)
graphs = st.lists(st.tuples(nodes, nodes), max_size=25)


def reachable(pairs):
    """Who waits for whom in the end, by brute force."""
    reach = {node: {end for start, end in pairs if start == node} for node in range(8)}
    for middle in range(8):
        for start in range(8):
            if middle in reach[start]:
                reach[start] |= reach[middle]
    return reach


@given(graphs)
def test_components_agree_with_brute_force_and_come_after_what_they_point_to(pairs):
    below = [[end for start, end in pairs if start == node] for node in range(8)]
    reach = reachable(pairs)
    found = components(below)
    place = {node: number for number, group in enumerate(found) for node in group}
    assert sorted(place) == list(range(8))
    for one in range(8):
        for other in range(8):
            together = one == other or (other in reach[one] and one in reach[other])
            assert (place[one] == place[other]) == together
    assert all(place[start] >= place[end] for start, end in pairs)


@given(graphs)
def test_without_the_closing_edges_no_cycle_is_left(pairs):
    found = Graph(range(8), edges(*pairs)).cycles
    closing = {edge for cycle in found for edge in cycle.closing}
    assert bool(closing) == bool(found)
    assert Graph(range(8), [edge for edge in edges(*pairs) if edge not in closing]).cycles == ()


@given(graphs)
def test_each_closing_edge_alone_would_close_a_cycle(pairs):
    given = list(dict.fromkeys(edges(*pairs)))
    closing = [edge for cycle in Graph(range(8), given).cycles for edge in cycle.closing]
    rest = [edge for edge in given if edge not in closing]
    assert all(Graph(range(8), [*rest, edge]).cycles for edge in closing)


@given(graphs, st.randoms(use_true_random=False))
def test_going_step_by_step_keeps_every_order_and_reaches_everything(pairs, random):
    graph = Graph(range(8), edges(*pairs))
    progress, done, reach = Progress(graph), [], reachable(pairs)
    while progress.ready:
        key = random.choice(progress.ready)
        for start, end in pairs:
            if start == key and key not in reach[end] and start != end:
                assert end in done
        fresh = progress.meet(key)
        done.append(key)
        assert set(fresh) <= set(progress.ready)
        assert progress.ready == Progress(graph, done).ready
    assert sorted(done) == list(range(8))


@given(graphs, st.sets(nodes))
def test_a_key_is_ready_exactly_when_nothing_is_said_to_hold_it(pairs, met):
    progress = Progress(Graph(range(6), edges(*pairs), on_cycle=OnCycle.STOP), met)
    for key in range(6):
        assert (key in progress.ready) == (key not in met and progress.waits_for(key) == ())


@given(graphs)
def test_waves_respect_every_edge_and_lose_nobody(pairs):
    shown = Graph(range(8), edges(*pairs), on_cycle=OnCycle.STOP).waves()
    place = {node: number for number, wave in enumerate(shown.waves) for node in wave}
    assert sorted([*place, *shown.never]) == list(range(8))
    for start, end in pairs:
        if start in place:
            assert place[end] < place[start]


@given(st.permutations(list(range(8))), graphs)
def test_the_same_nodes_in_another_order_are_ready_all_the_same(order, pairs):
    one = Progress(Graph(range(8), edges(*pairs))).ready
    assert sorted(Progress(Graph(order, edges(*pairs))).ready) == list(one)


def test_the_back_edge_of_a_ring_is_the_one_that_returns():
    ring = [[1], [2], [3], [0]]
    assert back_edges(range(4), ring) == {(3, 0)}


def test_a_walk_does_not_leave_the_members():
    assert back_edges([0, 1], [[1, 2], [0], [0, 1]]) == {(1, 0)}
