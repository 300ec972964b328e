"""`shiplift report`: what was changed when, what was waited for, and how much of each workload was always
there.

It is told from the journal in the operator's namespace, and needs no operator.
"""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from shiplift.cli import access
from shiplift.cli.access import Context, Kubeconfig
from shiplift.cli.output import CommandError

if TYPE_CHECKING:
    from shiplift.journal.model import Chapter, Journal
    from shiplift.kube.client import Client

app = App(name="report", help="Tell what an upgrade has changed, when, and what it waited for.")


class Form(StrEnum):
    """How a report is written."""

    MARKDOWN = "markdown"
    JSON = "json"


@app.default
def report(
    *,
    number: Annotated[
        int, Parameter(help="Which one: 1 is the newest, 2 the one before. --list shows them.")
    ] = 1,
    shows_list: Annotated[
        bool, Parameter(name="--list", negative="", show_default=False, help="List what there is.")
    ] = False,
    output: Annotated[Form, Parameter(name=["--output", "-o"], help="How it is written.")] = Form.MARKDOWN,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Tell what an upgrade has changed, when, and what it waited for.

    Per node and workload: changes, moves, waits and their causes, exceptions, and the least that was Ready.
    """
    with access.client_of(kubeconfig, context) as client:
        journal = journal_of(client)
    if shows_list:
        from shiplift.journal.face.report import listing

        sys.stdout.write(listing(journal))
        return
    sys.stdout.write(text(_chapter(journal, number), journal, output))


def text(chapter: Chapter, journal: Journal, form: Form) -> str:
    import msgspec

    from shiplift.journal.face.report import markdown
    from shiplift.journal.face.report_data import report_data

    if form is Form.JSON:
        return (
            msgspec.json.format(msgspec.json.encode(report_data(chapter, journal)), indent=2).decode() + "\n"
        )
    return markdown(chapter, journal)


def journal_of(client: Client) -> Journal:
    from shiplift.cli.hearing import Ear
    from shiplift.cli.operator import NAMESPACE
    from shiplift.journal.book import journal_in
    from shiplift.kube.errors import Forbidden

    ear = Ear(client)
    ear.listen()
    space = ear.namespace or NAMESPACE
    try:
        return journal_in(client, space)
    except Forbidden as error:
        raise CommandError(
            f"the journal may not be read: {error}",
            f"it is ConfigMap shiplift-journal in namespace {space}: the role view there is enough",
        ) from error


def _chapter(journal: Journal, number: int) -> Chapter:
    if not journal.chapters:
        raise CommandError(
            "there is nothing to report: nothing was upgraded while an operator with the layer journal ran",
            "shiplift upgrade --to VERSION begins an upgrade",
        )
    if not 1 <= number <= len(journal.chapters):
        raise CommandError(
            f"there is no report {number}: there are {len(journal.chapters)}", "shiplift report --list"
        )
    return journal.chapters[number - 1]
