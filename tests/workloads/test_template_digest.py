"""The digest of a template: of a frozen list of fields, whatever rows come to hold in later releases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.decide import make
from shiplift.facts.meta import Labels
from shiplift.facts.pods import Container, HostPort, PodSpec, PodTerm, Spread, Toleration
from shiplift.facts.quantities import Resources
from shiplift.facts.selectors import NodeTerm, Requirement, Selector
from shiplift.facts.workloads import Deployment
from shiplift.workloads.decide.template_digest import VERSION, digest, is_comparable

SELECTOR = Selector(Labels(app="web"), (Requirement("tier", "In", ("front",)),))
SAMPLE = PodSpec(
    containers=(Container("main", "web:1"),),
    requests=Resources(250, 1 << 20, 1 << 30, 1, (("example.com/gpu", 1),)),
    tolerations=(Toleration("dedicated", "Equal", "web", "NoExecute", 60),),
    node_selector=Labels(disk="ssd"),
    node_terms=(NodeTerm((Requirement("zone", "In", ("a",)),), (Requirement("name", "In", ("n",)),)),),
    affinity=(PodTerm(SELECTOR, "zone", ("shop",), SELECTOR),),
    anti_affinity=(PodTerm(SELECTOR, "host", ("shop",), SELECTOR),),
    spread=(Spread(2, "zone", True, SELECTOR, 3, False, True, ("hash",)),),
    priority=5,
    priority_class="high",
    claims=("data",),
    ephemeral_claims=("scratch",),
    empty_dir=True,
    host_path=True,
    host_network=True,
    host_ports=(HostPort(80, "TCP", "10.0.0.1"),),
    grace=7,
    gates=("gate",),
    service_account="web",
    scheduler="other",
    restart_policy="Always",
    runtime_class="kata",
)
"""Every field is set, and to another value than its default."""


def of(template: PodSpec, **more: Any) -> str:
    row = make(Deployment, "web", template=template, template_labels=Labels(app="web"))
    return digest(msgspec.structs.replace(row, **more))


def test_the_digest_of_a_template_is_the_same_in_every_release() -> None:
    """When this fails, the list of fields or its form has changed: raise `VERSION`, then write it down."""
    assert (VERSION, of(SAMPLE), of(PodSpec())) == (1, "1:ffd9ac94f5068f6e", "1:6758dcc598fc3367")


def test_the_sample_leaves_no_field_at_its_default() -> None:
    fields = msgspec.structs.fields(PodSpec)
    assert [one.name for one in fields if getattr(SAMPLE, one.name) == one.default] == []


# --- what does not count ---


def wider(value: Any) -> Any:
    """The same, as a later release may have it: every struct has one field more."""
    if isinstance(value, tuple):
        return tuple(map(wider, value))
    if not isinstance(value, msgspec.Struct):
        return value
    kind = type(value)
    later = msgspec.defstruct(
        kind.__name__, [("new_field", str, "new")], bases=(kind,), frozen=True, gc=False
    )
    return later(**{name: wider(getattr(value, name)) for name in kind.__struct_fields__})


def test_fields_that_rows_get_later_change_nothing() -> None:
    later = wider(SAMPLE)
    assert (later.new_field, later.spread[0].selector.expressions[0].new_field) == ("new", "new")
    assert of(later) == of(SAMPLE)


def test_only_the_template_counts() -> None:
    assert of(SAMPLE, replicas=9, generation=7, labels=Labels(team="a")) == of(SAMPLE)


def test_the_order_of_labels_does_not_count() -> None:
    one, other = Labels(a="1", b="2"), Labels(b="2", a="1")
    assert of(SAMPLE, template_labels=one) == of(SAMPLE, template_labels=other)


# --- what counts ---


def changes(value: Any) -> Iterator[Any]:
    """The same value with one thing in it changed, for each thing in it."""
    match value:
        case bool():
            yield not value
        case int():
            yield value + 1
        case str():
            yield f"{value}x"
        case tuple():
            yield from changes_of_parts(value)
        case dict():
            yield Labels()
            yield Labels({key: f"{one}x" for key, one in value.items()})
            yield Labels({f"{key}x": one for key, one in value.items()})
        case msgspec.Struct():
            for name in value.__struct_fields__:
                for other in changes(getattr(value, name)):
                    yield msgspec.structs.replace(value, **{name: other})


def changes_of_parts(parts: tuple[Any, ...]) -> Iterator[Any]:
    if len({type(one) for one in parts}) == 1:  # a list, and not a pair of a name and a number
        yield ()
    for number, one in enumerate(parts):
        yield from ((*parts[:number], other, *parts[number + 1 :]) for other in changes(one))


@pytest.mark.parametrize("field", PodSpec.__struct_fields__)
def test_every_field_that_is_listed_counts_down_to_its_last_part(field: str) -> None:
    found = [
        of(msgspec.structs.replace(SAMPLE, **{field: other})) for other in changes(getattr(SAMPLE, field))
    ]
    assert found
    assert len({*found, of(SAMPLE)}) == len(found) + 1


def test_labels_of_the_template_count() -> None:
    assert of(SAMPLE, template_labels=Labels(app="other")) != of(SAMPLE)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (PodSpec(node_terms=None), PodSpec(node_terms=())),
        (PodSpec(affinity=(PodTerm(None, "zone"),)), PodSpec(anti_affinity=(PodTerm(None, "zone"),))),
        (PodSpec(claims=("a", "b")), PodSpec(claims=("a",), ephemeral_claims=("b",))),
        (PodSpec(affinity=(PodTerm(None, "z"),)), PodSpec(affinity=(PodTerm(Selector(Labels()), "z"),))),
        (PodSpec(tolerations=(Toleration("k"),)), PodSpec(tolerations=(Toleration("k", seconds=0),))),
    ],
)
def test_what_means_something_else_is_something_else(one: PodSpec, other: PodSpec) -> None:
    assert of(one) != of(other)


names = st.text("ab", max_size=2)
labels = st.dictionaries(names, names, max_size=2).map(Labels)
requirements = st.builds(Requirement, names, names, st.tuples(names))
selectors = st.none() | st.builds(Selector, labels, st.lists(requirements, max_size=1).map(tuple))
terms = st.lists(st.builds(PodTerm, selectors, names, st.tuples(names), selectors), max_size=2).map(tuple)
numbers = st.integers(0, 2)
specs = st.builds(
    PodSpec,
    containers=st.lists(st.builds(Container, names, names), max_size=2).map(tuple),
    requests=st.builds(Resources, numbers, numbers, numbers, numbers, st.just(())),
    tolerations=st.lists(st.builds(Toleration, names, names, names, names, st.none() | numbers)).map(tuple),
    node_selector=labels,
    node_terms=st.none() | st.lists(st.builds(NodeTerm, st.tuples(requirements))).map(tuple),
    affinity=terms,
    anti_affinity=terms,
    spread=st.lists(st.builds(Spread, numbers, names, st.booleans(), selectors), max_size=2).map(tuple),
    priority=numbers,
    claims=st.lists(names, max_size=2).map(tuple),
    ephemeral_claims=st.lists(names, max_size=2).map(tuple),
    empty_dir=st.booleans(),
    host_path=st.booleans(),
    host_network=st.booleans(),
    grace=numbers,
)


@given(specs, specs)
def test_two_templates_have_one_digest_only_if_they_are_equal(one: PodSpec, other: PodSpec) -> None:
    assert (of(one) == of(other)) == (one == other)


@given(specs)
def test_a_field_more_changes_no_template_at_all(one: PodSpec) -> None:
    assert of(wider(one)) == of(one)


# --- versions ---


@pytest.mark.parametrize("text", ["", "5cc99ff1c36de173", "0:5cc99ff1c36de173", "10:5cc99ff1c36de173", "1"])
def test_digests_of_other_releases_are_not_comparable(text: str) -> None:
    assert not is_comparable(text)


def test_its_own_digests_are_comparable() -> None:
    assert is_comparable(of(SAMPLE))
