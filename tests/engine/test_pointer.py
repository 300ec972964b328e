import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.engine.pointer import (
    ABSENT,
    PointerError,
    ancestors,
    entry,
    get,
    index,
    overlap,
    patch,
    pointer,
    put,
    same,
    tokens,
    whole,
)

NODE = {
    "metadata": {"labels": {"a/b": "1", "c~d": "2"}},
    "spec": {
        "unschedulable": True,
        "taints": [
            {"key": "x", "effect": "NoSchedule"},
            {"key": "x", "effect": "NoExecute"},
            {"key": "y", "value": "v", "effect": "NoSchedule"},
        ],
        "finalizers": ["one", "two", "one"],
    },
}
X = pointer("spec", "taints", entry(key="x", effect="NoExecute"))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/spec/unschedulable", True),
        (pointer("metadata", "labels", "a/b"), "1"),
        ("/metadata/labels/c~0d", "2"),
        ("/metadata/annotations/x", ABSENT),
        ("/spec/unschedulable/deeper", ABSENT),
        (X, {"key": "x", "effect": "NoExecute"}),
        (pointer("spec", "taints", entry(key="y"), "value"), "v"),
        (pointer("spec", "taints", entry(key="z")), ABSENT),
        (pointer("spec", "finalizers", whole("two")), "two"),
        (pointer("spec", "finalizers", whole("six")), ABSENT),
    ],
)
def test_a_pointer_finds_its_value(path, value):
    assert get(NODE, path) is value or get(NODE, path) == value


def test_an_ambiguous_name_is_refused():
    with pytest.raises(PointerError, match="names 2 entries"):
        get(NODE, pointer("spec", "taints", entry(key="x")))


@pytest.mark.parametrize("token", ["0", "-", "1"])
def test_positions_in_lists_are_refused(token):
    with pytest.raises(PointerError, match=repr(token)) as refused:
        get(NODE, pointer("spec", "taints", token))
    assert "positions move" in refused.value.hint


def test_a_pointer_starts_with_a_slash():
    with pytest.raises(PointerError, match="'spec/taints'"):
        tokens("spec/taints")


def test_an_entry_name_that_is_not_json_is_refused():
    with pytest.raises(PointerError, match="unreadable"):
        get(NODE, "/spec/taints/{oops")


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1, True),
        (1, True, False),
        (0, False, False),
        (None, ABSENT, False),
        (ABSENT, ABSENT, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], [2, 1], False),
        ({"a": True}, {"a": 1}, False),
    ],
)
def test_values_are_compared_as_json(one, other, equal):
    assert same(one, other) is equal


def test_missing_maps_and_lists_are_made_on_the_way():
    assert put({}, "/metadata/labels/a", "1") == {"metadata": {"labels": {"a": "1"}}}
    taint = {"key": "k", "effect": "NoSchedule"}
    path = pointer("spec", "taints", entry(key="k", effect="NoSchedule"))
    assert put({}, path, taint) == {"spec": {"taints": [taint]}}


def test_a_list_entry_is_replaced_where_it_is():
    changed = put(NODE, X, {"key": "x", "effect": "NoExecute", "value": "new"})
    assert [taint.get("value") for taint in changed["spec"]["taints"]] == [None, "new", "v"]


def test_a_list_entry_goes_back_to_its_place():
    gone = put(NODE, X, ABSENT)
    assert len(gone["spec"]["taints"]) == 2
    assert put(gone, X, {"key": "x", "effect": "NoExecute"}, at=index(NODE, X)) == NODE


def test_a_place_beyond_the_end_is_the_end():
    assert put({"l": []}, pointer("l", whole("a")), "a", at=7) == {"l": ["a"]}


def test_of_equal_entries_the_last_one_goes():
    path = pointer("spec", "finalizers", whole("one"))
    assert put(NODE, path, ABSENT)["spec"]["finalizers"] == ["one", "two"]


def test_taking_away_what_is_not_there_changes_nothing():
    for path in ("/a/b/c", "/metadata/labels/zzz", pointer("spec", "taints", entry(key="z"), "value")):
        assert put(NODE, path, ABSENT) == NODE


def test_a_part_of_an_entry_that_is_not_there_cannot_be_set():
    with pytest.raises(PointerError, match="not there"):
        put(NODE, pointer("spec", "taints", entry(key="z"), "value"), "v")


def test_an_entry_must_carry_its_own_name():
    with pytest.raises(PointerError, match="another name"):
        put(NODE, X, {"key": "other", "effect": "NoExecute"})
    with pytest.raises(PointerError, match="another name"):
        put({}, pointer("l", whole("a")), "b")


def test_a_plain_value_has_no_parts():
    with pytest.raises(PointerError, match="goes through a bool"):
        put(NODE, "/spec/unschedulable/x", 1)


def test_documents_are_never_changed_in_place():
    before = copy.deepcopy(NODE)
    put(NODE, X, ABSENT)
    put(NODE, "/metadata/labels/new", "1")
    assert before == NODE


@pytest.mark.parametrize(
    ("one", "other", "overlaps"),
    [
        ("/a", "/a", True),
        ("/a", "/a/b", True),
        ("/a/b", "/a", True),
        ("/a/b", "/a/c", False),
        ("/a/b", "/a/bc", False),
        (pointer("t", entry(key="a")), pointer("t", entry(key="b")), False),
        (pointer("t", entry(key="a")), pointer("t", entry(key="a", effect="x")), True),
        (pointer("t", entry(key="a")), pointer("t", whole("a")), True),
        (pointer("t", whole("a")), pointer("t", whole("b")), False),
        (pointer("t", entry(key="a")), "/t", True),
    ],
)
def test_overlapping_pointers_are_noticed(one, other, overlaps):
    assert overlap(one, other) is overlaps


def test_ancestors_come_from_the_outside_in():
    assert ancestors("/a/b~1c/d") == ["/a", "/a/b~1c"]


def test_the_patch_names_only_what_differs():
    new = put(put(put(NODE, "/metadata/labels/n", "1"), "/spec/unschedulable", ABSENT), X, ABSENT)
    assert patch(NODE, new) == [
        {"op": "add", "path": "/metadata/labels/n", "value": "1"},
        {"op": "remove", "path": "/spec/unschedulable"},
        {"op": "replace", "path": "/spec/taints", "value": new["spec"]["taints"]},
    ]


def test_equal_documents_need_no_patch():
    assert patch(NODE, copy.deepcopy(NODE)) == []


keys = st.sampled_from(["a", "b", "c/d", "e~f", ""])
documents = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["x", "y"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=12,
)
maps = st.dictionaries(keys, documents, max_size=4)


def apply(document, operations):
    """The part of RFC 6902 that patches here use, written apart from the code under test."""
    document = copy.deepcopy(document)
    for operation in operations:
        *above, last = [
            part.replace("~1", "/").replace("~0", "~") for part in operation["path"][1:].split("/")
        ]
        holder = document
        for token in above:
            holder = holder[token]
        if operation["op"] == "remove":
            del holder[last]
        else:
            assert (last in holder) == (operation["op"] == "replace")
            holder[last] = operation["value"]
    return document


@given(maps, maps)
def test_the_patch_makes_the_new_document_of_the_old_one(old, new):
    assert same(apply(old, patch(old, new)), new)


@given(maps, st.lists(keys, min_size=1, max_size=3), documents)
def test_what_was_put_is_found(document, path, value):
    where = pointer(*path)
    try:
        changed = put(document, where, value)
    except PointerError:
        return
    assert same(get(changed, where), value)


@given(st.lists(st.text(max_size=5), min_size=1, max_size=4))
def test_tokens_survive_being_written_as_a_pointer(parts):
    assert tokens(pointer(*parts)) == parts
