"""Files of a machine, written below a folder that becomes its root."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

Files = Mapping[str, str]
_PRIVATE = ("_key", "authorized_keys")


def write_files(root: Path, files: Files) -> None:
    """Each by its path from the root; private keys and who may log in are for root alone."""
    for name, content in files.items():
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        target.touch(mode=0o600 if name.endswith(_PRIVATE) else 0o644)
        target.write_text(content)
