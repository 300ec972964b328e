"""The journal on the disk: whole or not at all wherever its writer is killed, and never guessed at."""

from __future__ import annotations

import json
import logging
import os
import signal
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiplift.agent.errors import AgentError, DamagedError, JournalError, TooLargeError
from shiplift.agent.machine import disk
from shiplift.agent.machine.journal import LARGEST, Before, Journal, Told
from shiplift.agent.model import Progress, Record, Work
from shiplift.agent.protocol import Operation, Order, Reboot, Token
from tests.agent.world import order
from tests.examples import tries

OLD = Record(order(), {"kubelet": "1.36.3"})
NEW = Record(order(attempt=2), {"kubelet": "1.36.4"}, begun=True, restarted_from="boot-1")
TOKEN = OLD.token

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=40)
TOKENS = st.builds(
    Token,
    st.from_regex(r"[0-9a-z-]{1,40}", fullmatch=True),
    st.from_regex(r"[0-9a-z-]{1,40}", fullmatch=True),
    st.sampled_from(Operation),
    st.integers(0, 9999),
)
RECORDS = st.builds(
    Record,
    st.builds(Order, TOKENS, WORDS, st.sampled_from(Reboot), st.booleans()),
    st.dictionaries(st.from_regex(r"[a-z]{1,9}", fullmatch=True), WORDS, max_size=4),
    st.booleans(),
    st.none() | WORDS,
)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "agent")


@given(RECORDS)
@settings(max_examples=tries(200))
def test_a_record_comes_back_as_it_was_kept(tmp_path_factory: pytest.TempPathFactory, record: Record) -> None:
    journal = Journal(tmp_path_factory.mktemp("journal"))
    journal.keep(record)
    assert journal.record() == record


def test_at_first_there_is_nothing(journal: Journal) -> None:
    assert (journal.record(), journal.result(TOKEN), journal.before(TOKEN)) == (None, None, None)


def test_nobody_else_may_read_it(journal: Journal) -> None:
    os.umask(0o022)
    journal.keep(OLD)
    assert stat.S_IMODE(journal.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(journal.path("record").stat().st_mode) == 0o600


def test_a_result_is_of_its_order_alone(journal: Journal) -> None:
    journal.finish(TOKEN, Work(Progress.FAILED, "x" * 600, "/a"))
    assert journal.result(TOKEN) == Work(Progress.FAILED, "x" * 512, "/a")
    assert journal.result(NEW.token) is None


def test_what_was_written_down_first_is_what_was_before(journal: Journal) -> None:
    first = Before({"kubelet": "1.35.4-1.1"}, frozenset({"kubelet"}))
    assert journal.remember(TOKEN, first) == first
    assert journal.remember(TOKEN, Before({"kubelet": "1.36.3-1.1"}, frozenset())) == first
    other = Before({"kubelet": "1.36.3-1.1"}, frozenset())
    assert journal.remember(NEW.token, other) == other


def test_tries_are_counted_for_each_order(journal: Journal) -> None:
    assert [journal.count_try(TOKEN) for _ in range(3)] == [1, 2, 3]
    assert journal.count_try(NEW.token) == 1


def test_restarts_are_told_of_an_order_and_a_boot_with_when_the_first_was(journal: Journal) -> None:
    assert journal.told_to_restart(TOKEN, "boot-1") is None
    for now in (7.0, 8.0):
        journal.count_restart(TOKEN, "boot-1", now)
    assert journal.told_to_restart(TOKEN, "boot-1") == Told("boot-1", 2, 7.0)
    assert journal.told_to_restart(TOKEN, "boot-2") is None
    assert journal.told_to_restart(NEW.token, "boot-1") is None


def test_restarts_that_an_older_agent_has_counted_are_told_anew(journal: Journal) -> None:
    journal._write("restarts", TOKEN, {"times": 3})  # pyright: ignore[reportPrivateUsage]
    assert journal.told_to_restart(TOKEN, "boot-1") is None
    journal.count_restart(TOKEN, "boot-1", 9.0)
    assert journal.told_to_restart(TOKEN, "boot-1") == Told("boot-1", 1, 9.0)
    # and an older agent finds what it looks for
    assert json.loads(json.loads(journal.path("restarts").read_text())["said"])["times"] == 1


# --- killed ---


def killed_after(steps: int, act: Callable[[], object]) -> bool:
    """Whether a process of its own was killed before the step of that number; else it came to its end."""
    if (child := os.fork()) == 0:
        left = iter(range(steps))

        def counted(real: Callable[..., Any]) -> Callable[..., Any]:
            def step(*arguments: Any, **named: Any) -> Any:
                if next(left, None) is None:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*arguments, **named)

            return step

        for name in ("open", "fdopen", "fchmod", "fsync", "close"):
            setattr(os, name, counted(getattr(os, name)))
        Path.replace = counted(Path.replace)  # type: ignore[method-assign]
        try:
            act()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.crash
def test_wherever_its_writer_is_killed_the_old_record_is_there_or_the_new_one(journal: Journal) -> None:
    found: list[Record | None] = []
    for step in range(50):
        journal.keep(OLD)
        killed = killed_after(step, lambda: journal.keep(NEW))
        found.append(journal.record())
        journal.keep(OLD)
        assert journal.record() == OLD
        if not killed:
            break
    assert len(found) > 6
    change = found.index(NEW)
    assert found == [OLD] * change + [NEW] * (len(found) - change)


@pytest.mark.crash
def test_a_first_record_is_there_or_not(tmp_path: Path) -> None:
    for step in range(50):
        journal = Journal(tmp_path / str(step))
        killed = killed_after(step, lambda journal=journal: journal.keep(NEW))
        assert journal.record() in (None, NEW)
        if not killed:
            return
    raise AssertionError("it never came to its end")


# --- damaged ---


def edited(journal: Journal, edit: Callable[[bytes], bytes]) -> Path:
    journal.keep(OLD)
    path = journal.path("record")
    path.write_bytes(edit(path.read_bytes()))
    return path


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut off": lambda content: content[:-10],
    "another version of kubelet": lambda content: content.replace(b"1.36.3", b"1.36.9"),
    "zeros": lambda content: bytes(len(content)),
    "a list": lambda _: b"[]",
    "no page": lambda _: b"{}",
    "version unknown": lambda content: content.replace(b'"journal":1', b'"journal":"x"'),
    "no text": lambda _: b"\xff\xfe",
    "too large": lambda content: content + b" " * LARGEST,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_record_is_named_put_aside_and_counts_as_lost(
    journal: Journal, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = edited(journal, DAMAGE[damage])
    damaged = path.read_bytes()
    with caplog.at_level(logging.ERROR):
        assert journal.record() is None
    assert f"{path} is damaged" in caplog.text
    assert path.with_name("record.json.damaged").read_bytes() == damaged
    assert not path.exists()
    journal.keep(NEW)
    assert journal.record() == NEW


def test_a_record_whose_order_is_of_another_token_is_damaged(journal: Journal) -> None:
    journal.keep(OLD)
    journal._write("record", NEW.token, {"order": OLD.order.written(), "desired": {}})  # pyright: ignore
    assert journal.record() is None


def test_the_record_of_a_newer_agent_is_not_touched(journal: Journal) -> None:
    path = edited(journal, lambda content: content.replace(b'"journal":1', b'"journal":2'))
    with pytest.raises(JournalError, match=r"is of journal 2, and this agent knows 1") as raised:
        journal.record()
    assert not isinstance(raised.value, DamagedError)
    assert json.loads(path.read_bytes())["journal"] == 2


def test_a_file_that_is_too_large_is_not_read(journal: Journal, tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(b"x" * 11)
    with pytest.raises(AgentError, match="has more than 10 bytes"):
        disk.read(large, 10)
    assert disk.read(large, 11) == b"x" * 11


def test_a_page_that_would_be_put_aside_as_too_large_is_not_written(journal: Journal) -> None:
    journal.keep(OLD)
    with pytest.raises(TooLargeError, match="would have more than 262144 bytes"):
        journal.keep(replace(NEW, desired={"kubelet": "x" * LARGEST}))
    assert journal.record() == OLD


def test_what_is_kept_twice_is_the_later(journal: Journal) -> None:
    journal.keep(OLD)
    journal.keep(replace(OLD, begun=True))
    assert journal.record() == replace(OLD, begun=True)
