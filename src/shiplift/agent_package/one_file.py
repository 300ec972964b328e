"""The agent in one file: a zip archive that begins with the line that tells the machine what runs it.

Python is started isolated: nothing in the environment or in root's home changes what the agent is.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import shiplift

INTERPRETER = b"#!/usr/bin/python3 -I\n"
_MAIN = "import sys\n\nfrom shiplift.agent.program import main\n\nsys.exit(main())\n"
_THEN = (1980, 1, 1, 0, 0, 0)


def content() -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(_files().items()):
            about = zipfile.ZipInfo(name, _THEN)
            about.compress_type, about.external_attr, about.create_system = (
                zipfile.ZIP_DEFLATED,
                0o644 << 16,
                3,
            )
            archive.writestr(about, text)
    return INTERPRETER + written.getvalue()


def _files() -> dict[str, bytes]:
    """The package of the agent, and of all others nothing."""
    root = Path(shiplift.__file__).parent
    modules = [root / "__init__.py", *(root / "agent").rglob("*.py")]
    found = {str(path.relative_to(root.parent)): path.read_bytes() for path in modules}
    return found | {"__main__.py": _MAIN.encode()}
