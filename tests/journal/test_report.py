"""The report, as people and as programs read it."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from shiplift.journal.face.report import listing, markdown
from shiplift.journal.face.report_data import report_data
from shiplift.journal.model import (
    Chapter,
    Entry,
    Exempt,
    Gap,
    Journal,
    Least,
    NodeStory,
    Wait,
    WorkloadStory,
)
from tests.journal.desk import START
from tests.model.world import NEW, OLD


def full() -> Chapter:
    later = START + timedelta(seconds=95)
    return Chapter(
        about="UpgradeConfig cluster",
        target=NEW,
        preceding=OLD,
        start=START,
        end=later,
        outcome="Upgraded",
        entries=(Entry(at=START, text="the turn of whoever adds nodes"),),
        waits=(Wait(start=START, end=later, reason="Paused", cause="paused", about="the upgrade"),),
        nodes=(NodeStory(name="a", was=OLD, runs=NEW, entries=(Entry(at=START, text="cordoned"),)),),
        workloads=(
            WorkloadStory(
                name="Deployment shop/web",
                least=Least(ready=3, of=4, at=later),
                moves=4,
                waits=(Wait(start=START, end=later, reason="Held", cause="a|b\n\x1b[31mred"),),
            ),
        ),
        exceptions=(Exempt(pod="shop/web-1", workload="Deployment shop/web", reason="NodeGone", at=later),),
        gaps=(Gap(start=START, end=later),),
        left_out={"nodes": 3},
    )


def test_a_report_has_all_of_it() -> None:
    told = markdown(full())
    assert told.startswith(f"# Upgrade from {OLD} to {NEW}\n")
    for line in (
        "- ended 2026-11-01 12:01:35 UTC, after 1 min 35 s: Upgraded",
        "- nodes: 1 changed, 0 joined, 0 left",
        "| a | v1.35.4 | v1.36.3 | 12:00:00 cordoned |",
        "| Deployment shop/web | 4 | 3 of 4 at 12:01:35 | 1 min 35 s | - |",
        "| the upgrade | 12:00:00 | 1 min 35 s | Paused | paused |",
        "| 12:01:35 | shop/web-1 | Deployment shop/web | NodeGone |",
        "- nobody watched from 12:00:00 to 12:01:35, for 1 min 35 s",
        "- there was no room for 3 nodes",
    ):
        assert line in told.splitlines(), told


def test_what_others_wrote_ends_no_cell_and_does_nothing_to_a_terminal() -> None:
    told = markdown(full())
    assert "\x1b" not in told
    assert "a\\|b  [31mred" in told


def test_a_report_of_what_was_seen_whole_says_that_too() -> None:
    whole = Chapter(about="NodeRollout r", target=NEW, start=START, end=START, outcome="Complete")
    assert markdown(whole).endswith(
        "Nothing: somebody watched from the start to the end, and there was room for it.\n"
    )


def test_a_report_of_what_runs_says_that_it_is_not_over() -> None:
    runs = msgspec.structs.replace(full(), end=None, outcome="")
    assert "- it runs\n" in markdown(runs)
    assert "- it runs: what comes is not in here\n" in markdown(runs)


def test_programs_find_every_field_and_what_was_not_seen() -> None:
    told = report_data(full(), Journal(damaged=True))
    assert {
        "about",
        "target",
        "preceding",
        "start",
        "end",
        "outcome",
        "entries",
        "waits",
        "nodes",
    } <= told.keys()
    assert told["workloads"][0]["least"] == {"ready": 3, "of": 4, "at": "2026-11-01T12:01:35Z"}
    assert told["notSeen"][-1] == "the journal from before could not be read, and was begun anew"
    assert report_data(Chapter(about="x", target="y", start=START))["workloads"] == []


def test_all_that_there_is_is_listed() -> None:
    told = listing(Journal(chapters=(full(), msgspec.structs.replace(full(), end=None, outcome=""))))
    assert "| 1 | Upgrade from v1.35.4 to v1.36.3 | 2026-11-01 12:00:00 UTC | 1 min 35 s | Upgraded |" in told
    assert "| 2 | Upgrade from v1.35.4 to v1.36.3 | 2026-11-01 12:00:00 UTC | - | runs |" in told
