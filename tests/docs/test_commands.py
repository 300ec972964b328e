"""Every command of ours that a page names is there, and so is each of its options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from cyclopts import App

from shiplift.cli.main import COMMANDS, load
from tests.docs.clone import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCED = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`]+)`")
OURS = re.compile(r"(?:^|[|;&(]|\$ |\.venv/bin/)\s*shiplift((?: +[^\s|;&)]+)*)", re.MULTILINE)
OPTION = re.compile(r"--?[a-z][a-z-]*")
OF_OTHERS = frozenset(
    {
        *("--logs", "--reset-then-reuse-values", "--set", "--take-ownership"),  # helm
        *("--force", "--server-side"),  # kubectl
        *("--enable-grpc-gateway", "--platform"),  # etcd, podman
        *("--first", "--full", "--minutes", "--no-minor", "--only"),  # what is run by python -m
    }
)
"""Options that a page tells of without their command."""


def commands(text: str) -> Iterator[list[str]]:
    """The words after `shiplift`, wherever a page shows a command in a block or in a line."""
    blocks = [block.replace("\\\n", " ") for block in FENCED.findall(text)]
    spans = [" ".join(span.split()) for span in SPAN.findall(FENCED.sub("", text))]
    for shown in (*blocks, *spans):
        for line in shown.splitlines():
            for found in OURS.finditer(line.partition(" #")[0]):
                if words := [word.strip("[]") for word in found[1].split()]:
                    yield words


def options(app: App) -> set[str]:
    if app.default_command is None:
        return set()
    found = app.assemble_argument_collection()
    return {name for one in found for name in one.names if name.startswith("-")} | {"--help"}


def complaint(words: list[str]) -> str:
    """What of a command there is not; nothing where all of it is there."""
    app = next((load(one) for one in COMMANDS if one.name == words[0]), None)
    if app is None:
        return f"there is no command {words[0]}"
    rest = words[1:]
    while rest and rest[0] in app:
        app, rest = app[rest[0]], rest[1:]
    if app.default_command is None and rest and not rest[0].startswith("-"):
        return f"there is no command {rest[0]}"
    if words[:2] == ["local", "ssh"]:
        rest = [word for word in rest if word in options(app)]  # what follows is of the command over there
    named = [found[0] for word in rest if (found := OPTION.match(word))]
    wrong = [name for name in named if name not in options(app)]
    return f"there is no option {wrong[0]}" if wrong else ""


def every_option(app: App) -> set[str]:
    below = [every_option(app[name]) for name in app if not name.startswith("-")]
    return options(app).union(*below)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_that_a_page_names_is_there(page: Path) -> None:
    found = [(" ".join(words), complaint(words)) for words in commands(page.read_text())]
    assert [one for one in found if one[1]] == []


def test_every_option_that_a_page_names_alone_is_of_some_command() -> None:
    known = OF_OTHERS.union(*(every_option(load(one)) for one in COMMANDS))
    spans = [
        (page.name, found[0])
        for page in PAGES
        for span in SPAN.findall(FENCED.sub("", page.read_text()))
        if span.startswith("--") and (found := OPTION.match(span))
    ]
    assert [one for one in spans if one[1] not in known] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("`shiplift undo`", [["undo"]]),
        ("`shiplift\nundo` and `kubectl get pods`", [["undo"]]),
        ("```sh\nshiplift crds | kubectl apply -f -\n```\n", [["crds"]]),
        (
            "```sh\nshiplift manifests --in-cluster \\\n  --image a  # b\n```\n",
            [["manifests", "--in-cluster", "--image", "a"]],
        ),
        ("```console\n$ shiplift wait --quiet; shiplift status\n```\n", [["wait", "--quiet"], ["status"]]),
        ('```console\n$ eval "$(shiplift local env)"\n```\n', [["local", "env"]]),
        ("`.venv/bin/shiplift demo --nodes`", [["demo", "--nodes"]]),
        ("`shiplift drain NODE [--dry-run]`", [["drain", "NODE", "--dry-run"]]),
        ("`helm install shiplift charts/shiplift` and `shiplift-config`", []),
    ],
)
def test_commands_are_found(text: str, found: list[list[str]]) -> None:
    assert list(commands(text)) == found


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["undo", "--yes"], ""),
        (["local", "nodes", "add", "2", "--pool", "arm"], ""),
        (["local"], ""),
        (["local", "grow"], "there is no command grow"),
        (["undone"], "there is no command undone"),
        (["undo", "--force"], "there is no option --force"),
        (["operator", "--tls-folder=/tls"], ""),
        (["status", "-w"], ""),
        (["status", "-x"], "there is no option -x"),
    ],
)
def test_what_is_not_there_is_named(words: list[str], wrong: str) -> None:
    assert complaint(words) == wrong
