"""How pages are read and run: what would be overlooked here would be overlooked in every guide."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.console import Command, commands, kept
from tests.docs.shell import Result, Shell, running
from tests.docs.test_console_blocks import complaint

PAGE = """# A page
```console
$ make test     # everything
$ echo one \\
> two
one two

three
$ cd /
```
```yaml
$ no: command
```
```console
$ ls
> is what it says
```
"""


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with running(tmp_path, {"PATH": os.environ["PATH"]}, tmp_path / "output") as shell:
        yield shell


def test_commands_are_read_with_what_they_promise(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert commands(page) == [
        Command("page.md", 4, "echo one \\\ntwo", ("one two", "", "three")),
        Command("page.md", 9, "cd /"),
        Command("page.md", 15, "ls\nis what it says"),
    ]


def test_a_block_that_begins_with_no_command_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\nhello\n```\n")
    with pytest.raises(
        ValueError, match=r"page.md:2: a console block begins with a command, not with 'hello'"
    ):
        commands(page)


@pytest.mark.parametrize(
    ("promised", "said", "expected"),
    [
        (["up after … s"], "up after 4.2 s\n", True),
        (["up after … s"], "up after 4.2 s\nand more\n", False),
        (["up", "…"], "up\nand more\nand more\n", True),
        (["…", "last"], "first\nlast\n", True),
        (["…", "last"], "first\nlater\n", False),
        (["a … b"], "a\nb\n", False),
        (["name  state"], "name     state  \n", True),
        (["a.c"], "abc\n", False),
        (["something"], "", False),
        (["met"], 'I1116 15:03:34.063260   22332 reflector.go:664] "Warning: watch ended"\nmet\n', True),
        (["met"], "E1116 15:03:34.063260   22332 reflector.go:664] failed\nmet\n", False),
    ],
)
def test_what_is_said_is_compared_with_what_was_promised(
    promised: list[str], said: str, expected: bool
) -> None:
    assert kept(promised, said) is expected


def test_commands_share_a_shell_and_each_has_its_own_answer(shell: Shell) -> None:
    assert shell.run("x=5; echo out; echo err >&2", 10) == Result(0, "out\nerr\n")
    assert shell.run("echo $x; false", 10) == Result(1, "5\n")
    assert shell.run("cat", 10) == Result(0, "")


def test_a_job_in_the_background_can_be_ended_by_its_number(shell: Shell) -> None:
    assert shell.run("sleep 600 &", 10).code == 0
    assert shell.run("kill %1 && wait %1", 10).code == 143


def test_a_command_that_does_not_end_is_given_up(shell: Shell) -> None:
    assert shell.run("echo begun; sleep 600", 0.5) == Result(None, "begun\n")


@pytest.mark.parametrize(
    ("result", "wrong"),
    [
        (Result(0, "fine\n"), ""),
        (Result(0, "bad\n"), "says something else than the page"),
        (Result(3, "fine\n"), "exit code 3"),
        (Result(None, ""), "did not end in 120 s"),
    ],
)
def test_a_complaint_says_where_what_was_promised_and_what_came(result: Result, wrong: str) -> None:
    said = complaint(Command("page.md", 7, "work", ("fine",)), result)
    expected = f"page.md:7: work\n{wrong}\n--- expected\nfine\n--- got\n{result.said}"
    assert said == (expected if wrong else "")
