"""How far the door leads, as an administrator writes it into the operator's settings. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import msgspec
from msgspec import Meta

from shiplift.api.values import Duration, duration


class Reaching(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Where calls may go (`outside.door.Reach`)."""

    hosts: Annotated[tuple[Annotated[str, Meta(min_length=1, max_length=253)], ...], Meta(max_length=16)] = ()
    private: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=64)], ...], Meta(max_length=32)
    ] = ()
    authority: Annotated[str, Meta(max_length=65536)] = ""
    timeout: Duration = "10s"

    def __post_init__(self) -> None:
        if not timedelta(seconds=1) <= duration(self.timeout) <= timedelta(minutes=1):
            raise ValueError("timeout must be from 1s to 1m")
