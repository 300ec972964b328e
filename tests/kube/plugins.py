"""Real exec plugins for tests: small programs that count how often they ran."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"

_PROGRAM = """#!{python}
import os, pathlib, sys
here = pathlib.Path({folder!r})
runs = here / "runs"
number = int(runs.read_text()) if runs.exists() else 0
runs.write_text(str(number + 1))
(here / "told").write_text(os.environ.get("KUBERNETES_EXEC_INFO", ""))
(here / "argv").write_text(" ".join(sys.argv[1:]) + " " + os.environ.get("COLOUR", ""))
answers = sorted(here.glob("answer-*"))
sys.stdout.write(answers[min(number, len(answers) - 1)].read_text())
"""


class Plugin:
    """A program whose answers the test writes, one for each run; the last one is repeated."""

    def __init__(self, folder: Path, version: str = V1) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.version = version
        self.program = script(folder / "plugin", _PROGRAM.format(python=sys.executable, folder=str(folder)))

    def answers(self, *statuses: dict[str, Any]) -> None:
        for number, status in enumerate(statuses):
            answer = {"kind": "ExecCredential", "apiVersion": self.version, "status": status}
            (self.folder / f"answer-{number}").write_text(json.dumps(answer))

    def user(self, **more: Any) -> dict[str, Any]:
        config = {"command": str(self.program), "apiVersion": self.version, "interactiveMode": "IfAvailable"}
        return {"exec": config | more}

    @property
    def runs(self) -> int:
        return int((self.folder / "runs").read_text())

    @property
    def told(self) -> dict[str, Any]:
        return json.loads((self.folder / "told").read_text())

    @property
    def argv(self) -> str:
        return (self.folder / "argv").read_text()


def script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path
