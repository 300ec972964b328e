"""MinIO's versions: the moment of a release, in the three ways in which MinIO writes it.

`RELEASE.2025-09-07T16-13-09Z` is a tag, `2025-09-07T16:13:09Z` what a server says of itself, and
`2025-09-07T16-13-09Z` what it says of another. A hotfix (`RELEASE.….hotfix.1234abcd`) has the moment of what
it fixes: to MinIO, and so to us, neither is newer than the other.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

_FORM = re.compile(
    r"(?:RELEASE\.)?(\d{4}-\d{2}-\d{2})T(\d{2})([:-])(\d{2})\3(\d{2})Z(?:\.[A-Za-z0-9]{1,32}){0,2}", re.ASCII
)
FIRST_TO_STAGE = "RELEASE.2024-01-28T22-35-53Z"
"""The first that knows `type=2` and `dry-run`; an older one would take a dry run for the real thing."""


def moment(version: str) -> datetime:
    """When it was released; ValueError for what is no version of MinIO's."""
    found = _FORM.fullmatch(version)
    if found is None:
        raise ValueError(f"{version[:96]!r} is no version of MinIO: RELEASE.2025-09-07T16-13-09Z is one")
    day, hour, _, minute, second = found.groups()
    try:
        return datetime.fromisoformat(f"{day}T{hour}:{minute}:{second}").replace(tzinfo=UTC)
    except ValueError:
        raise ValueError(f"{version[:96]!r} is no version of MinIO: there is no such time") from None


def tag(version: str) -> str:
    """As a tag, however it was written; a hotfix keeps its name."""
    at, fix = moment(version), version.partition("Z")[2]
    return f"RELEASE.{at:%Y-%m-%dT%H-%M-%SZ}{fix}"
