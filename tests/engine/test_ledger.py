import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from shiplift.engine.ledger import (
    Change,
    Kept,
    Ledger,
    LedgerError,
    change_in_place,
    decode,
    read,
    undo_in_place,
)
from shiplift.engine.pointer import ABSENT, entry, get, pointer, put, same, whole
from tests.engine.test_pointer import apply
from tests.examples import tries

NOTE = "ledger.shiplift.dev/workloads"
LABEL = pointer("metadata", "labels", "shiplift.dev/target-version")
TAINT = pointer("spec", "taints", entry(key="shiplift.dev/upgrade", effect="NoSchedule"))
OURS = {"key": "shiplift.dev/upgrade", "value": "v1.36.3", "effect": "NoSchedule"}
THEIRS = {"key": "gpu", "effect": "NoSchedule"}
NODE = {
    "kind": "Node",
    "metadata": {"name": "n1", "labels": {"zone": "a"}},
    "spec": {"taints": [THEIRS]},
}
CHANGES = [Change(LABEL, "v1.36.3"), Change(TAINT, OURS)]


def changed(document, changes, note=NOTE):
    return apply(document, change_in_place(document, note, changes).patch)


def undone(document, note=NOTE):
    result = undo_in_place(document, note)
    return apply(document, result.patch), result.kept


def test_change_and_record_are_one_patch():
    result = change_in_place(NODE, NOTE, CHANGES)
    assert {operation["path"] for operation in result.patch} == {
        "/metadata/annotations",
        LABEL,
        "/spec/taints",
    }
    node = apply(NODE, result.patch)
    assert node["spec"]["taints"] == [THEIRS, OURS]
    assert node["metadata"]["labels"] == {"zone": "a", "shiplift.dev/target-version": "v1.36.3"}
    assert len(read(node, NOTE).entries) == 2


def test_undo_leaves_nothing_of_ours():
    assert undone(changed(NODE, CHANGES)) == (NODE, ())


def test_changing_again_is_no_change():
    assert change_in_place(changed(NODE, CHANGES), NOTE, CHANGES).patch == []


def test_undoing_again_is_no_change():
    node, _ = undone(changed(NODE, CHANGES))
    assert undo_in_place(node, NOTE).patch == []


def test_what_is_already_so_is_not_ours_and_stays():
    node = put(put(NODE, LABEL, "v1.36.3"), TAINT, OURS)
    assert change_in_place(node, NOTE, CHANGES).patch == []
    assert undone(node) == (node, ())


def test_a_value_that_a_user_changed_stays_and_is_reported():
    node = put(changed(NODE, CHANGES), LABEL, "mine")
    result, kept = undone(node)
    assert result["metadata"]["labels"]["shiplift.dev/target-version"] == "mine"
    assert result["spec"]["taints"] == [THEIRS]
    assert kept == (Kept(LABEL, "v1.36.3", "mine"),)
    assert kept[0].describe() == f'{LABEL} was changed by somebody else and stays "mine"'
    assert read(result, NOTE) == Ledger()


def test_a_value_that_a_user_removed_stays_removed():
    node = put(changed(NODE, [Change("/metadata/labels/zone", "b")]), "/metadata/labels/zone", ABSENT)
    result, kept = undone(node)
    assert "zone" not in result["metadata"].get("labels", {})
    assert kept[0].describe() == "/metadata/labels/zone was removed by somebody else and stays so"


def test_a_value_that_a_user_put_back_needs_no_undoing():
    node = put(changed(NODE, [Change("/metadata/labels/zone", "b")]), "/metadata/labels/zone", "a")
    assert undone(node) == (NODE, ())


def test_entries_that_a_user_added_to_the_same_list_stay():
    node = changed(NODE, CHANGES)
    extra = {"key": "late", "effect": "NoExecute"}
    node["spec"]["taints"] = [extra, *node["spec"]["taints"]]
    result, kept = undone(node)
    assert result["spec"]["taints"] == [extra, THEIRS]
    assert kept == ()


def test_an_entry_that_we_took_out_goes_back_to_its_place():
    node = {"spec": {"taints": [THEIRS, OURS, {"key": "z", "effect": "NoSchedule"}]}, "metadata": {}}
    without = changed(node, [Change(TAINT)])
    assert OURS not in without["spec"]["taints"]
    assert undone(without) == (node, ())


def test_a_list_that_the_server_dropped_when_empty_is_made_again():
    node = {"spec": {"taints": [OURS]}, "metadata": {}}
    without = changed(node, [Change(TAINT)])
    del without["spec"]["taints"]
    assert undone(without) == (node, ())


def test_a_users_equal_entry_beside_ours_is_not_taken_away():
    toleration = {"key": "shiplift.dev/upgrade", "operator": "Exists"}
    path = pointer("spec", "tolerations", whole(toleration))
    pod = changed({"metadata": {}, "spec": {}}, [Change(path, toleration)])
    pod["spec"]["tolerations"].append(toleration)
    result, _ = undone(pod)
    assert result["spec"]["tolerations"] == [toleration]


def test_maps_that_we_made_go_unless_somebody_uses_them():
    bare = {"kind": "Node", "metadata": {"name": "n1"}, "spec": {}}
    node = changed(bare, CHANGES)
    assert undone(node) == (bare, ())
    node["metadata"]["labels"]["user"] = "x"
    result, _ = undone(node)
    assert result["metadata"]["labels"] == {"user": "x"}


def test_an_empty_map_that_was_there_before_us_stays():
    node = {"metadata": {"name": "n1", "labels": {}}, "spec": {}}
    assert undone(changed(node, [Change(LABEL, "v")])) == (node, ())


def test_a_part_of_a_list_entry_is_recorded_alone():
    image = pointer("spec", "containers", entry(name="minio"), "image")
    pod = {"metadata": {}, "spec": {"containers": [{"name": "minio", "image": "old"}, {"name": "side"}]}}
    moved = changed(pod, [Change(image, "new")])
    moved["spec"]["containers"].reverse()
    moved["spec"]["containers"][1]["env"] = ["theirs"]
    result, kept = undone(moved)
    assert result["spec"]["containers"] == [
        {"name": "side"},
        {"name": "minio", "image": "old", "env": ["theirs"]},
    ]
    assert kept == ()


def test_a_users_removal_of_what_held_our_change_stays():
    env = pointer("spec", "containers", entry(name="minio"), "env", entry(name="A"))
    pod = {"metadata": {}, "spec": {"containers": [{"name": "minio", "env": [{"name": "A"}]}]}}
    without = changed(pod, [Change(env)])
    without["spec"]["containers"] = [{"name": "other"}]
    result, kept = undone(without)
    assert result["spec"]["containers"] == [{"name": "other"}]
    assert [one.path for one in kept] == [env]


def test_a_name_that_became_ambiguous_is_left_alone():
    node = changed(NODE, [Change(TAINT, OURS)])
    node["spec"]["taints"].append(OURS | {"value": "again"})
    before = copy.deepcopy(node["spec"]["taints"])
    result, kept = undone(node)
    assert result["spec"]["taints"] == before
    assert [one.path for one in kept] == [TAINT]


def test_a_holder_of_ours_whose_name_became_ambiguous_is_left_alone():
    env = pointer("spec", "containers", entry(name="a"), "env", "X")
    pod = changed({"metadata": {}, "spec": {"containers": [{"name": "a"}]}}, [Change(env, "1")])
    pod["spec"]["containers"].append({"name": "a"})
    before = copy.deepcopy(pod["spec"])
    result, kept = undone(pod)
    assert result["spec"] == before
    assert [one.path for one in kept] == [env]


def test_two_fields_that_belong_together_are_changed_and_undone_together():
    budget = {"metadata": {"name": "web"}, "spec": {"minAvailable": 2}}
    held = changed(budget, [Change("/spec/maxUnavailable", 0), Change("/spec/minAvailable")])
    assert held["spec"] == {"maxUnavailable": 0}
    assert undone(held) == (budget, ())


def test_changing_our_own_change_keeps_what_was_before_us():
    once = changed(NODE, [Change("/metadata/labels/zone", "b")])
    twice = changed(once, [Change("/metadata/labels/zone", "c")])
    assert undone(twice) == (NODE, ())


def test_changing_what_a_user_changed_makes_theirs_the_one_to_go_back_to():
    node = put(changed(NODE, [Change("/metadata/labels/zone", "b")]), "/metadata/labels/zone", "theirs")
    result, kept = undone(changed(node, [Change("/metadata/labels/zone", "c")]))
    assert result["metadata"]["labels"]["zone"] == "theirs"
    assert kept == ()


def test_going_back_to_the_start_ourselves_leaves_no_record():
    node = changed(NODE, [Change("/metadata/labels/zone", "b")])
    assert read(changed(node, [Change("/metadata/labels/zone", "a")]), NOTE).entries == ()


def test_wanting_what_the_user_wants_makes_it_theirs():
    node = put(changed(NODE, [Change("/metadata/labels/zone", "b")]), "/metadata/labels/zone", "c")
    result, _ = undone(changed(node, [Change("/metadata/labels/zone", "c")]))
    assert result["metadata"]["labels"]["zone"] == "c"


def test_true_is_not_one_and_null_is_not_absent():
    node = {"metadata": {}, "spec": {"unschedulable": 1, "x": None}}
    cordoned = changed(node, [Change("/spec/unschedulable", True), Change("/spec/x", 0)])
    assert cordoned["spec"]["unschedulable"] is True
    assert undone(cordoned) == (node, ())


def test_layers_have_records_of_their_own():
    node = changed(
        changed(NODE, CHANGES), [Change("/spec/unschedulable", True)], note="ledger.shiplift.dev/nodes"
    )
    result, _ = undone(node)
    assert result["spec"] == {"taints": [THEIRS], "unschedulable": True}
    result, _ = undone(result, "ledger.shiplift.dev/nodes")
    assert trimmed(result) == trimmed(NODE)


@pytest.mark.parametrize("path", ["/metadata", "/metadata/labels", pointer("metadata", "labels", "a", "b")])
def test_a_change_that_overlaps_a_recorded_one_is_refused(path):
    ledger = Ledger().change({}, [Change("/metadata/labels/a", "1")])
    with pytest.raises(LedgerError, match="overlaps with /metadata/labels/a"):
        ledger.ledger.change(ledger.document, [Change(path, {"x": "y"})])


@pytest.mark.parametrize(
    "path", ["/metadata", "/metadata/annotations", pointer("metadata", "annotations", NOTE)]
)
def test_the_record_cannot_be_overwritten_by_a_change(path):
    with pytest.raises(LedgerError, match="the record itself"):
        change_in_place(NODE, NOTE, [Change(path, {})])


def test_too_large_a_record_is_refused_before_anything_is_changed():
    with pytest.raises(LedgerError, match=r"would take \d+ bytes, more than 32768") as refused:
        change_in_place(NODE, NOTE, [Change("/spec/blob", "x" * 40_000)])
    assert refused.value.hint


def test_a_record_is_compact():
    text = get(changed(NODE, CHANGES), pointer("metadata", "annotations", NOTE))
    assert len(text) < 300


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-1],
        lambda text: text.replace("v1.36.3", "v1.36.4"),
        lambda text: text + " ",
        lambda _: "",
        lambda _: "{}",
        lambda text: text.replace(".", ":"),
        lambda text: text[2:],
    ],
)
def test_a_damaged_record_is_an_error_that_names_the_object_and_changes_nothing(damage):
    node = changed(NODE, CHANGES)
    where = pointer("metadata", "annotations", NOTE)
    broken = put(node, where, damage(get(node, where)))
    for use in (lambda: undo_in_place(broken, NOTE), lambda: change_in_place(broken, NOTE, CHANGES)):
        with pytest.raises(LedgerError, match="Node n1 is damaged") as refused:
            use()
        assert "nothing was changed" in refused.value.hint


def test_a_record_of_a_later_format_is_left_to_its_writer():
    with pytest.raises(LedgerError, match="has format 2, not 1"):
        decode("2.abc.{}", "Node n1")


def test_a_record_with_a_good_checksum_and_a_bad_shape_is_damaged_too():
    import hashlib

    body = '{"e":7}'
    text = f"1.{hashlib.blake2b(body.encode(), digest_size=8).hexdigest()}.{body}"
    with pytest.raises(LedgerError, match="damaged"):
        decode(text, "Node n1")


def test_a_change_of_our_change_that_was_recorded_and_never_made_is_undone_all_the_same():
    first = Ledger().change(NODE, [Change("/metadata/labels/zone", "b")])
    recorded = first.ledger.change(first.document, [Change("/metadata/labels/zone", "c")]).ledger
    assert decode(recorded.encode(), "n1").undo(first.document).document == NODE


def test_going_back_that_was_recorded_and_never_made_is_undone_all_the_same():
    first = Ledger().change(NODE, [Change("/metadata/labels/zone", "b"), Change(LABEL, "v")])
    back = [Change("/metadata/labels/zone", "a"), Change(LABEL)]
    recorded = first.ledger.change(first.document, back).ledger
    assert decode(recorded.encode(), "n1").undo(first.document).document == NODE


def test_a_write_of_a_former_leader_that_lands_late_is_known_as_ours():
    late = Ledger().change(NODE, [Change("/metadata/labels/zone", "b")])
    recorded = late.ledger.change(NODE, [Change("/metadata/labels/zone", "c")]).ledger
    assert recorded.undo(late.document).document == NODE


def test_recording_the_same_wish_again_is_no_write():
    first = Ledger().change(NODE, CHANGES)
    assert first.ledger.change(NODE, CHANGES).ledger == first.ledger
    assert first.ledger.change(first.document, CHANGES) == first


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=4), json_values, max_size=3), st.text(max_size=4), json_values)
def test_any_value_survives_the_record(labels, key, value):
    document = {"metadata": {"name": "x"}, "spec": labels}
    record = Ledger().change(document, [Change(pointer("spec", key), value)]).ledger
    assert decode(record.encode(), "x") == record


# Any row of our changes and users' edits, interrupted anywhere. The model is the document as if we had never
# been there. A user's edit that gives exactly what we recorded as ours cannot be told from ours (removing
# what we meant to remove), so users do not do that here.

SLOTS = {
    "label": (pointer("metadata", "labels", "a"), ["u1", "u2"], ["o1", "o2"]),
    "other label": (pointer("metadata", "labels", "b"), ["u1"], ["o1", "o2"]),
    "flag": ("/spec/unschedulable", [False, 1], [True]),
    "deep": ("/spec/x/y/z", [None, 0], ["o1"]),
    "taint a": (
        pointer("spec", "taints", entry(key="a")),
        [{"key": "a", "v": "u"}, {"key": "a"}],
        [{"key": "a", "v": "o"}, {"key": "a", "v": "p"}],
    ),
    "taint b": (pointer("spec", "taints", entry(key="b")), [{"key": "b"}], [{"key": "b", "v": "o"}]),
}
START = {"metadata": {"name": "n1", "labels": {"b": "u1"}}, "spec": {"taints": [{"key": "c"}, {"key": "b"}]}}
slots = st.sampled_from(sorted(SLOTS))


def user_edits(name):
    return st.sampled_from([*SLOTS[name][1], ABSENT])


def is_an_edit(current, value, ledger, path):
    taken_for_ours = any(one.is_ours(value) for one in ledger.entries if one.path == path)
    return not same(current, value) and not taken_for_ours


def our_wishes(name):
    return st.sampled_from([*SLOTS[name][2], ABSENT])


def trimmed(document):
    """Without empty maps and lists, as the API server stores it, and lists of named entries by name."""
    if isinstance(document, dict):
        inner = {key: trimmed(value) for key, value in document.items()}
        return {key: value for key, value in inner.items() if value not in ({}, [])}
    if isinstance(document, list):
        return sorted((trimmed(item) for item in document), key=str)
    return document


class Editing(RuleBasedStateMachine):
    """Record on the object itself: one write for change and record."""

    def __init__(self):
        super().__init__()
        self.object = copy.deepcopy(START)
        self.without_us = copy.deepcopy(START)

    @rule(data=st.data(), name=slots)
    def a_user_edits(self, data, name):
        path, value = SLOTS[name][0], data.draw(user_edits(name))
        if not is_an_edit(get(self.object, path), value, read(self.object, NOTE), path):
            return
        self.object = put(self.object, path, value)
        self.without_us = put(self.without_us, path, value)

    @rule(data=st.data(), names=st.lists(slots, unique=True, min_size=1, max_size=3))
    def we_change(self, data, names):
        changes = [Change(SLOTS[name][0], data.draw(our_wishes(name))) for name in names]
        self.object = changed(self.object, changes)
        for change in changes:
            assert same(get(self.object, change.path), change.value)
        assert change_in_place(self.object, NOTE, changes).patch == []

    @rule()
    def we_undo(self):
        self.object, _ = undone(self.object)
        assert trimmed(self.object) == trimmed(self.without_us)

    @rule()
    def the_server_drops_what_is_empty(self):
        labels = self.object["metadata"].get("labels")
        if labels == {}:
            del self.object["metadata"]["labels"]
        if self.object["spec"].get("taints") == []:
            del self.object["spec"]["taints"]

    @invariant()
    def undoing_now_would_give_the_document_without_us(self):
        result, kept = undone(self.object)
        assert trimmed(result) == trimmed(self.without_us)
        assert undo_in_place(result, NOTE).patch == []
        for one in kept:
            assert same(get(result, one.path), one.theirs)


class WritingAhead(RuleBasedStateMachine):
    """Record in another object, written first; we may be killed between any two writes."""

    def __init__(self):
        super().__init__()
        self.object = copy.deepcopy(START)
        self.without_us = copy.deepcopy(START)
        self.record = Ledger().encode()
        self.intended = None

    @rule(data=st.data(), name=slots)
    def a_user_edits(self, data, name):
        path, value = SLOTS[name][0], data.draw(user_edits(name))
        if not is_an_edit(get(self.object, path), value, decode(self.record, "x"), path):
            return
        self.object = put(self.object, path, value)
        self.without_us = put(self.without_us, path, value)
        # their edit moves the resourceVersion: what we meant to write is refused with a conflict
        self.intended = None

    @rule(data=st.data(), names=st.lists(slots, unique=True, min_size=1, max_size=3))
    def we_record(self, data, names):
        changes = [Change(SLOTS[name][0], data.draw(our_wishes(name))) for name in names]
        result = decode(self.record, "x").change(self.object, changes)
        self.record = result.ledger.encode()
        self.intended = result.document

    @precondition(lambda self: self.intended is not None)
    @rule()
    def we_change(self):
        self.object, self.intended = self.intended, None

    @rule()
    def we_are_killed(self):
        self.intended = None

    @rule(forget=st.booleans())
    def we_undo(self, forget):
        self.object = decode(self.record, "x").undo(self.object).document
        self.intended = None
        if forget:
            self.record = Ledger().encode()
        assert trimmed(self.object) == trimmed(self.without_us)

    @invariant()
    def undoing_now_would_give_the_document_without_us(self):
        ledger = decode(self.record, "x")
        result = ledger.undo(self.object).document
        assert trimmed(result) == trimmed(self.without_us)
        assert same(ledger.undo(result).document, result)


TestEditing = Editing.TestCase
TestEditing.settings = settings(max_examples=tries(60), stateful_step_count=20)
TestWritingAhead = WritingAhead.TestCase
TestWritingAhead.settings = settings(max_examples=tries(60), stateful_step_count=20)
