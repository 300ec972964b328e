"""MinIO's versions are moments, however MinIO writes them; what is none is an error."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.quorum.engines.minio import MinIO
from shiplift.quorum.engines.minio.versions import moment, tag
from shiplift.quorum.wire import Direct
from tests.minio.servers import CREDENTIALS

AT = datetime(2025, 9, 7, 16, 13, 9, tzinfo=UTC)
ENGINE = MinIO(Direct(), CREDENTIALS)


@pytest.mark.parametrize(
    "text",
    [
        "RELEASE.2025-09-07T16-13-09Z",
        "2025-09-07T16:13:09Z",
        "2025-09-07T16-13-09Z",
        "RELEASE.2025-09-07T16-13-09Z.hotfix.12ab34cd",
    ],
)
def test_every_way_of_writing_it_is_the_same_moment(text: str) -> None:
    assert moment(text) == AT


@pytest.mark.parametrize(
    "text",
    [
        "",
        "DEVELOPMENT.GOGET",
        "latest",
        "RELEASE.2025-09-07T16-13-09",
        "RELEASE.2025-09-07T16:13-09Z",
        "RELEASE.2025-13-07T16-13-09Z",
        "RELEASE.2025-09-07T16-13-09Z\n",
        "RELEASE.2025-09-07T16-13-09Z.a.b.c",
        "RELEASE.٢٠٢٥-09-07T16-13-09Z",
    ],
)
def test_what_is_no_version_is_an_error_that_says_so(text: str) -> None:
    with pytest.raises(ValueError, match="is no version of MinIO"):
        moment(text)


@given(st.datetimes(datetime(2015, 1, 1), datetime(2100, 1, 1)).map(lambda at: at.replace(microsecond=0)))
def test_a_tag_says_the_same_moment(at: datetime) -> None:
    written = f"{at:%Y-%m-%dT%H:%M:%SZ}"
    assert moment(tag(written)) == moment(written)


def test_a_hotfix_keeps_its_name_in_its_tag() -> None:
    assert tag("2025-09-07T16:13:09Z.hotfix.1") == "RELEASE.2025-09-07T16-13-09Z.hotfix.1"


def test_newer_means_later_and_a_hotfix_is_not() -> None:
    assert ENGINE.newer("RELEASE.2025-09-07T16-13-09Z", than="2025-09-07T16:13:08Z")
    assert not ENGINE.newer("2025-09-07T16:13:09Z", than="RELEASE.2025-09-07T16-13-09Z")
    assert not ENGINE.newer("RELEASE.2025-09-07T16-13-09Z.hotfix.1", than="RELEASE.2025-09-07T16-13-09Z")


@pytest.mark.parametrize(
    ("running", "knows"),
    [("2024-01-28T22:35:52Z", False), ("2024-01-28T22:35:53Z", True), ("2025-04-22T22:12:26Z", True)],
)
def test_only_servers_that_know_a_dry_run_can_stage(running: str, knows: bool) -> None:
    assert ENGINE.stages(running) is knows
