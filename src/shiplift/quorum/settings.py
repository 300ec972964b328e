"""The operator's settings for this layer: section `quorum` of ConfigMap `shiplift-config`. Pure."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import msgspec

SECTION = "quorum"
_ADDRESS = r"^(\[[0-9a-fA-F:.]+\]|[0-9A-Za-z.-]*):[0-9]{1,5}$"


class Section(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """All of it has defaults."""

    listen: Annotated[str, msgspec.Meta(max_length=256, pattern=_ADDRESS)] = ":8090"
    """Where the leader hands binaries to pods; an empty host is all addresses."""
    cache: Annotated[str, msgspec.Meta(max_length=1024, pattern=r"^(/.*)?$")] = ""
    """The folder in which pulled binaries are kept; empty means one among the computer's temporary files."""

    certificate: Annotated[str, msgspec.Meta(max_length=1024, pattern=r"^(/.*)?$")] = ""
    """The file with its certificate, in PEM, for HTTPS: pods have to trust it. It is in the operator's pod,
    and read anew each time that a binary is handed out."""
    key: Annotated[str, msgspec.Meta(max_length=1024, pattern=r"^(/.*)?$")] = ""
    """The file with the key of the certificate."""

    def __post_init__(self) -> None:
        if bool(self.certificate) is not bool(self.key):
            raise ValueError("certificate and key go together")

    @property
    def scheme(self) -> str:
        return "https" if self.certificate else "http"

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)

    @property
    def folder(self) -> Path:
        return Path(self.cache) if self.cache else Path(tempfile.gettempdir(), "shiplift-quorum")
