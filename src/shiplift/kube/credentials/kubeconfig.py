"""Kubeconfig files as kubectl reads them: merged, with paths relative to the file that names them.

The first file to name a cluster, user or context wins with its whole entry; the first current-context wins.
What is read here holds secrets, so nothing here shows its content.
"""

from __future__ import annotations

import base64
import binascii
import itertools
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import msgspec
import yaml

from shiplift.kube.credentials.files import KUBECONFIG_LIMIT, read_capped
from shiplift.kube.errors import CredentialsError

_EXEC_EXTENSION = "client.authentication.k8s.io/exec"
_VALUES_LIMIT = 1_000_000


class _Quiet(msgspec.Struct, frozen=True, rename="kebab"):
    """A value that never shows what it holds."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class Interactive(Enum):
    """May an exec plugin talk to the person at the terminal?"""

    NEVER = "Never"
    IF_AVAILABLE = "IfAvailable"
    ALWAYS = "Always"


class EnvVar(_Quiet, frozen=True):
    name: str
    value: str = ""


class Exec(_Quiet, frozen=True, rename="camel"):
    """A program that hands out credentials."""

    command: str
    api_version: str
    args: list[str] = []
    env: list[EnvVar] = []
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: Interactive | None = None


class Extension(_Quiet, frozen=True):
    name: str = ""
    extension: Any = None


class Cluster(_Quiet, frozen=True):
    """Where the API server is and how it proves itself."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: list[Extension] = []

    @property
    def exec_config(self) -> Any:
        """What the file says to exec plugins about this cluster."""
        return next((e.extension for e in self.extensions if e.name == _EXEC_EXTENSION), None)


class User(
    _Quiet,
    frozen=True,
    rename={
        "client_certificate": "client-certificate",
        "client_certificate_data": "client-certificate-data",
        "client_key": "client-key",
        "client_key_data": "client-key-data",
        "token_file": "tokenFile",
        "as_user": "as",
        "as_uid": "as-uid",
        "as_groups": "as-groups",
        "as_user_extra": "as-user-extra",
        "auth_provider": "auth-provider",
    },
):
    """How we prove ourselves."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = ""
    as_user: str = ""
    as_uid: str = ""
    as_groups: list[str] = []
    as_user_extra: dict[str, list[str]] = {}
    username: str = ""
    password: str = ""
    auth_provider: dict[str, Any] | None = None
    exec: Exec | None = None


class Context(_Quiet, frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(_Quiet, frozen=True):
    name: str
    cluster: Cluster = Cluster()


class _NamedUser(_Quiet, frozen=True):
    name: str
    user: User = User()


class _NamedContext(_Quiet, frozen=True):
    name: str
    context: Context = Context()


class _File(_Quiet, frozen=True):
    clusters: list[_NamedCluster] = []
    users: list[_NamedUser] = []
    contexts: list[_NamedContext] = []
    current_context: str = ""


T = TypeVar("T")


class Found(msgspec.Struct, Generic[T], frozen=True):
    """An entry, its name, and the file it came from."""

    name: str
    entry: T
    file: Path

    def __repr__(self) -> str:
        return f"<{self.name} of {self.file}>"

    def path(self, value: str) -> Path:
        """A path in the entry, relative to the entry's own file."""
        return self.file.absolute().parent / value

    def data(self, value: str, field: str) -> bytes:
        """A base64 field in the entry, decoded."""
        try:
            return base64.b64decode("".join(value.split()), validate=True)
        except (binascii.Error, ValueError):
            raise CredentialsError(f"{self.file}: {field} of {self.name!r} is not base64") from None


class Config(msgspec.Struct, frozen=True):
    """One or more kubeconfig files, merged."""

    files: tuple[Path, ...]
    clusters: Mapping[str, Found[Cluster]]
    users: Mapping[str, Found[User]]
    contexts: Mapping[str, Found[Context]]
    current_context: str

    def context(self, name: str | None) -> Found[Context]:
        """The context of that name, or the current one."""
        wanted = name or self.current_context
        where = ", ".join(str(file) for file in self.files)
        if not wanted:
            raise CredentialsError(
                f"{where}: no current-context",
                hint="choose one with kubectl config use-context, or name one with --context",
            )
        if wanted not in self.contexts:
            known = ", ".join(sorted(self.contexts)[:20]) or "none"
            raise CredentialsError(f"{where}: no context {wanted!r}", hint=f"contexts there: {known}")
        return self.contexts[wanted]

    def cluster(self, context: Found[Context]) -> Found[Cluster]:
        return _referenced(self.clusters, context, "cluster", context.entry.cluster)

    def user(self, context: Found[Context]) -> Found[User]:
        return _referenced(self.users, context, "user", context.entry.user)


def _referenced(known: Mapping[str, Found[T]], context: Found[Context], what: str, name: str) -> Found[T]:
    if not name:
        raise CredentialsError(f"{context.file}: context {context.name!r} names no {what}")
    if name not in known:
        raise CredentialsError(
            f"{context.file}: context {context.name!r} names {what} {name!r}, which is not there"
        )
    return known[name]


def read_files(paths: Iterable[Path]) -> Config:
    """The merged content of the files; each must exist."""
    files = [(path, _read(path)) for path in paths]
    return Config(
        files=tuple(path for path, _ in files),
        clusters=_first((c.name, c.cluster, path) for path, file in files for c in file.clusters),
        users=_first((u.name, u.user, path) for path, file in files for u in file.users),
        contexts=_first((c.name, c.context, path) for path, file in files for c in file.contexts),
        current_context=next((file.current_context for _, file in files if file.current_context), ""),
    )


def _first(entries: Iterable[tuple[str, T, Path]]) -> dict[str, Found[T]]:
    merged: dict[str, Found[T]] = {}
    for name, entry, path in entries:
        merged.setdefault(name, Found(name, entry, path))
    return merged


def _read(path: Path) -> _File:
    content = read_capped(path, "kubeconfig", KUBECONFIG_LIMIT)
    try:
        tree = yaml.load(content, Loader=_loader())  # noqa: S506 - both are safe loaders
    except yaml.YAMLError as error:
        # The error's own text quotes the file, secrets and all.
        raise CredentialsError(f"{path}: not YAML{_place(error)}") from None
    except (RecursionError, ValueError):
        raise CredentialsError(f"{path}: not YAML that can be read") from None
    return _convert(path, tree)


def _convert(path: Path, tree: Any) -> _File:
    if tree is None:
        return _File()
    try:
        return msgspec.convert(_without_nulls(tree, itertools.count()), _File)
    except (RecursionError, OverflowError):
        raise CredentialsError(f"{path}: nested too deeply, or too many values") from None
    except msgspec.ValidationError as error:
        raise CredentialsError(
            f"{path} is no kubeconfig: {str(error).replace('`', '')}", hint="--kubeconfig names another file"
        ) from None


def _loader() -> type[yaml.SafeLoader]:
    return cast("type[yaml.SafeLoader]", getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _place(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    return f", line {mark.line + 1} column {mark.column + 1}" if mark else ""


def _without_nulls(tree: Any, seen: Iterator[int]) -> Any:
    """Kubectl reads `key: null` as if the key were not there. Aliases are counted each time they are used."""
    if next(seen) > _VALUES_LIMIT:
        raise OverflowError
    if isinstance(tree, dict):
        items = cast("dict[Any, Any]", tree).items()
        return {key: _without_nulls(value, seen) for key, value in items if value is not None}
    if isinstance(tree, list):
        return [_without_nulls(value, seen) for value in cast("list[Any]", tree)]
    return tree
