"""Tables against a naive model of them: what is found, what is frozen, and what subscribers hear."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from shiplift.facts.meta import NO_LABELS, Labels, Owner, Row
from shiplift.facts.pods import Pod
from shiplift.facts.selectors import Requirement, Selector
from shiplift.kube.tables import Frozen, Index, Lookup, PodLookup, Table
from tests.examples import tries
from tests.kube.rows_for_tests import a_namespace, a_pod

NODES = ["", "n1", "n2"]
OWNERS = [Owner("ReplicaSet", f"r{i}", f"o{i}", controller=i == 0) for i in range(3)]
LABELS = [NO_LABELS, Labels(app="a"), Labels(app="b"), Labels(app="a", tier="web")]
SELECTORS = [
    Selector(NO_LABELS),
    Selector(Labels(app="a")),
    Selector(Labels(app="none")),
    Selector(NO_LABELS, (Requirement("tier", "DoesNotExist"),)),
]
SPACES = ["shop", "bank"]
MANY = settings(derandomize=True, max_examples=tries(60), stateful_step_count=25, deadline=None)

uids = st.integers(0, 59).map(lambda number: f"u{number}")
nodes = st.sampled_from(NODES)
labels = st.sampled_from(LABELS)
owners = st.lists(st.sampled_from(OWNERS), max_size=3).map(tuple)


def space_of(uid: str) -> str:
    """An object keeps its namespace for life."""
    return SPACES[int(uid[1:]) % 2]


def seen(frozen: Frozen) -> dict[str, Any]:
    """Everything that a snapshot can be asked, as plain values."""
    found = frozen.found
    return {
        "rows": dict(frozen.rows),
        "nodes": {node: set(members) for node, members in found.nodes.items()},
        "owners": {uid: set(members) for uid, members in found.owners.items()},
        "matching": {
            (space, index): sorted(map(str, found.matching(space, selector)))
            for space in SPACES
            for index, selector in enumerate(SELECTORS)
        },
        "names": dict(found.names),
        "about": (frozen.revision, frozen.synced, frozen.stale, dict(frozen.undecodable)),
    }


def expected(rows: dict[str, Pod], revision: int, synced: bool) -> dict[str, Any]:
    """The same from the model: by looking at every row."""
    by_node: dict[str, set[str]] = {}
    by_owner: dict[str, set[str]] = {}
    for uid, pod in rows.items():
        by_node.setdefault(pod.node, set()).add(uid)
        for owner in pod.owners:
            by_owner.setdefault(owner.uid, set()).add(uid)
    return {
        "rows": rows,
        "nodes": by_node,
        "owners": by_owner,
        "matching": {
            (space, index): sorted(
                uid for uid, pod in rows.items() if pod.namespace == space and selector.matches(pod.labels)
            )
            for space in SPACES
            for index, selector in enumerate(SELECTORS)
        },
        "names": {},
        "about": (revision, synced, not synced, {}),
    }


class PodTable(RuleBasedStateMachine):
    """Random events on a table of pods, and on the model; frozen states are looked at again at the end."""

    @initialize()
    def begin(self) -> None:
        self.heard: list[tuple[Row | None, Row | None]] = []
        self.table = Table(PodLookup(), lambda old, new: self.heard.append((old, new)))
        self.model: dict[str, Pod] = {}
        self.revision = 0
        self.synced = False
        self.kept: list[tuple[Frozen, dict[str, Any]]] = []

    def _make(self, uid: str, node: str, owners: tuple[Owner, ...], labels: Labels) -> Pod:
        self.revision += 1
        return a_pod(uid, self.revision, namespace=space_of(uid), node=node, owners=owners, labels=labels)

    @rule(uid=uids, node=nodes, owners=owners, labels=labels)
    def put(self, uid: str, node: str, owners: tuple[Owner, ...], labels: Labels) -> None:
        pod = self._make(uid, node, owners, labels)
        old = self.model.get(uid)
        self.table.put(pod)
        assert self.heard == [(old, pod)]
        self.model[uid] = pod

    @rule(count=st.integers(1, 40), node=nodes, labels=labels)
    def put_many(self, count: int, node: str, labels: Labels) -> None:
        for number in range(count):
            self.heard.clear()
            self.put(f"u{number}", node, (OWNERS[0],), labels)

    @rule(uid=uids)
    def remove(self, uid: str) -> None:
        self.revision += 1
        self.table.remove(uid, self.revision)
        old = self.model.pop(uid, None)
        assert self.heard == ([(old, None)] if old else [])

    @rule(keep=st.integers(0, 3))
    def remove_most(self, keep: int) -> None:
        for uid in list(self.model)[keep:]:
            self.heard.clear()
            self.remove(uid)

    @rule(data=st.data(), restored=st.booleans())
    def replace(self, data: st.DataObject, restored: bool) -> None:
        """A sync: some rows are as they were, some have changed, some are new, some are gone."""
        chosen = data.draw(st.lists(uids, max_size=12, unique=True))
        unchanged = data.draw(st.booleans())
        rows: dict[str, Row] = {}
        for uid in chosen:
            if unchanged and uid in self.model:
                rows[uid] = self.model[uid]
            else:
                rows[uid] = self._make(uid, data.draw(nodes), data.draw(owners), data.draw(labels))
        if restored:
            self.revision = data.draw(st.integers(0, self.revision))
        before, after = self.model, dict(rows)
        self.table.replace(rows, self.revision)
        self.model, self.synced = after, True  # type: ignore[assignment]
        changes = {(old.uid if old else new.uid if new else ""): (old, new) for old, new in self.heard}
        assert len(changes) == len(self.heard)
        assert changes == {
            uid: (before.get(uid), after.get(uid))
            for uid in before.keys() | after.keys()
            if before.get(uid) is not after.get(uid)
        }

    @rule(ahead=st.integers(0, 5))
    def reach(self, ahead: int) -> None:
        self.table.reach(self.revision - 3)
        self.revision += ahead
        self.table.reach(self.revision)

    @rule()
    def freeze(self) -> None:
        frozen = self.table.freeze()
        self.kept.append((frozen, seen(frozen)))

    @invariant()
    def the_table_is_as_the_model(self) -> None:
        self.heard.clear()
        assert self.table.rows == self.model
        assert self.table.revision == self.revision

    def teardown(self) -> None:
        if not hasattr(self, "table"):
            return
        for frozen, before in self.kept:
            assert seen(frozen) == before, "a frozen table has changed"
        assert seen(self.table.freeze()) == expected(self.model, self.revision, self.synced)


def test_a_table_of_pods_is_as_its_model() -> None:
    run_state_machine_as_test(PodTable, settings=MANY)


class Names(RuleBasedStateMachine):
    """Objects of few names: deleted, and made again under the same name with another uid."""

    @initialize()
    def begin(self) -> None:
        self.table = Table(Lookup(), lambda old, new: None)
        self.alive: dict[str, str] = {}
        self.made = 0
        self.kept: list[tuple[Frozen, dict[tuple[str, str], str]]] = []

    @rule(name=st.sampled_from("abc"))
    def make_or_change(self, name: str) -> None:
        self.made += 1
        uid = self.alive.setdefault(name, f"u{self.made}")
        self.table.put(a_namespace(uid, self.made, name=name))

    @rule(name=st.sampled_from("abc"))
    def delete(self, name: str) -> None:
        self.made += 1
        self.table.remove(self.alive.pop(name, "unknown"), self.made)

    @rule(names=st.sets(st.sampled_from("abc")), anew=st.booleans())
    def sync(self, names: set[str], anew: bool) -> None:
        self.made += 1
        for name in "abc":
            if name not in names:
                self.alive.pop(name, None)
            elif anew or name not in self.alive:
                self.alive[name] = f"u{self.made}-{name}"
        rows: dict[str, Row] = {
            uid: a_namespace(uid, self.made, name=name) for name, uid in self.alive.items()
        }
        self.table.replace(rows, self.made)

    @rule()
    def freeze(self) -> None:
        frozen = self.table.freeze()
        self.kept.append((frozen, dict(frozen.found.names)))

    @invariant()
    def names_lead_to_what_lives(self) -> None:
        if not hasattr(self, "table"):
            return
        assert {row.name: uid for uid, row in self.table.rows.items()} == self.alive

    def teardown(self) -> None:
        if not hasattr(self, "table"):
            return
        assert self.table.freeze().found.names == {("", name): uid for name, uid in self.alive.items()}
        for frozen, names in self.kept:
            assert frozen.found.names == names
            assert all(frozen.rows[uid].name == name for (_, name), uid in names.items())


def test_names_lead_to_what_lives_now() -> None:
    run_state_machine_as_test(Names, settings=MANY)


def test_a_name_whose_new_object_is_heard_of_before_the_old_one_is_gone() -> None:
    table = Table(Lookup(), lambda old, new: None)
    table.put(a_namespace("old", 1, name="shop"))
    table.put(a_namespace("new", 2, name="shop"))
    table.remove("old", 3)
    assert table.freeze().found.names == {("", "shop"): "new"}


@pytest.mark.parametrize("frozen_in_between", [False, True])
def test_a_bucket_grows_past_the_small_size_and_shrinks_again(frozen_in_between: bool) -> None:
    index = Index()
    kept: list[tuple[Any, set[Any]]] = []

    def look() -> None:
        if frozen_in_between:
            frozen = index.freeze()
            kept.append((frozen, set(frozen.get("n1", ()))))

    for number in range(40):
        assert index.insert("n1", number) is (number == 0)
        assert index.insert("n1", number) is False, "twice is once"
        look()
    assert set(index.buckets["n1"]) == set(range(40))
    for number in range(40):
        assert index.drop("n1", "stranger") is False
        assert index.drop("n1", number) is (number == 39)
        look()
    assert index.buckets == {}
    assert index.drop("n1", 0) is False
    assert all(set(frozen.get("n1", ())) == members for frozen, members in kept)


@settings(derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 30), st.booleans()), max_size=80))
def test_an_index_holds_what_was_inserted_and_not_dropped(changes: list[tuple[str, int, bool]]) -> None:
    index, model, kept = Index(), dict[str, set[int]](), list[tuple[Any, dict[str, set[int]]]]()
    for count, (key, member, inserted) in enumerate(changes):
        if inserted:
            assert index.insert(key, member) is (not model.get(key))
            model.setdefault(key, set()).add(member)
        else:
            last = model.get(key) == {member}
            assert index.drop(key, member) is last
            model.get(key, set()).discard(member)
        if count % 5 == 0:
            kept.append((index.freeze(), {key: set(members) for key, members in model.items() if members}))
    assert {key: set(members) for key, members in index.buckets.items()} == {
        key: members for key, members in model.items() if members
    }
    for frozen, before in kept:
        assert {key: set(members) for key, members in frozen.items()} == before


def test_an_unchanged_row_is_not_heard_of() -> None:
    heard: list[object] = []
    table = Table(Lookup(), lambda old, new: heard.append((old, new)))
    row = a_namespace("u1", 5)
    table.put(row)
    table.put(row)
    table.replace({"u1": row}, 9)
    assert heard == [(None, row)]
    assert table.revision == 9


def test_a_table_that_is_not_looked_at_copies_nothing() -> None:
    table = Table(Lookup(), lambda old, new: None)
    table.replace({"u1": a_namespace("u1")}, 1)
    rows = table.rows
    table.put(a_namespace("u2", 2))
    assert table.rows is rows
    table.freeze()
    table.put(a_namespace("u3", 3))
    assert table.rows is not rows
    assert set(rows) == {"u1", "u2"}
