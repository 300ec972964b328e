import ast
import subprocess
import sys
from pathlib import Path

import pytest

import shiplift.engine

FOLDER = Path(shiplift.engine.__file__).parent
IMPURE = {
    "asyncio", "concurrent", "http", "httpx", "httpx2", "kubernetes", "multiprocessing", "os", "queue",
    "random", "secrets", "select", "signal", "socket", "ssl", "structlog", "subprocess",
    "threading", "time", "urllib",
}  # fmt: skip
SCHEDULING = ("clock.py", "loop.py", "workers.py")
PURE = sorted(path.name for path in FOLDER.glob("*.py") if path.name not in SCHEDULING)


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_the_public_names_are_these():
    assert shiplift.engine.__all__ == [
        "Answer", "Barrier", "Condition", "Decision", "Gone", "Hooks", "Layer", "LookAgain", "Operation",
        "Outcome", "Outcomes", "Probe", "Reason", "Seen", "Settings", "Started", "Statement", "Step", "Truth",
        "await_change", "earliest", "requeue",
    ]  # fmt: skip


def test_every_public_name_exists():
    assert all(hasattr(shiplift.engine, name) for name in shiplift.engine.__all__)


@pytest.mark.parametrize("name", PURE)
def test_only_the_loop_knows_clocks_threads_and_chance(name):
    assert not {module.split(".")[0] for module in imported(FOLDER / name)} & IMPURE


@pytest.mark.parametrize("name", [*PURE, *SCHEDULING])
def test_the_engine_knows_facts_and_itself_only(name):
    own = {module for module in imported(FOLDER / name) if module.startswith("shiplift")}
    assert all(module.startswith(("shiplift.engine", "shiplift.facts")) for module in own)


def test_importing_the_engine_starts_no_clock_and_no_thread_module_of_ours():
    script = "import sys, shiplift.engine; print('shiplift.engine.loop' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"
