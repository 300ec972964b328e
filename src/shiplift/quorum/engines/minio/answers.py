"""What MinIO's answers mean, and none of its words for a token.

Versions are taken from a server's own entry alone: what it says of others is what it believes them to run,
and it says its own version of servers that it cannot reach.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from shiplift.quorum.engines.protocol import (
    Answered,
    HostAnswer,
    Lost,
    Refused,
    Reply,
    Server,
    Silent,
    Told,
    Verdict,
    Why,
)

MOST_MESSAGE = 400
_TOKEN = re.compile(r"(token(?:=|%3D))[^&\s\"'<>\\]+", re.IGNORECASE)
_CODE = re.compile(rb"<Code>([A-Za-z]{1,80})</Code>")
_TOLD_SETTINGS = ("MINIO_UPDATE",)
_ONLINE = "online"

_VERDICTS = (
    ("server is running the latest version", Verdict.AT_TARGET),
    ("wrong checksum", Verdict.GARBLED),
    ("magic number mismatch", Verdict.GARBLED),
    ("signature loading failed", Verdict.NOT_FETCHED),
    ("peer is not reachable", Verdict.UNREACHABLE),
    ("update already in progress", Verdict.BUSY),
    (".check-perm", Verdict.READ_ONLY),
    ("signature verification failed", Verdict.NOT_TRUSTED),
)
"""By what is in the error of a host; the first that is counts."""

_CODES = {
    "MethodNotAllowed": Why.SWITCHED_OFF,
    "XMinioServerNotInitialized": Why.STARTING,
    "XMinioAdminUpdateURLNotReachable": Why.NO_ARTIFACT,
    "XMinioAdminUpdateUnexpectedFailure": Why.NO_ARTIFACT,
    "AccessDenied": Why.DENIED,
    "InvalidAccessKeyId": Why.DENIED,
    "SignatureDoesNotMatch": Why.DENIED,
    "XMinioAccessKeyDisabled": Why.DENIED,
}


class _Entry(msgspec.Struct):
    endpoint: str = ""
    state: str = ""
    version: str = ""
    go_max_procs: int = 0
    minio_env_vars: dict[str, Any] | None = None


class _Info(msgspec.Struct):
    servers: list[_Entry] | None = None


class _Host(msgspec.Struct):
    host: str
    err: str = ""
    waiting_drives: dict[str, Any] | None = msgspec.field(default=None, name="waitingDrives")


class _Update(msgspec.Struct):
    results: list[_Host] | None = None


class _Error(msgspec.Struct, rename="pascal"):
    code: str = ""
    message: str = ""


def redacted(text: str) -> str:
    """Without tokens, in one line, cut."""
    return _TOKEN.sub(r"\1…", " ".join(text.split()))[:MOST_MESSAGE]


def told(body: bytes, server: Server) -> Told | Silent:
    """From the body of `/info`."""
    try:
        entries = msgspec.json.decode(body, type=_Info).servers or []
    except msgspec.DecodeError as error:
        return Silent(f"its answer cannot be read: {redacted(str(error))}")
    own = [entry for entry in entries if server.owns(entry.endpoint)]
    if len(own) != 1:
        named = ", ".join(sorted(entry.endpoint for entry in entries)) or "nobody"
        why = f"it does not name itself {server.host}:{server.port} once; it names {named}"
        return Silent(redacted(why), misnamed=bool(entries) and not own)
    return _told_of(own[0], tuple(sorted(entry.endpoint for entry in entries)))


def _told_of(entry: _Entry, endpoints: tuple[str, ...]) -> Told:
    given = entry.minio_env_vars or {}
    settings = tuple((name, str(given[name])[:64]) for name in _TOLD_SETTINGS if name in given)
    return Told(entry.version, entry.state == _ONLINE, entry.go_max_procs, endpoints, settings)


def updated(status: int, body: bytes) -> Reply:
    """From the answer to `/update`, a dry run or not."""
    if status != 200:
        found = refusal(status, body)
        # a server that fell over may have done so in the middle; all else it finds out before it begins
        return Lost(found.message) if status >= 500 and found.why is Why.FAILED else found
    try:
        hosts = msgspec.json.decode(body, type=_Update).results
    except msgspec.DecodeError as error:
        return Lost(f"its answer cannot be read: {redacted(str(error))}")
    return Answered(tuple(sorted(map(_host, hosts or ()), key=lambda host: host.endpoint)))


def _host(found: _Host) -> HostAnswer:
    if not found.err and found.waiting_drives:
        return HostAnswer(found.host, Verdict.HUNG, redacted(f"it waits for {_named(found.waiting_drives)}"))
    if not found.err:
        return HostAnswer(found.host, Verdict.DONE)
    verdicts = (verdict for words, verdict in _VERDICTS if words in found.err)
    return HostAnswer(found.host, next(verdicts, Verdict.FAILED), redacted(found.err))


def _named(drives: dict[str, Any]) -> str:
    return ", ".join(sorted(drives)[:8])


def refusal(status: int, body: bytes) -> Refused:
    """From an answer that is an error, which is JSON or XML."""
    error = _error(body)
    if status == 503 and error.code not in _CODES:
        return Refused(Why.STARTING, _worded(status, error))
    return Refused(_CODES.get(error.code, Why.FAILED), _worded(status, error))


def _error(body: bytes) -> _Error:
    if found := _CODE.search(body):
        return _Error(found[1].decode())
    try:
        return msgspec.json.decode(body, type=_Error)
    except msgspec.DecodeError:
        return _Error()


def _worded(status: int, error: _Error) -> str:
    said = ": ".join(part for part in (error.code, error.message) if part)
    return redacted(f"HTTP {status} {said}".strip())
