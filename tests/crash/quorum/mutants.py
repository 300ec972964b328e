"""Bugs of the layer, put into a copy of it on purpose; the walk through every state, and what real servers
answered, have to catch each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.crash.mutants import Mutant, mutated

CATCHING = (
    "tests/quorum/decide",
    "tests/quorum/tell",
    "tests/quorum/test_judging.py",
    "tests/quorum/test_observe.py",
    "tests/quorum/test_fights.py",
    "tests/quorum/test_many_hands.py",
    "tests/quorum/minio/test_answers.py",
)
"""What has to fail."""


def _mutant(name: str, breaks: str, file: str, old: str, new: str) -> Mutant:
    return Mutant(name, breaks, f"quorum/{file}", old, new, ())


ALL: tuple[Mutant, ...] = (
    _mutant(
        "a switch before all have staged",
        "nothing is switched before every server has the binary",
        "decide/course.py",
        "    if scene.is_switching or {member.uid for member in scene.old} <= view.staged:",
        "    if scene.is_switching or {member.uid for member in scene.old} & view.staged:",
    ),
    _mutant(
        "staging beside a switch",
        "of calls to servers one at a time is made: two garble each other's file",
        "decide/course.py",
        "    if scene.is_switching or {member.uid for member in scene.old} <= view.staged:",
        "    if {member.uid for member in scene.old} <= view.staged:",
    ),
    _mutant(
        "put back while a switch is under way",
        "nobody is about to run the new version when all is put back",
        "decide/course.py",
        "    return bool(runs) or recorded or scene.is_switching\n",
        "    return bool(runs) or recorded\n",
    ),
    _mutant(
        "a call through a new server",
        "a new server says of everybody that they are new",
        "decide/course.py",
        "    return scene.old[(attempt - 1) % len(scene.old)]",
        "    return (scene.new or scene.old)[0]",
    ),
    _mutant(
        "put back though somebody is switched",
        "a swap that switched somebody only goes forward",
        "decide/course.py",
        "    return bool(runs) or recorded or scene.is_switching\n",
        "    return recorded or scene.is_switching\n",
    ),
    _mutant(
        "put back in the middle of a switch",
        "nobody is about to run the new version when all is put back",
        "decide/course.py",
        "    return bool(runs) or recorded or scene.is_switching\n",
        "    return bool(runs)\n",
    ),
    _mutant(
        "the switch of another leader is forgotten",
        "nobody is about to run the new version when all is put back",
        "decide/course.py",
        "requeue(_SOON)) if may else _put_back(scene, now)",
        "requeue(_SOON)) if False else _put_back(scene, now)",
    ),
    _mutant(
        "the hold is lifted while old servers are left",
        "pods are held until all are new",
        "decide/course.py",
        "    return _onward(scene, swap, now) if scene.old else _all_new(scene, now)",
        "    return _onward(scene, swap, now) if scene.old and not scene.new else _all_new(scene, now)",
    ),
    _mutant(
        "all pods at once in step 5",
        "of pods one at a time goes",
        "decide/course.py",
        '(_delete(last, "to be made anew from the new image"),)',
        'tuple(_delete(one, "to be made anew") for one in scene.not_made_anew)',
    ),
    _mutant(
        "a pod goes though the service would not be well",
        "a pod goes only while the service says that it may",
        "decide/course.py",
        "    if not last.may_stop.certain:",
        "    if last.may_stop is Truth.FALSE:",
    ),
    _mutant(
        "a canary that was not heard counts",
        "unknown lets nothing through",
        "decide/gates.py",
        "if not member.sings.certain)",
        "if member.sings is Truth.FALSE)",
    ),
    _mutant(
        "a container that restarted is left alone after the switch",
        "no server is left blocked",
        "decide/course.py",
        "    if blocked := _blocked(scene):",
        "    if (blocked := _blocked(scene)) and not scene.old:",
    ),
    _mutant(
        "a container that restarted before the switch is replaced",
        "before the switch it is left alone",
        "decide/course.py",
        "if scene.new and member.image != scene.image)",
        "if member.image != scene.image)",
    ),
    _mutant(
        "an old server that is old again is not held",
        "whoever drains does not come in between",
        "decide/course.py",
        "    if scene.unmarked or scene.altered or (scene.old and scene.not_held):",
        "    if scene.unmarked or scene.altered:",
    ),
    _mutant(
        "the end before every pod is made anew",
        "a container that restarts later would bring the old binary back",
        "decide/course.py",
        "    return _one_by_one(scene) if scene.not_made_anew else _finish(scene, now)",
        "    return _finish(scene, now)",
    ),
    _mutant(
        "staged where a host was not told of",
        "every server that was meant has to answer",
        "judging.py",
        "    left = [(server, _of(server, hosts)[0]) for server in servers]\n",
        "    left = [(server, _of(server, hosts)[0]) for server in servers[:-1]]\n",
    ),
    _mutant(
        "at its target by the word of another",
        "a version counts only from a server's own word",
        "judging.py",
        "    return host.verdict is Verdict.DONE or server.name in at_target",
        "    return host.verdict in (Verdict.DONE, Verdict.AT_TARGET) or server.name in at_target",
    ),
    _mutant(
        "a garbled file is given up at once",
        "real servers garble good files: it is tried again",
        "engines/minio/answers.py",
        '    ("wrong checksum", Verdict.GARBLED),',
        '    ("wrong checksum", Verdict.FAILED),',
    ),
    _mutant(
        "the token is told",
        "tokens are in nothing that is shown",
        "engines/minio/answers.py",
        'return _TOKEN.sub(r"\\1…", " ".join(text.split()))[:MOST_MESSAGE]',
        'return " ".join(text.split())[:MOST_MESSAGE]',
    ),
    _mutant(
        "what another server says of a version is believed",
        "versions are of a server's own entry",
        "engines/minio/answers.py",
        "own = [entry for entry in entries if server.owns(entry.endpoint)]",
        "own = entries[:1]",
    ),
    _mutant(
        "marks go before the status lets go",
        "what a status still has was not ended by us",
        "decide/course.py",
        "    decision = _act(where, line, () if scene.recorded else steps)",
        "    decision = _act(where, line, steps)",
    ),
    _mutant(
        "what a status has of a StatefulSet is not believed",
        "what a StatefulSet was before its swap outlives who leads",
        "observe/gathering.py",
        "known(service.name, live, service.swapping, memory.records)",
        "known(service.name, live, memory.records)",
    ),
    _mutant(
        "a hold that is taken off is put back without a pause",
        "what others undo is done again ever more slowly",
        "steps.py",
        "        return f\"swap of statefulset/{self.pool}{' hold' if self.only_holds else ''}\"",
        '        return "" if self.only_holds else f"swap of statefulset/{self.pool}"',
    ),
    _mutant(
        "a swap without a finalizer",
        "a service that is deleted leaves nothing of ours",
        "decide/course.py",
        "    if not scene.view.kept:\n        line",
        "    if not scene.view.uid:\n        line",
    ),
)


def caught(mutant: Mutant, folder: Path) -> str:
    """The first test that fails; empty where none does."""
    code = mutated(mutant, folder)
    path = code / mutant.package / mutant.file
    text = path.read_text()
    if "Truth." in mutant.new and "import Truth" not in text:
        first = "from shiplift.quorum.decide"
        path.write_text(text.replace(first, f"from shiplift.engine.probes import Truth\n{first}", 1))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "--no-clusters", "-p", "no:cacheprovider", *CATCHING],
        env={**os.environ, "PYTHONPATH": str(code)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return (lines[0] if lines else "failed") if done.returncode == 1 else ""
