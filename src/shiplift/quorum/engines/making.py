"""Which engine a service has: one that compares versions, or one that speaks to its servers."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable
from pathlib import Path

from shiplift.api.quorum import Engine as Name
from shiplift.api.quorum import QuorumServiceSpec, Scheme
from shiplift.kube import secrets
from shiplift.kube.client import Client
from shiplift.kube.secrets import Hidden, SecretUnusable
from shiplift.quorum.engines.minio import Credentials, MinIO
from shiplift.quorum.engines.protocol import Engine
from shiplift.quorum.wire import Direct, Wire

Make = Callable[[Wire, Credentials], Engine]
ENGINES: dict[Name, Make] = {Name.MINIO: MinIO}
"""One that is added here, and to the API's list, is known everywhere."""
_MOST_KEY = 256
_USUAL_DOMAIN = "cluster.local"


def comparing(name: Name) -> Engine:
    """It knows versions, and no server."""
    return ENGINES[name](Direct(), Credentials("", Hidden(b"")))


def connected(client: Client, namespace: str, spec: QuorumServiceSpec) -> Engine:
    """With the credentials of the service; `SecretUnusable` says what is missing."""
    name = spec.credentials_secret
    user = secrets.read(client, namespace, name, "accessKey").reveal()
    secret = secrets.read(client, namespace, name, "secretKey")
    try:
        access = user.decode("ascii").strip()
    except UnicodeDecodeError:
        access = ""
    if not access or len(access) > _MOST_KEY or not access.isprintable():
        raise SecretUnusable(f"key accessKey of Secret {namespace}/{name} is no name of a user")
    return ENGINES[spec.engine](_wire(client, namespace, spec), Credentials(access, secret))


def _wire(client: Client, namespace: str, spec: QuorumServiceSpec) -> Wire:
    if spec.endpoint.scheme is Scheme.HTTP:
        return Direct()
    tls = ssl.create_default_context()
    if spec.endpoint.ca_secret:
        about = f"key ca.crt of Secret {namespace}/{spec.endpoint.ca_secret}"
        authority = secrets.read(client, namespace, spec.endpoint.ca_secret, "ca.crt")
        try:
            tls = ssl.create_default_context(cadata=authority.reveal().decode())
        except (ssl.SSLError, UnicodeDecodeError):
            raise SecretUnusable(f"{about} is no certificate in PEM") from None
    return Direct(tls, cluster_domain())


def cluster_domain(resolver: Path = Path("/etc/resolv.conf")) -> str:
    """As kubelets write it for the pods of a cluster; the usual one where we are not in one."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        words = [word for line in resolver.read_text().splitlines() for word in line.split()[1:]]
        return next((word[4:].rstrip(".") for word in words if word.startswith("svc.")), _USUAL_DOMAIN)
    return _USUAL_DOMAIN
