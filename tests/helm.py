"""Helm, built with Go from its module source and kept in the user's cache."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests import go_modules
from tests.go_modules import Program, Source

_SOURCE = Source("helm.sh/helm/v3", "v3.22.0", "h1:n1if5iQgHYsujPAcO5oonH/KiSNUmqmUF0iGVjSF3AU=")
_STAMPS = {
    "internal/version.version": _SOURCE.version,
    "pkg/lint/rules.k8sVersionMajor": "1",
    "pkg/lint/rules.k8sVersionMinor": "36",
    "pkg/chartutil.k8sVersionMajor": "1",
    "pkg/chartutil.k8sVersionMinor": "36",
}
_FLAGS = "-s -w " + " ".join(f"-X {_SOURCE.module}/{name}={value}" for name, value in _STAMPS.items())
_PROGRAM = Program(_SOURCE, "helm", _SOURCE.version, "./cmd/helm", _FLAGS)


def program() -> Path:
    """Its path; built when it is not in the cache, which takes minutes."""
    return go_modules.built(_PROGRAM)


def run(*words: str | Path, home: Path) -> subprocess.CompletedProcess[str]:
    """Its answer; everything that helm keeps for itself is below `home`."""
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        [program(), *words], capture_output=True, text=True, check=False, env=environment, timeout=300
    )


if __name__ == "__main__":
    print(program())
