"""The parts of rows that can be tried without an API server: pools, kept annotations, reserved resources."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiplift.facts.meta import NO_LABELS
from shiplift.facts.quantities import NOTHING, Resources
from shiplift.kube.pool import DigestPool, Pool
from shiplift.kube.rows import meta
from shiplift.kube.rows.meta import keeps_annotation, kept_annotations, seconds
from shiplift.kube.rows.specs import shared_spec
from shiplift.kube.wire import MESSAGES

steady = settings(derandomize=True, deadline=None)


def test_a_pool_makes_each_value_once() -> None:
    made: list[str] = []
    pool: Pool[list[str]] = Pool(lambda key: made.append(key) or [key])
    assert pool["a"] is pool["a"]
    assert pool["b"] == ["b"]
    assert made == ["a", "b"]


def test_a_value_that_is_false_is_remembered_too() -> None:
    made: list[str] = []
    pool: Pool[bool] = Pool(lambda key: bool(made.append(key)))
    assert (pool["a"], pool["a"]) == (False, False)
    assert made == ["a"]


def test_a_full_pool_starts_anew_and_what_is_in_use_stays() -> None:
    pool: Pool[list[int]] = Pool(lambda key: [key], limit=3)
    first = [pool[number] for number in range(3)]
    assert pool[0] is first[0]
    assert pool[3] == [3]
    assert pool[0] == first[0]
    assert pool[0] is not first[0]
    assert first == [[0], [1], [2]]


def test_a_value_that_cannot_be_made_is_not_remembered() -> None:
    def fail_once(key: str) -> str:
        attempts.append(key)
        if len(attempts) == 1:
            raise ValueError(key)
        return key

    attempts: list[str] = []
    pool: Pool[str] = Pool(fail_once)
    with pytest.raises(ValueError, match="a"):
        pool["a"]
    assert pool["a"] == "a"


def test_a_digest_pool_tells_parts_apart_and_starts_anew_when_full() -> None:
    made: list[tuple[bytes, ...]] = []
    pool: DigestPool[list[bytes]] = DigestPool(lambda parts: made.append(parts) or list(parts), limit=2)
    assert pool.of(b"a", b"b") is pool.of(b"a", b"b")
    assert pool.of() == []
    assert pool.of(b"c") == [b"c"]
    assert pool.of(b"a", b"b") == [b"a", b"b"]
    assert made == [(b"a", b"b"), (), (b"c",), (b"a", b"b")]


@given(st.integers(-(2**40), 2**40), st.integers(0, 999_999_999))
def test_seconds_of_a_time_are_read_without_a_message(moment: int, nanos: int) -> None:
    time = MESSAGES["Time"](seconds=moment).SerializeToString() + (b"\x10" + bytes([nanos & 127]))
    assert seconds(time) == moment
    assert seconds(b"") == 0


@pytest.mark.parametrize(
    ("key", "kept"),
    [
        ("shiplift.dev/note", True),
        ("quorum.shiplift.dev/step", True),
        ("config.kubernetes.io/depends-on", True),
        ("kapp.k14s.io/change-rule.one", True),
        ("kapp.k14s.io/original", False),
        ("kubectl.kubernetes.io/last-applied-configuration", False),
        ("shiplift.dev", False),
        ("note", False),
    ],
)
def test_which_annotations_are_kept(key: str, kept: bool) -> None:
    assert keeps_annotation(key) is kept


names = st.text("abcxyz.-", min_size=1, max_size=300)
keys = st.one_of(
    names,
    st.builds("{}/{}".format, names, names),
    st.builds(
        "{}.shiplift.dev/{}".format, st.text("ab", max_size=40), st.text("ab", min_size=1, max_size=60)
    ),
    st.sampled_from(sorted(meta.KEPT_ANNOTATIONS)),
)


@steady
@given(st.dictionaries(keys, st.text(max_size=300), max_size=5))
def test_annotations_are_chosen_by_their_undecoded_keys(annotations: dict[str, str]) -> None:
    entries = [
        MESSAGES["Pair"](key=key, value=value).SerializeToString() for key, value in annotations.items()
    ]
    kept = kept_annotations(entries)
    assert kept == {key: value for key, value in annotations.items() if keeps_annotation(key)}
    assert kept or kept is NO_LABELS


def listed(amounts: dict[str, int]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"string": str(amount)}} for key, amount in amounts.items()]


some = st.dictionaries(st.sampled_from(["cpu", "memory", "example.com/gpu"]), st.integers(0, 9))
inits = st.lists(st.tuples(some, st.booleans()), max_size=5)


def total(*parts: dict[str, int]) -> Resources:
    amounts: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            amounts[name] = amounts.get(name, 0) + amount
    more = tuple((name, amount) for name, amount in amounts.items() if "/" in name)
    return Resources(amounts.get("cpu", 0) * 1000, amounts.get("memory", 0), extended=more)


@steady
@given(containers=st.lists(some, min_size=1, max_size=3), inits=inits, overhead=some)
def test_a_pod_reserves_the_most_that_ever_runs_at_once(
    containers: list[dict[str, int]], inits: list[tuple[dict[str, int], bool]], overhead: dict[str, int]
) -> None:
    running: list[dict[str, int]] = []
    most = NOTHING
    for amounts, stays in inits:
        most |= total(*running, amounts)
        if stays:
            running.append(amounts)
    most |= total(*running, *containers)
    spec = MESSAGES["PodSpec"](
        containers=[{"resources": {"requests": listed(one)}} for one in containers],
        initContainers=[
            {"resources": {"requests": listed(one)}, "restartPolicy": "Always" if stays else ""}
            for one, stays in inits
        ],
        overhead=listed(overhead),
    )
    assert shared_spec(spec).requests == most + total(overhead) + Resources(pods=1)


def test_a_request_for_the_whole_pod_stands_instead_of_the_sum() -> None:
    spec = MESSAGES["PodSpec"](
        containers=[{"resources": {"requests": listed({"cpu": 1, "memory": 5, "ephemeral-storage": 7})}}],
        resources={"requests": listed({"cpu": 3, "hugepages-2Mi": 4})},
        overhead=listed({"cpu": 1}),
    )
    assert shared_spec(spec).requests == Resources(4000, 5, 7, 1, (("hugepages-2Mi", 4),))


def test_in_a_template_a_limit_without_a_request_stands_for_both() -> None:
    limits = listed({"cpu": 2, "memory": 9})
    spec = MESSAGES["PodSpec"](
        containers=[
            {"resources": {"limits": limits, "requests": listed({"memory": 4})}},
            {"resources": {"limits": limits}},
        ]
    )
    assert shared_spec(spec).requests == Resources(4000, 13, pods=1)
