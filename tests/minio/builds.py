"""MinIO's programs, built with Go from its module source and kept in the user's cache.

The version that a program says is stamped by the linker, so one source makes as many releases as a test
wants.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from tests import go_modules
from tests.go_modules import Program, Source

_MODULE = "github.com/minio/minio"
_STAMPS = "github.com/minio/minio/cmd"


class Release(msgspec.Struct, frozen=True):
    """A program: its source, and the time that it says it was released at (`2025-04-22T22:12:26Z`)."""

    source: Source
    time: str

    @property
    def tag(self) -> str:
        return f"RELEASE.{self.time.replace(':', '-')}"

    @property
    def commit(self) -> str:
        return self.source.version.rpartition("-")[2]

    @property
    def program(self) -> Program:
        return Program(self.source, "minio", self.tag, linker_flags=self.linker_flags)

    @property
    def linker_flags(self) -> str:
        stamps = {
            "Version": self.time,
            "ReleaseTag": self.tag,
            "CommitID": self.commit,
            "ShortCommitID": self.commit,
            "CopyrightYear": self.time[:4],
        }
        return "-s -w " + " ".join(f"-X {_STAMPS}.{name}={value}" for name, value in stamps.items())


_APRIL = Source(
    _MODULE, "v0.0.0-20250422221226-0d7408fc9969", "h1:XqfWRNtM5qMJyGQ4IFsnfHb83fCaRYhrKxJJ0ajXdrQ="
)
_SEPTEMBER = Source(
    _MODULE, "v0.0.0-20250907161309-07c3a429bfed", "h1:deu0m9BiyqnMbGWfJi1PpVyotSXlDnTmRIme1cUXnxo="
)
OLD = Release(_APRIL, "2025-04-22T22:12:26Z")
NEW = Release(_SEPTEMBER, "2025-09-07T16:13:09Z")


def program(release: Release) -> Path:
    """The path of the program; built when it is not in the cache, which takes minutes."""
    return go_modules.built(release.program)


if __name__ == "__main__":
    for wanted in (OLD, NEW):
        print(program(wanted))
