"""Credentials in use: fresh headers for each request, a fresh TLS context for each connection."""

from __future__ import annotations

import socket
import ssl
import threading

import structlog

from shiplift.kube.credentials import tls
from shiplift.kube.credentials.address import Proxy, Server
from shiplift.kube.credentials.connect import connect
from shiplift.kube.credentials.files import Source
from shiplift.kube.credentials.identity import Anonymous, Impersonation
from shiplift.kube.errors import CredentialsError

log = structlog.get_logger(__name__)


class Trust:
    """How the server proves itself: an authority (the system's, if None), or not at all."""

    def __init__(self, authority: Source | None = None, *, verify: bool = True) -> None:
        self.authority = authority
        self.verify = verify

    def pem(self) -> bytes:
        return self.authority.read() if self.authority is not None else b""


class Credentials:
    """One cluster, one identity; safe to use from many threads.

    `generation` grows whenever connections made so far should not be used again.
    """

    def __init__(  # noqa: PLR0913 - one for each thing that a kubeconfig may say
        self,
        server: Server,
        trust: Trust,
        identity: Anonymous,
        *,
        namespace: str = "default",
        impersonation: Impersonation | None = None,
        proxy: Proxy | None = None,
        compression: bool = False,
        of_pod: bool = False,
    ) -> None:
        self.server = server
        self.namespace = namespace
        self.proxy = proxy
        self.compression = compression
        self.of_pod = of_pod
        """Whether these are of the pod that we run in, and not of a kubeconfig."""
        self.generation = 0
        self._trust = trust
        self._identity = identity
        self._impersonation = impersonation
        self._lock = threading.Lock()
        self._context: ssl.SSLContext | None = None
        self._material: tuple[bytes, tls.Pair | None] | None = None

    def __repr__(self) -> str:
        return f"<Credentials for {self.server.url}>"

    @property
    def verifies(self) -> bool:
        """Whether the server has to prove who it is."""
        return self.server.scheme == "https" and self._trust.verify

    def at(self, host: str, port: int, tls_name: str) -> Credentials:
        """The same identity and trust, for another address of the same cluster."""
        return Credentials(
            Server(self.server.scheme, host, port, "", tls_name),
            self._trust,
            self._identity,
            namespace=self.namespace,
            impersonation=self._impersonation,
            proxy=self.proxy,
            compression=self.compression,
        )

    def with_identity(self, identity: Anonymous) -> Credentials:
        """Another identity for the same server, which acts as nobody else; trusted and reached alike."""
        return Credentials(
            self.server,
            self._trust,
            identity,
            namespace=self.namespace,
            proxy=self.proxy,
            compression=self.compression,
        )

    def headers(self) -> list[tuple[str, str]]:
        """Headers for the next request, as pairs: a group to act as is one header each."""
        pairs: list[tuple[str, str]] = []
        # As kubectl: a secret is never sent where everyone can read it.
        authorization = self._identity.authorization() if self.server.scheme == "https" else ""
        if authorization:
            pairs.append(("Authorization", authorization))
        if self._impersonation is not None:
            pairs += self._impersonation.headers()
        return pairs

    def ssl_context(self) -> ssl.SSLContext | None:
        """The context for the next connection; another one when authority or certificate were rotated."""
        if self.server.scheme != "https":
            return None
        with self._lock:
            material = (self._trust.pem(), self._identity.pair())
            if self._context is None or material != self._material:
                self._rebuild(material)
            return self._context

    def open(self, timeout: float) -> socket.socket:
        """A connected socket to the server, through the proxy if there is one, TLS done."""
        return connect(self.server, self.proxy, self.ssl_context(), timeout, self._proxy_tls())

    def invalidate(self, headers: list[tuple[str, str]] | None = None) -> None:
        """After a 401: get new credentials, unless that has happened since these headers were made."""
        refused = dict(headers or []).get("Authorization", "")
        self._identity.forget(refused)
        with self._lock:
            self.generation += 1

    def _proxy_tls(self) -> ssl.SSLContext | None:
        """For a proxy that is itself reached by TLS. It is shown no certificate of ours."""
        if self.proxy is None or self.proxy.scheme != "https":
            return None
        return tls.of_proxy(self._trust.pem(), verify=self._trust.verify)

    def _rebuild(self, material: tuple[bytes, tls.Pair | None]) -> None:
        try:
            context = tls.context(*material, verify=self._trust.verify)
        except CredentialsError as error:
            if self._context is None:
                raise
            # Half of a rotation: the certificate is new, the key is not yet.
            log.warning("rotated certificates not usable yet, using the last ones", reason=str(error))
            return
        if self._context is not None:
            self.generation += 1
        self._context, self._material = context, material
