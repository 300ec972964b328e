"""The entry point: help, exit codes, and errors in one line with a hint."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from shiplift import __version__
from shiplift.cli import output

# the package's `main` is the function; the module is wanted here
main = importlib.import_module("shiplift.cli.main")
SHIPLIFT = (
    sys.executable,
    "-c",
    "import sys; sys.argv[0] = 'shiplift'; from shiplift.cli import main; main()",
)


def shiplift(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SHIPLIFT, *words], capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "COMMANDS", (main.Command("broken", "tests.cli.broken:app", "Fail."),))


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",)])
def test_help_lists_every_command(words: tuple[str, ...]) -> None:
    asked = shiplift(*words)
    assert (asked.returncode, asked.stderr) == (0, "")
    for command in main.COMMANDS:
        old = command.name == "release"
        assert (f"  {command.name} " in asked.stdout) is not old
        assert (command.summary in asked.stdout) is not old


@pytest.mark.parametrize("command", main.COMMANDS, ids=lambda command: command.name)
def test_a_command_says_of_itself_what_the_overview_says(command: main.Command) -> None:
    app = main.load(command)
    assert (app.name, app.help) == ((command.name,), command.summary)


@pytest.mark.parametrize("command", main.COMMANDS, ids=lambda command: command.name)
def test_every_command_has_help(command: main.Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([command.name, "--help"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith(f"Usage: shiplift {command.name}")
    assert said.err == ""
    assert "--empty-" not in said.out, "nobody needs an option for nothing"
    assert "[default: False]" not in said.out, "a flag that is not given is off"


def test_the_overview_imports_no_library() -> None:
    """That is what makes it fast."""
    code = (
        "import sys; from shiplift.cli.main import run; run(['--help']); print(*sys.modules, file=sys.stderr)"
    )
    asked = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    imported = {name.partition(".")[0] for name in asked.stderr.split()}
    assert not imported & {"cyclopts", "rich", "msgspec", "httpx2", "structlog", "yaml", "asyncio"}


@pytest.mark.parametrize("words", [["version"], ["--version"]])
def test_the_version_is_data(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(words) == 0
    assert capsys.readouterr() == (f"shiplift {__version__}\n", "")


def test_kubectl_users_see_the_command_that_they_typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/kubectl-shiplift", "local", "--help"])
    with pytest.raises(SystemExit, match="0"):
        main.main()
    assert capsys.readouterr().out.startswith("Usage: kubectl shiplift local COMMAND")


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["lcal"], "there is no command 'lcal'", "did you mean local?"),
        (["watch"], "there is no command 'watch'", "did you mean shiplift status -w?"),
        (["xyzzy"], "there is no command 'xyzzy'", "shiplift --help lists the commands"),
        (["--bogus"], "there is no command '--bogus'", "shiplift --help lists the commands"),
        (["local", "dwn"], 'unknown command "dwn"', 'did you mean "down"?'),
        (["crds", "x"], "'x' is more than crds takes", "shiplift crds --help shows how"),
        (
            ["drain", "a", "b"],
            "'b' is more than drain takes",
            "one node at a time: run it once for each",
        ),
        (
            ["resume", "rollout", "v1.36.3"],
            "'v1.36.3' is more than resume takes",
            "did you mean rollout/v1.36.3?",
        ),
        (["explain", "node", "a"], "'a' is more than explain takes", "did you mean node/a?"),
        (
            ["undo", "rollout/a"],
            "'rollout/a' is more than undo takes",
            "it takes no name: it is about all that there is",
        ),
        (
            ["drain", "a", "--force"],
            "unknown option: --force",
            "--evict-unmanaged evicts pods that nobody brings back; budgets hold",
        ),
        (
            ["drain", "a", "--ignore-daemonsets"],
            "unknown option: --ignore-daemonsets",
            "leave it out: pods of DaemonSets stay",
        ),
        (
            ["local", "up", "--nodes", "many"],
            "--nodes 'many' is no number",
            "shiplift local up --help shows how",
        ),
        (
            ["drain", "a", "--grace-period", "abc"],
            "--grace-period 'abc' is no number",
            "shiplift drain --help shows how",
        ),
        (
            ["drain", "a", "--timeout", "-5s"],
            "--timeout '-5s' is less than nothing",
            "shiplift drain --help shows how",
        ),
        (["migrate"], "--to is missing", "shiplift migrate --help shows how"),
        (["local", "nodes", "add"], "COUNT is missing", "shiplift local nodes add --help shows how"),
        (
            ["local", "nodes", "ready", "foo", "node-1"],
            'invalid value "foo" for STATE. Choose from: "ready", "ill", "silent"',
            "shiplift local nodes ready --help shows how",
        ),
        (["local", "up", "--nodes", "-1"], "-1 is no number of nodes", "from 0 to 10000"),
    ],
)
def test_a_slip_is_answered_with_one_line_and_a_hint(
    words: list[str], message: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main.run(words)
    said = capsys.readouterr()
    assert said.err == f"error: {message}\nhint: {hint}\n"
    assert (code, said.out) == (1, "")


@pytest.mark.parametrize("verb", ["pause", "resume", "abort"])
def test_usage_says_what_may_be_named(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([verb, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: shiplift {verb} [OPTIONS] [wm|rollout/NAME]\n")


@pytest.mark.parametrize("words", [("order", "check"), ("local", "up"), ("local", "nodes", "add")])
def test_help_breaks_no_line_and_shows_no_value_of_python(words: tuple[str, ...]) -> None:
    said = shiplift(*words, "--help").stdout
    assert all(line.startswith((" ", "Usage")) or line[:1].isupper() for line in said.splitlines() if line)
    for value in ('[default: ""]', "[default: ()]", "[default: (", "[default: False]"):
        assert value not in said


def test_a_slip_that_is_like_no_command_is_answered_with_all_of_them() -> None:
    first, second = shiplift("local", "xyzzy").stderr.splitlines()
    assert first == 'error: unknown command "xyzzy"'
    assert second.startswith("hint: one of up, status, ")


def test_a_hint_of_the_commands_own_is_kept() -> None:
    asked = shiplift("crds", "--kind", "Pod")
    first, second = asked.stderr.splitlines()
    assert first == "error: invalid value for --kind: there is no kind 'Pod'"
    assert second.startswith("hint: one of UpgradeConfig, ")


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize(
    ("word", "code", "said"),
    [
        ("hinted", 1, "error: the disk is full\nhint: buy a bigger one\n"),
        ("unreachable", 1, "error: no answer from the server\nhint: is it there?\n"),
        ("late", 124, "error: waited 1 s for the sun\nhint: wait longer\n"),
        ("interrupted", 130, "interrupted\n"),
        (
            "unexpected",
            2,
            "error: unexpected KeyError: 'nobody thought of it'\n"
            "hint: SHIPLIFT_DEBUG=1 tells where it happened\n",
        ),
    ],
)
def test_each_kind_of_failure_has_its_exit_code(
    word: str, code: int, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SHIPLIFT_DEBUG", raising=False)
    assert main.run(["broken", word]) == code
    assert capsys.readouterr() == ("", said)


@pytest.mark.usefixtures("broken")
def test_a_command_may_choose_its_exit_code() -> None:
    with pytest.raises(SystemExit, match="7"):
        main.run(["broken", "chosen"])


@pytest.mark.usefixtures("broken")
def test_the_whole_story_is_told_on_request(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHIPLIFT_DEBUG", "1")
    assert main.run(["broken", "unexpected"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    """As in `shiplift crds | head -1`."""
    said = tmp_path / "stderr"
    with said.open("w") as stderr:
        command = subprocess.Popen([*SHIPLIFT, "crds"], stdout=subprocess.PIPE, stderr=stderr)
        assert command.stdout
        command.stdout.close()
        assert command.wait(60) == output.Exit.NO_READER
    assert said.read_text() == ""
