"""What there is at the end: each machine by what is on its disks, each node as the API server has it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from shiplift.facts import kinds
from shiplift.kube.client import Client
from tests.crash.machines.machine import Machine
from tests.crash.recorder import Key, State

Json = dict[str, Any]
MACHINE, NODE, SECRET, SAID = "Machine", "Node", "Secret", "Said"
_TOKEN = "bootstrap.kubernetes.io/token"


def state(machines: Sequence[Machine], admin: Client, secrets: Sequence[str], logs: Iterable[str]) -> State:
    found = {
        Key(MACHINE, "", one.name): machine(one.folder, one.name, secrets, one.memory) for one in machines
    }
    found |= {Key(NODE, "", one["metadata"]["name"]): one for one in admin.list(kinds.NODE)}
    for one in admin.list(kinds.SECRET, "kube-system"):
        if one.get("type") == _TOKEN:
            found[Key(SECRET, "kube-system", one["metadata"]["name"])] = one
    said = [log for log in logs if any(secret in log for secret in secrets)]
    return found | {Key(SAID, "", str(number)): {} for number in range(len(said))}


def machine(folder: Path, name: str, secrets: Sequence[str] = (), memory: Path = Path("/nowhere")) -> Json:
    """One by its disks, which no process of it can embellish."""
    own = folder / "lib/shiplift/bootstrap"
    etc = folder / "etc"
    return {
        "metadata": {"name": name, "uid": (etc / "machine-id").read_text().strip()},
        "mark": _json(own / "mark.json"),
        "journal": [_entry(one) for one in sorted((own / "journal").glob("[!.]*"))],
        "packages": _json(folder / "lib/dpkg/packages.json"),
        "kubeadm": sorted(str(one.relative_to(etc)) for one in (etc / "kubernetes").rglob("*")),
        "etcd": (folder / "lib/etcd/member").exists(),
        "unfinished": sorted(str(one.relative_to(own)) for one in own.rglob(".*")),
        "secrets": sorted(_with_secrets((etc, folder / "lib", memory), secrets)),
    }


def _entry(folder: Path) -> Json:
    ended = _json(folder / "exit.json")
    return {
        "id": folder.name,
        "begun": (folder / "begun").exists(),
        "code": ended.get("code"),
        "files": sorted(one.name for one in folder.iterdir() if not one.name.startswith(".")),
    }


def _json(path: Path) -> Json:
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return {}


def _with_secrets(places: Iterable[Path], secrets: Sequence[str]) -> Iterable[str]:
    for place in places:
        for path in (one for one in place.rglob("*") if one.is_file() and not one.is_symlink()):
            content = path.read_bytes()
            if any(secret.encode() in content for secret in secrets):
                yield f"{place.name}/{path.relative_to(place)}"


def of_kind(found: State, kind: str) -> list[Json]:
    return [one for key, one in sorted(found.items()) if key.kind == kind]
