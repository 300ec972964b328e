"""Credentials for registries, out of pull secrets; shown nowhere."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping

import msgspec

from shiplift.kube.secrets import Hidden
from shiplift.quorum.images.errors import NotAllowed

_SCHEMES = ("https://", "http://")
_HUBS_OLD_NAME = "index.docker.io"


class PullSecrets(msgspec.Struct, frozen=True):
    """What pods show to registries, and why some of it cannot be had."""

    by_host: Mapping[str, Hidden]
    troubles: tuple[str, ...] = ()


class _Auth(msgspec.Struct):
    auth: str = ""
    username: str = ""
    password: str = ""


class _Config(msgspec.Struct):
    auths: dict[str, _Auth] = {}


def read(config: Hidden) -> dict[str, Hidden]:
    """By host: `user:password`, out of one `.dockerconfigjson`."""
    try:
        return _pairs(msgspec.json.decode(config.reveal(), type=_Config).auths)
    except msgspec.DecodeError:
        raise NotAllowed("a pull secret holds no .dockerconfigjson that can be read") from None


def read_old(config: Hidden) -> dict[str, Hidden]:
    """By host, out of one `.dockercfg`, which is the inner part alone."""
    try:
        return _pairs(msgspec.json.decode(config.reveal(), type=dict[str, _Auth]))
    except msgspec.DecodeError:
        raise NotAllowed("a pull secret holds no .dockercfg that can be read") from None


FORMS = ((".dockerconfigjson", read), (".dockercfg", read_old))
"""Keys of pull secrets, and how each is read."""


def _pairs(auths: Mapping[str, _Auth]) -> dict[str, Hidden]:
    return {_host(name): Hidden(_pair(name, auth)) for name, auth in auths.items()}


def merged(secrets: Iterable[Mapping[str, Hidden]]) -> dict[str, Hidden]:
    """Of all pull secrets; the first that has a host counts, as for a kubelet."""
    found: dict[str, Hidden] = {}
    for one in secrets:
        found = {**one, **found}
    return found


def header(credentials: Mapping[str, Hidden], host: str) -> str | None:
    """The value of `Authorization` for a host."""
    pair = credentials.get(host)
    return None if pair is None else f"Basic {base64.b64encode(pair.reveal()).decode()}"


def _pair(name: str, auth: _Auth) -> bytes:
    if auth.username:
        return f"{auth.username}:{auth.password}".encode()
    try:
        return base64.b64decode(auth.auth, validate=True)
    except (binascii.Error, ValueError):
        raise NotAllowed(f"a pull secret has credentials for {name[:200]} that cannot be read") from None


def _host(name: str) -> str:
    for scheme in _SCHEMES:
        name = name.removeprefix(scheme)
    host = name.partition("/")[0]
    return "docker.io" if host == _HUBS_OLD_NAME else host
