"""What logs do not tell: the values of variables, among which a token may be."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator

import pytest
import structlog

from shiplift.cli.output import configure_logs
from shiplift.operator import logs

SECRET = "a-token-that-nobody-may-see"


class Screen(io.StringIO):
    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def fail() -> None:
    """With a secret in a variable of the function that fails."""
    token = "-".join(SECRET.split("-"))
    raise RuntimeError(f"failed with {len(token)} characters")


def for_debugging() -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SHIPLIFT_DEBUG", "1")
        configure_logs()


@pytest.mark.parametrize("configure", [logs.configure, for_debugging], ids=["operator", "commands"])
@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "file"])
def test_a_traceback_has_no_values_of_variables(
    configure: Callable[[], None], terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Screen(terminal=terminal)
    monkeypatch.setattr(sys, "stderr", screen)
    configure()
    try:
        fail()
    except RuntimeError:
        structlog.get_logger("test").exception("it failed")
    told = screen.getvalue()
    assert "failed with 27 characters" in told
    assert "in fail" in told
    assert SECRET not in told
