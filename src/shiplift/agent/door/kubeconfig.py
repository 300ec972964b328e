"""The kubelet's own kubeconfig: where the API server is, whom to trust, and the certificate to show.

kubeadm and the kubelet write this file as YAML, which the standard library does not read. The part of YAML
that they use is read here: blocks of keys and lists, and values on one line. Anything else is refused with
its line, never guessed at.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shiplift.agent.errors import AgentError
from shiplift.agent.machine import disk

_MOST = 1 << 20
_KEY = re.compile(r"([A-Za-z0-9_.-]+):(?:\s+(.*))?$")
_STRANGE = tuple("&*!|>%@`[{")
_EMPTY: dict[str, Any] = {"{}": {}, "[]": [], "null": None, "~": None, "": None}
_DEEPEST = 8
Line = tuple[int, int, str]
"""Its number, how far it is set in, and what it says."""


@dataclass(frozen=True)
class Kubeconfig:
    """What is needed to speak to the API server as this node."""

    host: str
    port: int
    path: str
    server_name: str
    """The name in the server's certificate."""
    authority: str
    """Certificates, in PEM."""
    certificate: Path | bytes
    key: Path | bytes


def load(path: Path) -> Kubeconfig:
    """Raises where it is not there, cannot be read, or asks for what an agent does not do."""
    try:
        content = disk.read(path, _MOST)
    except OSError as error:
        raise AgentError(f"{path}: {error.strerror}") from None
    if content is None:
        raise AgentError(f"{path} is not there")
    try:
        return _kubeconfig(path, parse(content.decode()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise AgentError(f"{path}: {_why(error)}") from None


def _why(error: Exception) -> str:
    return f"there is no {error}" if isinstance(error, KeyError) else str(error) or "it is no kubeconfig"


def _kubeconfig(path: Path, body: Any) -> Kubeconfig:
    context = _named(body["contexts"], body["current-context"])["context"]
    cluster = _named(body["clusters"], context["cluster"])["cluster"]
    user = _named(body["users"], context["user"])["user"]
    server = urlsplit(str(cluster["server"]))
    if server.scheme != "https" or not server.hostname:
        raise ValueError(f"server {cluster['server']!r} is no https address")
    if cluster.get("insecure-skip-tls-verify") == "true" or cluster.get("proxy-url"):
        raise ValueError("insecure-skip-tls-verify and proxy-url are not for agents")
    return Kubeconfig(
        server.hostname,
        server.port or 443,
        server.path.rstrip("/"),
        cluster.get("tls-server-name") or server.hostname,
        _text(_place(path, cluster, "certificate-authority")),
        _place(path, user, "client-certificate"),
        _place(path, user, "client-key"),
    )


def _named(entries: Any, name: str) -> Any:
    found = [entry for entry in entries if entry["name"] == name]
    if not found:
        raise ValueError(f"nothing in it is called {name!r}")
    return found[0]


def _place(path: Path, entry: Any, key: str) -> Path | bytes:
    """What it says, or the file where it says so."""
    if data := entry.get(f"{key}-data"):
        try:
            return base64.b64decode(data, validate=True)
        except binascii.Error:
            raise ValueError(f"{key}-data is no base64") from None
    return path.parent / entry[key]


def _text(place: Path | bytes) -> str:
    content = place if isinstance(place, bytes) else disk.read(place, _MOST)
    if content is None:
        raise ValueError(f"{place} is not there")
    return content.decode()


# --- the part of YAML that is used ---


def parse(text: str) -> Any:
    """Values are texts; empty lists and objects are what they are."""
    if text.lstrip().startswith("{"):
        return json.loads(text)
    lines = [line for number, raw in enumerate(text.splitlines(), 1) for line in _line(number, raw)]
    if not lines:
        raise ValueError("it is empty")
    value, rest = _block(lines, lines[0][1], _DEEPEST)
    if rest:
        raise ValueError(f"line {rest[0][0]} is set in as none before it")
    return value


def _line(number: int, raw: str) -> list[Line]:
    said = raw.strip()
    if not said or said.startswith("#") or said == "---":
        return []
    if "\t" in raw:
        raise ValueError(f"line {number} has a tab")
    return [(number, len(raw) - len(raw.lstrip()), said)]


def _block(lines: list[Line], depth: int, deepest: int) -> tuple[Any, list[Line]]:
    if not deepest:
        raise ValueError(f"line {lines[0][0]} is set in too far")
    read = _list if lines[0][2].startswith("- ") else _object
    return read(lines, depth, deepest - 1)


def _list(lines: list[Line], depth: int, deepest: int) -> tuple[list[Any], list[Line]]:
    items: list[Any] = []
    while lines and lines[0][1] == depth and lines[0][2].startswith("- "):
        number, _, said = lines[0]
        inner = said[2:].lstrip()
        if _KEY.match(inner):
            # the dash stands where the first key of the object would
            lines = [(number, depth + len(said) - len(inner), inner), *lines[1:]]
            item, lines = _block(lines, lines[0][1], deepest)
        else:
            item, lines = _value(number, inner), lines[1:]
        items.append(item)
    return items, lines


def _object(lines: list[Line], depth: int, deepest: int) -> tuple[dict[str, Any], list[Line]]:
    body: dict[str, Any] = {}
    while lines and lines[0][1] == depth and not lines[0][2].startswith("- "):
        number, _, said = lines[0]
        found = _KEY.match(said)
        if found is None or found[1] in body:
            raise ValueError(f"line {number} is no key with a value, or has a key twice")
        lines = lines[1:]
        if not found[2] and lines and _is_inside(lines[0], depth):
            body[found[1]], lines = _block(lines, lines[0][1], deepest)
        else:
            body[found[1]] = _value(number, found[2] or "")
    return body, lines


def _is_inside(line: Line, depth: int) -> bool:
    """A list may stand as far out as its key."""
    return line[1] > depth or (line[1] == depth and line[2].startswith("- "))


def _value(number: int, said: str) -> Any:
    if said in _EMPTY:
        return _EMPTY[said]
    if said.startswith('"'):
        return json.loads(said)
    if said.startswith("'"):
        if len(said) < 2 or not said.endswith("'"):
            raise ValueError(f"line {number} has a text without an end")
        return said[1:-1].replace("''", "'")
    if said.startswith(_STRANGE) or " #" in said or said.startswith(("- ", "? ")):
        raise ValueError(f"line {number} is of a kind that is not known here")
    return said
