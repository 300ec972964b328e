"""Exec plugins: a program on this machine that hands out a token or a certificate.

client.authentication.k8s.io v1 and v1beta1. An answer is kept until it expires or the server refuses it.
What the plugin prints on its standard output is secret and never shown.
"""

from __future__ import annotations

import base64
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import msgspec

from shiplift.kube.answers import cut
from shiplift.kube.credentials.files import SECRET_LIMIT
from shiplift.kube.credentials.kubeconfig import Cluster, Exec, Found, Interactive, User
from shiplift.kube.errors import CredentialsError

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
TIMEOUT_SECONDS = 60.0
INTERACTIVE_TIMEOUT_SECONDS = 600.0


class Issued(msgspec.Struct, frozen=True, rename="camel"):
    """What a plugin handed out."""

    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None

    def __repr__(self) -> str:
        return "<Issued>"

    def expired(self, now: datetime) -> bool:
        return self.expiration_timestamp is not None and now >= self.expiration_timestamp


class _Answer(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: Issued | None = None


_read_answer = msgspec.json.Decoder(_Answer).decode


class Plugin:
    """One exec entry of a kubeconfig; runs once at a time, whoever asks."""

    def __init__(self, config: Exec, user: str, file: Path, cluster: Mapping[str, Any]) -> None:
        self._config = config
        self._name = f"exec plugin {config.command!r} of user {user!r} in {file}"
        self._cluster = cluster if config.provide_cluster_info else None
        self._lock = threading.Lock()
        self._issued: Issued | None = None

    def __repr__(self) -> str:
        return f"<{self._name}>"

    def issued(self) -> Issued:
        """Credentials that are not expired; runs the program when there are none."""
        with self._lock:
            if self._issued is None or self._issued.expired(datetime.now(UTC)):
                self._issued = self._decode(self._run())
            return self._issued

    def forget(self, token: str = "") -> None:
        """Run the program next time, unless it has run since it issued this token."""
        with self._lock:
            if self._issued is not None and token in ("", self._issued.token.strip()):
                self._issued = None

    def _run(self) -> bytes:
        interactive = self._interactive()
        with tempfile.TemporaryFile() as stderr:
            process = self._start(interactive, stderr)
            output = self._collect(process, INTERACTIVE_TIMEOUT_SECONDS if interactive else TIMEOUT_SECONDS)
            if process.returncode != 0:
                said = "" if interactive else _said(stderr)
                raise self._error(f"failed with exit code {process.returncode}{said}")
        return output

    def _start(self, interactive: bool, stderr: IO[bytes]) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                [self._config.command, *self._config.args],
                env=self._environment(interactive),
                stdin=None if interactive else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=None if interactive else stderr,
                start_new_session=not interactive,
            )
        except OSError as error:
            hint = cut(self._config.install_hint) or "install it, or put it on the PATH"
            raise self._error(f"cannot be started: {error.strerror}", hint=hint) from None

    def _collect(self, process: subprocess.Popen[bytes], timeout: float) -> bytes:
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        deadline = time.monotonic() + timeout
        output = bytearray()
        try:
            while chunk := _read_some(process.stdout, deadline):
                output += chunk
                if len(output) > SECRET_LIMIT:
                    raise self._error(f"printed more than {SECRET_LIMIT} bytes")
            process.wait(max(0.1, deadline - time.monotonic()))
        except (TimeoutError, subprocess.TimeoutExpired):
            raise self._error(f"did not finish in {timeout:.0f} seconds") from None
        finally:
            _end(process)
        return bytes(output)

    def _environment(self, interactive: bool) -> dict[str, str]:
        spec: dict[str, Any] = {"interactive": interactive}
        if self._cluster is not None:
            spec["cluster"] = self._cluster
        info = {"kind": "ExecCredential", "apiVersion": self._config.api_version, "spec": spec}
        extra = {variable.name: variable.value for variable in self._config.env}
        return {**os.environ, **extra, "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}

    def _interactive(self) -> bool:
        terminal = sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
        if self._config.interactive_mode is Interactive.ALWAYS and not terminal:
            raise self._error("wants a terminal, and standard input is none")
        return terminal and self._config.interactive_mode is not Interactive.NEVER

    def _decode(self, output: bytes) -> Issued:
        try:
            answer = _read_answer(output)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise self._error("printed no ExecCredential") from None
        if answer.kind != "ExecCredential" or answer.api_version != self._config.api_version:
            raise self._error(
                f"answered with {cut(answer.api_version, 60)} {cut(answer.kind, 60)}, "
                f"where {self._config.api_version} ExecCredential is configured"
            )
        return self._checked(answer.status)

    def _checked(self, issued: Issued | None) -> Issued:
        if issued is None:
            raise self._error("answered without a status")
        if bool(issued.client_certificate_data) != bool(issued.client_key_data):
            raise self._error("answered with a certificate or a key, but not both")
        if not issued.token and not issued.client_certificate_data:
            raise self._error("answered with neither a token nor a certificate")
        expiry = issued.expiration_timestamp
        if expiry is not None and expiry.tzinfo is None:
            raise self._error("answered with an expirationTimestamp that has no time zone")
        return issued

    def _error(self, message: str, hint: str = "") -> CredentialsError:
        return CredentialsError(f"{self._name} {message}", hint=hint)


def plugin_for(user: Found[User], cluster: Mapping[str, Any]) -> Plugin:
    """The plugin of a kubeconfig user, its settings checked."""
    config = user.entry.exec
    assert config is not None  # noqa: S101 - the caller has seen it
    where = f"{user.file}: exec of user {user.name!r}"
    if not config.command:
        raise CredentialsError(f"{where} has no command")
    if config.api_version not in VERSIONS:
        raise CredentialsError(
            f"{where} has apiVersion {config.api_version!r}", hint=f"known: {', '.join(VERSIONS)}"
        )
    if config.interactive_mode is None and config.api_version == VERSIONS[0]:
        raise CredentialsError(f"{where} needs interactiveMode", hint="Never, IfAvailable or Always")
    if any(not variable.name for variable in config.env):
        raise CredentialsError(f"{where} has an env entry without a name")
    return Plugin(_located(config, user), user.name, user.file, cluster)


def cluster_info(server: str, cluster: Cluster, authority: bytes) -> dict[str, Any]:
    """What a plugin that asks for cluster info is told."""
    told: dict[str, Any] = {
        "server": server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": base64.b64encode(authority).decode(),
        "proxy-url": cluster.proxy_url,
        "disable-compression": cluster.disable_compression,
        "config": cluster.exec_config,
    }
    return {key: value for key, value in told.items() if value or key == "config"}


def _located(config: Exec, user: Found[User]) -> Exec:
    """A command with a slash is relative to its kubeconfig; a bare name is looked up on the PATH."""
    if "/" not in config.command:
        return config
    return msgspec.structs.replace(config, command=str(user.path(config.command)))


def _read_some(pipe: IO[bytes], deadline: float) -> bytes:
    ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
    if not ready:
        raise TimeoutError
    return os.read(pipe.fileno(), 65536)


def _said(stderr: IO[bytes]) -> str:
    size = stderr.seek(0, os.SEEK_END)
    stderr.seek(max(0, size - 4000))
    text = cut(stderr.read().decode(errors="replace"), 500)
    return f": {text}" if text else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        # The plugin may have started others, which would keep the pipe open.
        if os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
