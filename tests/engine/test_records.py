"""Records in an object of ours: what is written is read again, and what cannot be read is named."""

from __future__ import annotations

import msgspec
import pytest

from shiplift.engine.records import RecordError, Records


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a layer may say of one owner."""

    before: int
    after: int = 0


RECORDS = Records(Change, "ledger")
PLACE = "WorkloadPlacement shop/shiplift"
SAID = (
    f"{PLACE}: the record of web cannot be read: Expected `int`, got `str` - at `$.before`;"
    f" undo by hand what it may say and remove it from spec.ledger of {PLACE}"
)
UNREADABLE = '{"before":"1"}'


def test_what_is_written_is_read_again() -> None:
    records = {"web": Change(1, 2), "db": Change(3)}
    texts = RECORDS.encode(records)
    assert texts == {"web": '{"before":1,"after":2}', "db": '{"before":3}'}
    assert RECORDS.readable(PLACE, texts) == (records, {})


def test_a_record_that_cannot_be_read_says_where_it_is_and_what_to_do() -> None:
    with pytest.raises(RecordError) as refused:
        RECORDS.decode(PLACE, "web", UNREADABLE)
    assert str(refused.value) == SAID


def test_one_that_cannot_be_read_is_named_beside_the_others() -> None:
    found = RECORDS.readable(PLACE, {"web": UNREADABLE, "db": '{"before":3}'})
    assert found == ({"db": Change(3)}, {"web": SAID})


@pytest.mark.parametrize("text", ["", "[]", "null", '{"after":2}', '{"before":1', "\x00"])
def test_no_text_whatever_stops_the_others(text: str) -> None:
    records, broken = RECORDS.readable(PLACE, {"odd": text, "db": '{"before":3}'})
    assert (set(records), set(broken)) == ({"db"}, {"odd"})
