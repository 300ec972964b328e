"""The section `configManager`: what it takes, and what it refuses by name."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from shiplift.kube.config import parsed
from shiplift.kube.documents import DocumentError
from shiplift.policy.config import Provider, Section
from shiplift.policy.names import SECTION


def read(said: dict[str, Any]) -> Section:
    return parsed(msgspec.json.encode({SECTION: said}).decode(), SECTION, Section)


def test_without_settings_the_upgrade_config_is_whoevers_who_writes_it() -> None:
    assert read({}).provider is Provider.LOCAL
    assert read({}).period == timedelta(hours=1)


def test_the_interval_is_in_minutes_or_a_duration() -> None:
    assert read({"watchInterval": 5}).period == timedelta(minutes=5)
    assert read({"watchInterval": "90s"}).period == timedelta(seconds=90)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"provider": "Remote"}, "Invalid enum value 'Remote'"),
        ({"provider": "HTTP"}, "provider HTTP needs http.url"),
        ({"provider": "HTTP", "http": {"url": "http://plain.example/"}}, r"\$\.http\.url"),
        ({"provider": "HTTP", "http": {"url": "https://me@x.example/"}}, r"\$\.http\.url"),
        ({"watchInterval": 0}, "watchInterval"),
        ({"watchInterval": "9s"}, "watchInterval must be from 10s to 7 days"),
        ({"watchInterval": 10081}, "watchInterval must be from 10s to 7 days"),
        ({"watchInterval": "1d"}, "watchInterval"),
        ({"interval": 5}, "unknown field `interval`"),
        ({"reach": {"timeout": "5m"}}, "timeout must be from 1s to 1m"),
        ({"ocm": {"baseUrl": "http://x"}}, r"\$\.ocm\.baseUrl"),
        ({"ocm": {"clusterId": "a' or '1'='1"}}, r"\$\.ocm\.clusterId"),
        ({"ocm": {"policies": "addons"}}, r"\$\.ocm\.policies"),
    ],
)
def test_what_is_wrong_is_named(said: dict[str, Any], why: str) -> None:
    with pytest.raises(DocumentError, match=why):
        read(said)


def test_the_interval_is_no_part_of_where_policies_come_from() -> None:
    one = {"provider": "HTTP", "http": {"url": "https://x.example/"}}
    assert read({**one, "watchInterval": 5}).source == read({**one, "watchInterval": 7}).source
    assert read(one).source != read({**one, "http": {"url": "https://y.example/"}}).source
