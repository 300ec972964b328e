"""What the controller and the agent of a node say to each other, in annotations of the Node.

The controller writes which versions it wants and an order that carries a token. The agent writes which
versions there are, that it has claimed the order, and what came of it. The token names the rollout, the node
by its uid, the operation and the attempt: an order left over from another attempt, another rollout or another
machine of the same name allows nothing. Once an agent has claimed an order, the controller cannot withdraw
it: the agent finishes or reverts. No clock of one side is ever compared with one of the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, cast

PROTOCOL = 1
"""Which protocol this is. A side that does not know the number of the other does nothing, and says so."""

_DESIRED = ".shiplift.dev/desired-version"
CURRENT_VERSION = ".shiplift.dev/current-version"
"""How the keys of current versions end, which are the agent's; before it stands the software."""
CHANGES_ALLOWED = "node.shiplift.dev/changes-allowed"
"""The controller's: the order."""
READY = "node.shiplift.dev/ready"
"""The agent's: `false TOKEN` from the claim on, `true TOKEN` when it is through with that order."""
OUTCOME = "node.shiplift.dev/outcome"
"""The agent's: what came of the last order."""
AGENT = "node.shiplift.dev/agent"
"""The agent's: its protocol, its version, what it waits for, and a count that goes on while it runs."""

AGENT_KEYS = (READY, OUTCOME, AGENT)
"""What an agent writes, besides current versions; nothing else is believed from a node."""
LONGEST = 2048
"""Characters of any value that is read here; a longer one is not looked at."""
LONGEST_MESSAGE = 512

_SOFTWARE = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")
_UID = re.compile(r"[0-9A-Za-z-]{1,40}")
_TOKEN_TEXT = re.compile(r"[0-9A-Za-z.-]{1,128}")


class ProtocolError(ValueError):
    """What stands in an annotation is not what it should be; names the annotation."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(f"annotation {key}: {why}")
        self.key, self.why = key, why


def desired_key(software: str) -> str:
    """The controller's: the version that a node should have of that software."""
    return software + _DESIRED


def current_key(software: str) -> str:
    """The agent's: the version that a node has of that software, as seen a moment ago."""
    return software + CURRENT_VERSION


def desired_versions(annotations: Mapping[str, str]) -> dict[str, str]:
    return _versions(annotations, _DESIRED)


def current_versions(annotations: Mapping[str, str]) -> dict[str, str]:
    return _versions(annotations, CURRENT_VERSION)


def fits(desired: str, current: str) -> bool:
    """Whether a version is the one that is wanted. `1.36.3` wants any package of that version, whatever its
    revision, as in `1.36.3-1.1`; a version that names its revision wants just that one."""
    return current == desired or current.startswith(f"{desired}-")


def _versions(annotations: Mapping[str, str], suffix: str) -> dict[str, str]:
    found = {key.removesuffix(suffix): value for key, value in annotations.items() if key.endswith(suffix)}
    return {name: found[name] for name in sorted(found) if _SOFTWARE.fullmatch(name)}


class Operation(Enum):
    """What an order asks for."""

    PREPARE = "Prepare"
    """See that the desired packages can be had, and pull the images of the version: changes nothing."""
    SNAPSHOT = "Snapshot"
    """Copy etcd's data to a file on the machine."""
    UPGRADE_APPLY = "UpgradeApply"
    """Install the desired kubeadm, then `kubeadm upgrade apply VERSION`: the first control plane."""
    UPGRADE_NODE = "UpgradeNode"
    """Install the desired kubeadm, then `kubeadm upgrade node`: the other control planes."""
    PACKAGES = "Packages"
    """Bring all desired packages to their versions, and restart the machine where the order says so. On a
    worker of a cluster that kubeadm has made, a newer kubeadm then runs `kubeadm upgrade node` first."""

    @property
    def wants_cordon(self) -> bool:
        """Whether pods of the node may be disturbed: the agent then acts only while it is cordoned."""
        return self is Operation.PACKAGES

    @property
    def changes_nothing(self) -> bool:
        """Whether the machine is afterwards as it was before."""
        return self in {Operation.PREPARE, Operation.SNAPSHOT}

    @property
    def names_version(self) -> bool:
        """Whether it is about a version of Kubernetes, besides packages."""
        return self in {Operation.PREPARE, Operation.UPGRADE_APPLY}


class Reboot(Enum):
    """When the machine is restarted after its packages were changed."""

    IF_REQUIRED = "IfRequired"
    ALWAYS = "Always"


@dataclass(frozen=True)
class Token:
    """Allows one attempt at one operation on one node for one rollout, and nothing else."""

    rollout: str
    node: str
    operation: Operation
    attempt: int

    def __str__(self) -> str:
        return f"{self.operation.value}.{self.attempt}.{self.rollout}.{self.node}"

    @classmethod
    def parsed(cls, text: str, key: str = CHANGES_ALLOWED) -> Token:
        """A token as `str` writes it; `key` says where it was found."""
        parts = text.split(".")
        if len(parts) != 4 or not parts[1].isdecimal() or len(parts[1]) > 4:
            raise ProtocolError(key, f"{_short(text)} is no token")
        if not all(map(_UID.fullmatch, parts[2:])):
            raise ProtocolError(key, f"{_short(text)} names no rollout or no node")
        try:
            operation = Operation(parts[0])
        except ValueError:
            raise ProtocolError(key, f"{_short(parts[0])} is no operation that is known here") from None
        return cls(parts[2], parts[3], operation, int(parts[1]))


@dataclass(frozen=True)
class Order:
    """What the controller asks of an agent; the versions that it wants stand in annotations of their own."""

    token: Token
    version: str = ""
    """The version of Kubernetes, where the operation is about one."""
    reboot: Reboot = Reboot.IF_REQUIRED
    back: bool = False
    """The desired versions are those from before: packages may become older."""

    def written(self) -> str:
        body: dict[str, Any] = {"protocol": PROTOCOL, "token": str(self.token)}
        if self.version:
            body["version"] = self.version
        if self.reboot is not Reboot.IF_REQUIRED:
            body["reboot"] = self.reboot.value
        if self.back:
            body["back"] = True
        return _json(body)


def order_of(annotations: Mapping[str, str]) -> Order | None:
    """The order on a node; None where there is none."""
    if (body := _read(annotations, CHANGES_ALLOWED)) is None:
        return None
    if "protocol" not in body:
        raise ProtocolError(CHANGES_ALLOWED, f"it names no protocol, and {PROTOCOL} is the one known here")
    try:
        reboot = Reboot(body.get("reboot", Reboot.IF_REQUIRED.value))
    except ValueError:
        raise ProtocolError(CHANGES_ALLOWED, f"reboot {_short(body['reboot'])} is not known here") from None
    return Order(
        Token.parsed(_text(body, "token", CHANGES_ALLOWED)),
        _text(body, "version", CHANGES_ALLOWED, ""),
        reboot,
        body.get("back") is True,
    )


def token_text(annotations: Mapping[str, str]) -> str:
    """The token of an order that cannot be read otherwise, to answer by; `unreadable` where it has none."""
    try:
        token = str((_parsed(annotations, CHANGES_ALLOWED) or {}).get("token", ""))
    except ProtocolError:
        token = ""
    return token if _TOKEN_TEXT.fullmatch(token) else "unreadable"


class Result(Enum):
    """What came of an order."""

    DONE = "Done"
    FAILED = "Failed"
    """It could not be carried out; the machine may be half-way."""
    REFUSED = "Refused"
    """It was never begun: the agent cannot do that, and says why."""


@dataclass(frozen=True)
class Outcome:
    """What an agent says of an order that it is through with."""

    token: str
    result: Result
    message: str = ""
    path: str = ""
    """Where the copy of etcd's data is."""

    def written(self) -> str:
        body = {"token": self.token, "result": self.result.value, "message": self.message[:LONGEST_MESSAGE]}
        return _json(body | ({"path": self.path} if self.path else {}))


def outcome_of(annotations: Mapping[str, str]) -> Outcome | None:
    """What the agent says of the last order; None where it says nothing."""
    if (body := _read(annotations, OUTCOME)) is None:
        return None
    try:
        result = Result(body.get("result"))
    except ValueError:
        raise ProtocolError(OUTCOME, f"result {_short(body.get('result'))} is not known here") from None
    token, message = _text(body, "token", OUTCOME), _text(body, "message", OUTCOME, "")
    return Outcome(token, result, message[:LONGEST_MESSAGE], _text(body, "path", OUTCOME, ""))


@dataclass(frozen=True)
class Readiness:
    """Whether an agent is through with an order; `ready` is false from the claim on."""

    ready: bool
    token: str

    def written(self) -> str:
        return f"{'true' if self.ready else 'false'} {self.token}"


def readiness_of(annotations: Mapping[str, str]) -> Readiness | None:
    """What the agent says; None where it says nothing, which is unknown and not "nothing to do"."""
    text = annotations.get(READY, "")
    if not text:
        return None
    word, _, token = text[:LONGEST].partition(" ")
    if word not in {"true", "false"} or not token:
        raise ProtocolError(READY, f"{_short(text)} is neither `true TOKEN` nor `false TOKEN`")
    return Readiness(word == "true", token)


@dataclass(frozen=True)
class Agent:
    """Who answers on a node."""

    version: str
    heartbeat: int
    protocol: int = PROTOCOL
    says: str = ""
    """What it waits for, where it does less than was ordered."""

    def written(self) -> str:
        body = {"protocol": self.protocol, "version": self.version, "heartbeat": self.heartbeat}
        return _json(body | ({"says": self.says[:LONGEST_MESSAGE]} if self.says else {}))


def agent_of(annotations: Mapping[str, str]) -> Agent | None:
    """Who answers on a node, whatever protocol it speaks; None where nobody has yet."""
    if (body := _parsed(annotations, AGENT)) is None:
        return None
    heartbeat, protocol = body.get("heartbeat"), body.get("protocol")
    if not isinstance(heartbeat, int) or not isinstance(protocol, int):
        raise ProtocolError(AGENT, "heartbeat and protocol have to be whole numbers")
    says = _text(body, "says", AGENT, "")[:LONGEST_MESSAGE]
    return Agent(_text(body, "version", AGENT, ""), heartbeat, protocol, says)


def _read(annotations: Mapping[str, str], key: str) -> dict[str, Any] | None:
    """What stands there in this protocol."""
    body = _parsed(annotations, key)
    if body is not None and body.get("protocol", PROTOCOL) != PROTOCOL:
        raise ProtocolError(key, f"protocol {_short(body['protocol'])} is not {PROTOCOL}")
    return body


def _parsed(annotations: Mapping[str, str], key: str) -> dict[str, Any] | None:
    text = annotations.get(key, "")
    if not text:
        return None
    if len(text) > LONGEST:
        raise ProtocolError(key, f"{len(text)} characters are more than {LONGEST}")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise ProtocolError(key, f"{_short(text)} is no JSON") from None
    if not isinstance(body, dict):
        raise ProtocolError(key, f"{_short(text)} is no JSON object")
    return cast("dict[str, Any]", body)


def _text(body: Mapping[str, Any], name: str, key: str, default: str | None = None) -> str:
    value = body.get(name, default)
    if not isinstance(value, str):
        raise ProtocolError(key, f"{name} has to be a text")
    return _storable(value)


def _storable(text: str) -> str:
    """Halves of characters, which JSON can spell and nothing else can store, are written as `?`."""
    return text.encode(errors="replace").decode()


def _json(body: Mapping[str, Any]) -> str:
    return json.dumps(body, sort_keys=True, separators=(",", ":"))


def _short(value: object) -> str:
    return repr(_storable(str(value)[:64]))
