"""Quantities are read exactly, rounded up, and added without loss."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.facts.quantities import NOTHING, Resources, milli, parse, resources, whole

SUFFIXES = {
    "n": Fraction(1, 1_000_000_000),
    "u": Fraction(1, 1_000_000),
    "m": Fraction(1, 1_000),
    "": Fraction(1),
    "k": Fraction(1_000),
    "M": Fraction(1_000_000),
    "G": Fraction(1_000_000_000),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(1024),
    "Mi": Fraction(1024**2),
    "Gi": Fraction(1024**3),
    "Ti": Fraction(1024**4),
    "Pi": Fraction(1024**5),
    "Ei": Fraction(1024**6),
}

numbers = st.decimals(0, 10**18, places=9, allow_nan=False).map(lambda number: format(number, "f"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("12", 12),
        ("+12", 12),
        ("-12", -12),
        ("1.", 1),
        (".5", Fraction(1, 2)),
        ("1.5Gi", 1610612736),
        ("250m", Fraction(1, 4)),
        ("0.1", Fraction(1, 10)),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1E", 10**18),
        ("1.5e-1", Fraction(3, 20)),
        ("2e+2", 200),
        ("1Ei", 1 << 60),
        ("100n", Fraction(1, 10_000_000)),
        ("9223372036854775807", (1 << 63) - 1),
    ],
)
def test_what_the_documentation_writes(text: str, value: int | Fraction) -> None:
    assert parse(text) == value


@given(number=numbers, suffix=st.sampled_from(sorted(SUFFIXES)))
def test_a_number_and_a_suffix_are_exact(number: str, suffix: str) -> None:
    assert parse(number + suffix) == Fraction(Decimal(number)) * SUFFIXES[suffix]


@given(number=numbers, exponent=st.integers(-30, 30), letter=st.sampled_from("eE"))
def test_a_number_and_an_exponent_are_exact(number: str, exponent: int, letter: str) -> None:
    assert parse(f"{number}{letter}{exponent}") == Fraction(Decimal(number)) * Fraction(10) ** exponent


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "m",
        ".",
        "-",
        "e3",
        "1 ",
        " 1",
        "1\n",
        "1 Gi",
        "1K",
        "1mi",
        "1ki",
        "1KiB",
        "1GiGi",
        "1e",
        "1e3Ki",
        "1e1.5",
        "1.2.3",
        "--1",
        "0x10",
        "1_000",
        "\u0661",
        "NaN",
        "inf",
        "1e999999999",
        "9" * 5000,
    ],
)
def test_anything_else_is_refused_and_named(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number with an optional suffix") as refused:
        parse(text)
    assert repr(text[:40]) in str(refused.value)
    assert len(str(refused.value)) < 120


@given(st.text(max_size=20))
def test_no_text_gives_any_other_error(text: str) -> None:
    try:
        parse(text)
    except ValueError as refused:
        assert repr(text) in str(refused)  # noqa: PT017 - most texts are refused, but not all


@pytest.mark.parametrize(
    ("text", "in_whole", "in_milli"),
    [
        ("1", 1, 1000),
        ("1m", 1, 1),
        ("1n", 1, 1),
        ("0", 0, 0),
        ("0.0001", 1, 1),
        ("1.0001", 2, 1001),
        ("1500m", 2, 1500),
        ("100u", 1, 1),
        ("1.1Ki", 1127, 1126400),
    ],
)
def test_parts_of_a_unit_count_as_a_whole_one(text: str, in_whole: int, in_milli: int) -> None:
    assert (whole(text), milli(text)) == (in_whole, in_milli)


@given(number=numbers, suffix=st.sampled_from(sorted(SUFFIXES)))
def test_rounding_goes_up_and_by_less_than_one(number: str, suffix: str) -> None:
    exact = parse(number + suffix)
    assert 0 <= whole(number + suffix) - exact < 1
    assert 0 <= milli(number + suffix) - exact * 1000 < 1


def test_a_resource_list() -> None:
    listed = {
        "cpu": "1500m",
        "memory": "1Gi",
        "ephemeral-storage": "2G",
        "pods": "110",
        "nvidia.com/gpu": "2",
        "hugepages-2Mi": "4Mi",
    }
    assert resources(listed) == Resources(
        cpu=1500,
        memory=1 << 30,
        storage=2_000_000_000,
        pods=110,
        extended=(("hugepages-2Mi", 4 << 20), ("nvidia.com/gpu", 2)),
    )
    assert resources({}) == NOTHING


amounts = st.integers(0, 1000)
extended = st.dictionaries(st.sampled_from(["gpu", "fpga", "nic"]), amounts)
some_resources = st.builds(
    lambda cpu, memory, storage, pods, more: Resources(
        cpu, memory, storage, pods, tuple(sorted(more.items()))
    ),
    amounts,
    amounts,
    amounts,
    amounts,
    extended,
)


@given(some_resources, some_resources, some_resources)
def test_sums_and_maxima_do_not_depend_on_the_order(a: Resources, b: Resources, c: Resources) -> None:
    assert a + b == b + a
    assert a | b == b | a
    assert (a + b) + c == a + (b + c)
    assert (a | b) | c == a | (b | c)
    assert a + NOTHING == NOTHING + a == a
    assert a | NOTHING == NOTHING | a == a | a == a
    assert (a | b) + c == (a + c) | (b + c)


@given(some_resources, some_resources)
def test_a_sum_has_as_much_of_each_resource_as_both_together(a: Resources, b: Resources) -> None:
    both, have, more = dict((a + b).extended), dict(a.extended), dict(b.extended)
    assert both == {name: have.get(name, 0) + more.get(name, 0) for name in have | more}
    assert (a + b).cpu == a.cpu + b.cpu
    assert (a + b).memory == a.memory + b.memory
    assert (a + b).storage == a.storage + b.storage
    assert (a + b).pods == a.pods + b.pods


@given(some_resources, some_resources)
def test_what_fits_into_both_is_what_the_maximum_says(a: Resources, b: Resources) -> None:
    assert a.fits(a)
    assert a.fits(a + b)
    assert a.fits(a | b)
    assert NOTHING.fits(a)
    assert a.fits(b) is ((a | b).fits(b))


@pytest.mark.parametrize("name", ["cpu", "memory", "storage", "pods"])
def test_one_resource_too_few_is_enough_to_not_fit(name: str) -> None:
    wanted = Resources(5, 5, 5, 5, (("gpu", 5),))
    room = {"cpu": 5, "memory": 5, "storage": 5, "pods": 5} | {name: 4}
    assert not wanted.fits(Resources(**room, extended=(("gpu", 5),)))
    assert wanted.fits(Resources(**room | {name: 5}, extended=(("gpu", 5),)))
    assert not wanted.fits(Resources(5, 5, 5, 5, (("gpu", 4),)))
    assert not wanted.fits(Resources(5, 5, 5, 5))


def test_what_asks_for_nothing_fits_even_where_there_is_less_than_nothing() -> None:
    overcommitted = Resources(cpu=-100, memory=500, pods=3, extended=(("gpu", -1),))
    assert Resources(memory=500, pods=1, extended=(("gpu", 0), ("nic", 0))).fits(overcommitted)
    assert not Resources(cpu=1).fits(overcommitted)
