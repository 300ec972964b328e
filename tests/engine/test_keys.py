from hypothesis import given
from hypothesis import strategies as st

from shiplift.engine.keys import Keys


def drained(keys, now):
    taken = []
    while (key := keys.take(now)) is not None:
        taken.append(key)
    return taken


def test_a_key_is_given_out_once_it_is_due():
    keys: Keys[str] = Keys()
    keys.add("a", 5)
    assert keys.take(4.9) is None
    assert keys.next_at() == 5
    assert keys.take(5) == "a"
    assert keys.next_at() is None


def test_a_key_asked_for_many_times_is_given_out_once():
    keys: Keys[str] = Keys()
    for _ in range(10):
        keys.add("a", 1)
    assert len(keys) == 1
    assert drained(keys, 100) == ["a"]


def test_the_earlier_wish_wins_whichever_comes_first():
    keys: Keys[str] = Keys()
    keys.add("a", 5)
    keys.add("a", 2)
    keys.add("a", 9)
    assert keys.next_at() == 2
    assert keys.take(2) == "a"
    assert keys.take(100) is None


def test_it_is_told_whether_a_key_is_due_sooner_than_before():
    keys: Keys[str] = Keys()
    assert [keys.add("a", at) for at in (5, 5, 7, 2)] == [True, False, False, True]
    assert keys.take(2) == "a"
    assert not keys.add("a", 3), "it is given out again when it is done, and not before"


def test_keys_come_in_the_order_in_which_they_are_due():
    keys: Keys[str] = Keys()
    for key, at in (("c", 3), ("a", 1), ("b", 2), ("a2", 1)):
        keys.add(key, at)
    assert drained(keys, 10) == ["a", "a2", "b", "c"]


def test_a_taken_key_is_not_given_out_again_until_it_is_done():
    keys: Keys[str] = Keys()
    keys.add("a", 1)
    assert keys.take(1) == "a"
    keys.add("a", 2)
    assert keys.take(100) is None
    assert keys.next_at() is None
    keys.done("a")
    assert keys.next_at() == 2
    assert keys.take(100) == "a"


def test_a_key_that_nobody_asked_for_again_is_gone_when_done():
    keys: Keys[str] = Keys()
    keys.add("a", 1)
    keys.take(1)
    keys.done("a")
    assert keys.take(100) is None
    assert len(keys) == 0


def test_one_taken_key_does_not_hold_up_the_others():
    keys: Keys[str] = Keys()
    keys.add("a", 1)
    keys.add("b", 2)
    assert keys.take(5) == "a"
    keys.add("a", 1)
    assert keys.take(5) == "b"


def test_a_late_look_fulfils_the_wishes_that_are_due_and_no_others():
    keys: Keys[str] = Keys()
    keys.add("a", 1)
    keys.take(1)
    keys.add("a", 2)
    keys.absorb("a", 1.5)
    keys.absorb("b", 5)
    assert len(keys) == 1
    keys.absorb("a", 2)
    keys.done("a")
    assert keys.take(100) is None


def test_a_key_that_is_not_taken_absorbs_nothing():
    keys: Keys[str] = Keys()
    keys.add("a", 1)
    keys.absorb("a", 5)
    assert keys.take(5) == "a"


names = st.sampled_from("abc")
events = st.one_of(
    st.tuples(st.just("add"), names, st.integers(0, 20)),
    st.tuples(st.just("take"), st.just(""), st.integers(0, 20)),
    st.tuples(st.just("done"), names, st.just(0)),
    st.tuples(st.just("absorb"), names, st.integers(0, 20)),
)


@given(st.lists(events, max_size=60))
def test_the_queue_behaves_like_a_plain_table_of_wishes(history):
    keys: Keys[str] = Keys()
    wishes: dict[str, float] = {}
    taken: set[str] = set()
    for event, key, at in history:
        if event == "add":
            keys.add(key, at)
            wishes[key] = min(at, wishes.get(key, at))
        elif event == "done":
            keys.done(key)
            taken.discard(key)
        elif event == "absorb":
            keys.absorb(key, at)
            if key in taken and wishes.get(key, at + 1) <= at:
                del wishes[key]
        else:
            got = keys.take(at)
            due = [wish for name, wish in wishes.items() if name not in taken and wish <= at]
            assert (got is None) == (not due)
            if got is not None:
                assert got not in taken
                assert wishes.pop(got) == min(due)
                taken.add(got)
        free = [wish for name, wish in wishes.items() if name not in taken]
        assert keys.next_at() == min(free, default=None)
        assert len(keys) == len(wishes)
