import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.engine.versions import (
    SHAPE,
    Order,
    Stage,
    Version,
    VersionError,
    beyond,
    goal,
    highest,
    kubelet_fits,
    minors_between,
    parse,
    reaches,
)

OPPOSITE = {
    Order.LOWER: Order.HIGHER,
    Order.HIGHER: Order.LOWER,
    Order.SAME: Order.SAME,
    Order.NONE: Order.NONE,
}


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v1.35.4", Version(1, 35, 4)),
        ("1.35.4", Version(1, 35, 4)),
        ("v1.35", Version(1, 35)),
        ("v1.36.0-rc.1", Version(1, 36, 0, Stage.RC, 1)),
        ("v1.36.0-alpha.12", Version(1, 36, 0, Stage.ALPHA, 12)),
        ("v1.35.4-gke.12", Version(1, 35, 4, vendor="-gke.12")),
        ("v1.35.4-eks-3af4770", Version(1, 35, 4, vendor="-eks-3af4770")),
        ("v1.34.1+k3s1", Version(1, 34, 1, vendor="+k3s1")),
        ("v1.34.1+rke2r3", Version(1, 34, 1, vendor="+rke2r3")),
        ("v1.34.0-rc.1+k3s1", Version(1, 34, 0, Stage.RC, 1, "+k3s1")),
        ("v1.33.2-rc.1.5", Version(1, 33, 2, vendor="-rc.1.5")),
        ("v1.30.5-vmware.1-fips.2", Version(1, 30, 5, vendor="-vmware.1-fips.2")),
        ("v1.35+", None),
        ("", None),
        ("v1", None),
        ("1.2.3.4", None),
        ("v1.35.4-", None),
        ("v1.35.4 ", None),
        ("v1.35.x", None),
        ("v\u0661.35.4", None),
        ("latest", None),
        ("v1.35.4-" + "x" * 200, None),
    ],
)
def test_versions_are_read_or_refused_by_name(text, version):
    if version is not None:
        assert parse(text) == version
        return
    with pytest.raises(VersionError) as refused:
        parse(text)
    assert repr(text[:80]) in str(refused.value)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("one", "other", "order"),
    [
        ("v1.35.4", "1.35.4", Order.SAME),
        ("v1.9.0", "v1.10.0", Order.LOWER),
        ("v1.35.9", "v1.35.10", Order.LOWER),
        ("v2.0.0", "v1.99.9", Order.HIGHER),
        ("v1.36.0-alpha.3", "v1.36.0-beta.1", Order.LOWER),
        ("v1.36.0-beta.2", "v1.36.0-rc.0", Order.LOWER),
        ("v1.36.0-rc.2", "v1.36.0-rc.10", Order.LOWER),
        ("v1.36.0-rc.1", "v1.36.0", Order.LOWER),
        ("v1.36.0-rc.1", "v1.35.9", Order.HIGHER),
        ("v1.35.4-gke.12", "v1.35.4-gke.100", Order.LOWER),
        ("v1.35.4-gke.1099000", "v1.35.4-gke.1100.5", Order.HIGHER),
        ("v1.34.1+k3s1", "v1.34.1+k3s2", Order.LOWER),
        ("v1.34.1+rke2r9", "v1.34.1+rke2r10", Order.LOWER),
        ("v1.35.4-gke.12", "v1.35.5-gke.1", Order.LOWER),
        ("v1.35.4-eks-aaaa111", "v1.36.0-eks-0000000", Order.LOWER),
        ("v1.35.4-eks-aaaa111", "v1.35.4-eks-bbbb222", Order.NONE),
        ("v1.35.4-eks-1111111", "v1.35.4-eks-2222222", Order.NONE),
        ("v1.35.4-gke.12", "v1.35.4", Order.NONE),
        ("v1.35.4-gke.12", "v1.35.4-aliyun.1", Order.NONE),
        ("v1.35.4-gke.1", "v1.35.4+gke1", Order.NONE),
    ],
)
def test_the_rules_of_order(one, other, order):
    assert parse(one).compare(parse(other)) is order
    assert parse(other).compare(parse(one)) is OPPOSITE[order]


def test_the_highest_version_is_found_whatever_the_order_they_come_in():
    versions = [parse(text) for text in ("v1.35.4-gke.2", "v1.36.0-gke.1", "v1.35.9", "v1.36.0-gke.10")]
    assert str(highest(versions)) == "v1.36.0-gke.10"
    assert str(highest(reversed(versions))) == "v1.36.0-gke.10"


def test_a_lower_version_of_another_vendor_does_not_make_the_highest_doubtful():
    assert str(highest([parse("v1.35.1-eks-aa"), parse("v1.35.1-eks-bb"), parse("v1.36.0")])) == "v1.36.0"


def test_two_highest_versions_without_an_order_are_named_and_none_is_chosen():
    with pytest.raises(VersionError, match=r"v1\.35\.4-eks-aa and v1\.35\.4-eks-bb have no order"):
        highest([parse("v1.35.4-eks-aa"), parse("v1.35.4-eks-bb"), parse("v1.34.0")])


def test_there_is_no_highest_of_nothing():
    with pytest.raises(VersionError, match="no version"):
        highest([])


@pytest.mark.parametrize(
    ("kubelet", "api_server", "fits"),
    [
        ("v1.36.3", "v1.36.0", True),
        ("v1.35.4", "v1.36.3", True),
        ("v1.33.0", "v1.36.3", True),
        ("v1.32.9", "v1.36.3", False),
        ("v1.37.0", "v1.36.3", False),
        ("v2.36.0", "v1.36.0", False),
    ],
)
def test_a_kubelet_is_never_ahead_and_at_most_three_minors_behind(kubelet, api_server, fits):
    assert kubelet_fits(parse(kubelet), parse(api_server)) is fits


def test_minors_are_counted_in_both_directions_within_a_major():
    assert minors_between(parse("v1.33.1"), parse("v1.36.0")) == 3
    assert minors_between(parse("v1.36.0"), parse("v1.33.1")) == -3
    with pytest.raises(VersionError, match="different majors"):
        minors_between(parse("v1.33.1"), parse("v2.0.0"))


def test_the_line_of_a_version_is_its_minor():
    assert parse("v1.35.4-gke.12").line == (1, 35)


suffixes = st.sampled_from(["", "-gke.1", "-gke.12", "+k3s1", "-eks-abc", "-eks-def", "-gke.1.2"])
versions = st.builds(
    Version,
    st.integers(0, 3),
    st.integers(0, 50),
    st.integers(0, 20),
    st.sampled_from(Stage),
    st.just(0),
    suffixes,
)


@given(versions)
def test_a_version_reads_back_what_it_says(version):
    assert parse(str(version)) == version


@given(versions, versions)
def test_the_order_is_the_same_from_both_sides(one, other):
    assert one.compare(other) is OPPOSITE[other.compare(one)]
    assert (one.compare(other) is Order.SAME) == (one == other)


@given(versions, versions, versions)
def test_the_order_is_transitive_where_there_is_one(one, two, three):
    if one.compare(two) is Order.LOWER and two.compare(three) is Order.LOWER:
        assert one.compare(three) is Order.LOWER


@given(st.from_regex(SHAPE, fullmatch=True))
def test_any_text_of_the_right_shape_reads_back_what_it_says(text):
    assert parse(str(parse(text))) == parse(text)


@given(st.text(max_size=30).filter(lambda text: not SHAPE.fullmatch(text)))
def test_any_other_text_is_refused_by_name(text):
    with pytest.raises(VersionError) as refused:
        parse(text)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.36", "v1.36"),
        ("v1.36", "v1.36"),
        ("1.36.0", "v1.36.0"),
        ("v1.36.3-gke.1", "v1.36.3-gke.1"),
        ("x", "x"),
    ],
)
def test_a_minor_that_is_asked_for_stays_a_minor(text: str, expected: str):
    assert goal(text) == expected
    assert goal(goal(text)) == goal(text)


@pytest.mark.parametrize(
    ("version", "wanted", "expected"),
    [
        ("v1.36.3", "v1.36", True),
        ("1.36.0-eks-3af4770", "1.36", True),
        ("v1.37.0", "v1.36", True),
        ("v1.35.9", "v1.36", False),
        ("v2.40.0", "v1.36", False),
        ("v1.36.3", "v1.36.3", True),
        ("v1.36.3", "1.36.3", True),
        ("v1.36.4", "v1.36.3", False),
        ("v1.36.3-gke.1", "v1.36.3", False),
        ("nonsense", "v1.36", False),
    ],
)
def test_which_versions_reach_what_is_asked_for(version: str, wanted: str, expected: bool):
    assert reaches(version, wanted) is expected


@pytest.mark.parametrize(
    ("version", "wanted", "expected"),
    [
        ("v1.36.2", "v1.36.2", False),
        ("v1.35.9", "v1.36.2", False),
        ("v1.36.3", "v1.36.2", True),
        ("v1.36.2-eks-1a2b3c4", "v1.36.2", True),
        ("v1.35.2-eks-1a2b3c4", "v1.36.2", False),
        ("v1.36.2-gke.12", "v1.36.2-gke.9", True),
        ("v1.36.2-gke.8", "v1.36.2-gke.9", False),
        ("v1.37.0", "1.36", False),
        ("nonsense", "v1.36.2", False),
    ],
)
def test_which_versions_no_upgrade_makes_what_is_asked_for(version: str, wanted: str, expected: bool):
    assert beyond(version, wanted) is expected
