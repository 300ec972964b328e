"""Each rule finds what it is for, and a change that only allows more is no finding."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.api.operators import CrdRule, RuleAction
from shiplift.operators.crds.definition import Definition, DefinitionError, read
from shiplift.operators.crds.rules import denied, findings, usual
from tests.operators.crds.building import crd, definition, field, spec_of, version

OF_FIELDS = [
    ({"type": "string"}, {"type": "integer"}, CrdRule.TYPE, "the type changes from string to integer"),
    ({"type": "number"}, {"type": "integer"}, CrdRule.TYPE, "the type changes from number to integer"),
    (
        {"type": "string"},
        {"x-kubernetes-int-or-string": True},
        CrdRule.TYPE,
        "the type changes from string to integer or text",
    ),
    ({}, {"enum": ["a"]}, CrdRule.ENUM, "only a are allowed, where anything was"),
    ({"enum": ["a", "b"]}, {"enum": ["b", "c"]}, CrdRule.ENUM, "a not allowed any more"),
    ({}, {"maximum": 0}, CrdRule.MAXIMUM, "maximum becomes 0"),
    ({"maxLength": 5}, {"maxLength": 4}, CrdRule.MAXIMUM, "maxLength becomes 4 instead of 5"),
    ({"maxItems": 5}, {"maxItems": 4}, CrdRule.MAXIMUM, "maxItems becomes 4 instead of 5"),
    ({"maxProperties": 5}, {"maxProperties": 4}, CrdRule.MAXIMUM, "maxProperties becomes 4 instead of 5"),
    ({}, {"exclusiveMaximum": True}, CrdRule.MAXIMUM, "exclusiveMaximum becomes True"),
    ({"minimum": 1}, {"minimum": 2}, CrdRule.MINIMUM, "minimum becomes 2 instead of 1"),
    ({}, {"minLength": 1}, CrdRule.MINIMUM, "minLength becomes 1"),
    ({}, {"exclusiveMinimum": True}, CrdRule.MINIMUM, "exclusiveMinimum becomes True"),
    ({}, {"pattern": "^a"}, CrdRule.PATTERN, "the pattern becomes '^a'"),
    ({"pattern": "^b"}, {"pattern": "^a"}, CrdRule.PATTERN, "the pattern becomes '^a' instead of '^b'"),
    ({}, {"default": 0}, CrdRule.DEFAULT, "it gets the default 0"),
    ({"default": 0}, {}, CrdRule.DEFAULT, "it loses the default 0"),
    ({"default": 0}, {"default": 1}, CrdRule.DEFAULT, "the default changes from 0 to 1"),
    ({"nullable": True}, {}, CrdRule.NULLABLE, "null is not allowed any more"),
    (
        {},
        {"x-kubernetes-validations": [{"rule": "self > 0"}]},
        CrdRule.VALIDATION_RULE,
        "a rule comes: self > 0",
    ),
    ({}, {"format": "date"}, CrdRule.UNHANDLED, "format changes"),
    ({}, {"oneOf": [{}]}, CrdRule.UNHANDLED, "oneOf changes"),
    (
        {"x-kubernetes-preserve-unknown-fields": True},
        {},
        CrdRule.FIELD_REMOVAL,
        "what no schema names is not kept any more",
    ),
]
MORE_IS_ALLOWED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"type": "integer"}, {"type": "number"}),
    ({"enum": ["a"]}, {"enum": ["a", "b"]}),
    ({"enum": ["a"]}, {}),
    ({"maximum": 5}, {"maximum": 6}),
    ({"maxLength": 5}, {}),
    ({"minimum": 5}, {"minimum": 4}),
    ({"exclusiveMinimum": True}, {"exclusiveMinimum": False}),
    ({"pattern": "a"}, {}),
    ({}, {"nullable": True}),
    ({}, {"description": "more words"}),
    ({"x-kubernetes-validations": [{"rule": "a"}]}, {}),
    ({}, {"x-kubernetes-preserve-unknown-fields": True}),
    ({"type": "object", "required": ["a"]}, {"type": "object"}),
]


def told(old: Definition, new: Definition) -> list[tuple[CrdRule, str, str]]:
    return [(one.rule, one.path, one.message) for one in findings(old, new, usual())]


@pytest.mark.parametrize(("old", "new", "rule", "message"), OF_FIELDS)
def test_a_field_that_is_changed_is_found_by_its_rule(
    old: dict[str, Any], new: dict[str, Any], rule: CrdRule, message: str
) -> None:
    assert told(field(**old), field(**new)) == [(rule, ".spec.field", f"v1: {message}")]


@pytest.mark.parametrize(("old", "new"), MORE_IS_ALLOWED)
def test_what_allows_more_is_no_finding(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert told(field(**old), field(**new)) == []


def test_a_field_that_goes_is_found_once_with_all_below_it() -> None:
    inner = {"type": "object", "properties": {"port": {"type": "integer"}}}
    old = definition(version(schema=spec_of(hosts={"type": "array", "items": inner})))
    assert told(old, definition(version(schema=spec_of()))) == [
        (CrdRule.FIELD_REMOVAL, ".spec.hosts", "v1: the field goes, with what is stored in it")
    ]
    without = definition(version(schema=spec_of(hosts={"type": "array", "items": {"type": "object"}})))
    assert [path for _, path, _ in told(old, without)] == [".spec.hosts[*].port"]


def test_a_field_that_goes_and_whose_content_is_kept_is_no_finding() -> None:
    new = {
        "type": "object",
        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    assert told(field(type="string"), definition(version(schema=new))) == []


def test_a_field_becomes_required_unless_it_has_a_default() -> None:
    before = definition(version(schema=spec_of(field={"type": "integer"})))
    schema = spec_of(field={"type": "integer"})
    schema["properties"]["spec"]["required"] = ["field"]
    assert told(before, definition(version(schema=schema))) == [
        (CrdRule.REQUIRED, ".spec", "v1: field becomes required")
    ]
    schema["properties"]["spec"]["properties"]["field"]["default"] = 1
    rules = [rule for rule, _, _ in told(before, definition(version(schema=schema)))]
    assert rules == [CrdRule.DEFAULT]


def test_the_scope_is_found() -> None:
    assert told(definition(), definition(scope="Cluster")) == [
        (CrdRule.SCOPE, "", "the scope changes from Namespaced to Cluster")
    ]


def test_a_stored_version_that_goes_is_found() -> None:
    old = definition(version("v1", storage=False, served=False), version("v2"), stored=("v1", "v2"))
    assert told(old, definition(version("v2"))) == [
        (CrdRule.STORED_VERSION_REMOVAL, "", "version v1 goes, in which objects may be stored")
    ]
    pruned = definition(version("v1", storage=False, served=False), version("v2"), stored=("v2",))
    assert told(pruned, definition(version("v2"))) == []


def test_a_served_version_that_goes_is_found() -> None:
    old = definition(version("v1"), version("v2", storage=False))
    new = definition(version("v1"), version("v2", storage=False, served=False))
    expected = [(CrdRule.SERVED_VERSION_REMOVAL, "", "version v2 is not served any more")]
    assert told(old, new) == expected
    assert told(old, definition(version("v1"))) == expected


def test_each_rule_has_a_usual_action_and_can_be_given_another() -> None:
    assert set(usual()) == set(CrdRule)
    old, new = field(type="string"), field(type="integer")
    assert denied(findings(old, new, usual()))
    warned = findings(old, new, usual({CrdRule.TYPE: RuleAction.WARN}))
    assert [one.action for one in warned] == [RuleAction.WARN]
    assert not denied(warned)
    assert findings(old, new, usual({CrdRule.TYPE: RuleAction.ALLOW})) == []


def test_definitions_of_the_old_api_are_read_as_well() -> None:
    old = crd()
    old["apiVersion"] = "apiextensions.k8s.io/v1beta1"
    old["spec"] |= {"version": "v1", "validation": {"openAPIV3Schema": spec_of(size={"type": "integer"})}}
    del old["spec"]["versions"]
    assert told(read(old), definition()) == [
        (CrdRule.FIELD_REMOVAL, "", "v1: what no schema names is not kept any more")
    ]
    assert told(read(old | {"spec": old["spec"] | {"preserveUnknownFields": False}}), definition()) == []


@pytest.mark.parametrize("broken", [{}, {"spec": {}}, {"spec": {"names": 7}}, {"metadata": 7, "spec": {}}])
def test_what_is_no_definition_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match="is no CustomResourceDefinition"):
        read(broken)


def test_a_schema_without_an_end_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100):
        deep = {"properties": {"a": deep}}
    with pytest.raises(DefinitionError, match="its schema is nested deeper than 64"):
        read(crd(version(schema=deep)))


SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "object"]),
            "enum": st.lists(st.sampled_from("abc"), min_size=1, max_size=2),
            "maximum": st.integers(0, 3),
            "nullable": st.booleans(),
            "default": st.integers(0, 1),
            "required": st.lists(st.sampled_from("abc"), max_size=2),
            "format": st.sampled_from(["date", "email"]),
        },
    ),
    lambda below: st.fixed_dictionaries(
        {"properties": st.dictionaries(st.sampled_from("abc"), below, max_size=3)},
        optional={"items": below, "additionalProperties": below | st.booleans()},
    ),
    max_leaves=6,
)


@given(SCHEMAS)
def test_what_stays_as_it_was_is_no_finding(schema: dict[str, Any]) -> None:
    old = definition(version(schema=schema))
    assert told(old, definition(version(schema=copy.deepcopy(schema)))) == []


@given(SCHEMAS, SCHEMAS)
def test_any_two_schemas_can_be_compared(old: dict[str, Any], new: dict[str, Any]) -> None:
    found = findings(definition(version(schema=old)), definition(version(schema=new)), usual())
    assert found == sorted(found, key=lambda one: list(CrdRule).index(one.rule))
