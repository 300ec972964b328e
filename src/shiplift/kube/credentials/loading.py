"""Finding credentials as kubectl does: the named file, $KUBECONFIG, the home folder, the pod we run in."""

from __future__ import annotations

import os
from pathlib import Path

from shiplift.kube.credentials.address import Proxy, Server, parse_proxy, parse_server
from shiplift.kube.credentials.environment import proxy_for
from shiplift.kube.credentials.files import Fixed, RotatingFile, Source
from shiplift.kube.credentials.identity import (
    Anonymous,
    Basic,
    Both,
    Certificate,
    FromPlugin,
    Impersonation,
    Token,
)
from shiplift.kube.credentials.kubeconfig import Cluster, Config, Found, User, read_files
from shiplift.kube.credentials.live import Credentials, Trust
from shiplift.kube.credentials.plugin import cluster_info, plugin_for
from shiplift.kube.errors import CredentialsError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def load(
    kubeconfig: Path | None = None,
    context: str | None = None,
    impersonate: Impersonation | None = None,
) -> Credentials:
    """The credentials of that kubeconfig and context, or of the first place that has some."""
    files = _kubeconfig_files(kubeconfig)
    if files:
        return _from_kubeconfig(read_files(files), context, impersonate)
    if context is not None:
        raise CredentialsError(f"no kubeconfig to find context {context!r} in", hint="set KUBECONFIG")
    return in_cluster(impersonate=impersonate)


def in_cluster(folder: Path = SERVICE_ACCOUNT, impersonate: Impersonation | None = None) -> Credentials:
    """The credentials of the pod that we run in."""
    host = os.environ.get("KUBERNETES_SERVICE_HOST", "").strip("[]")
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not (folder / "token").exists():
        raise CredentialsError(
            "no kubeconfig and no service account", hint="set KUBECONFIG, or name a file with --kubeconfig"
        )
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise CredentialsError(f"KUBERNETES_SERVICE_PORT is {port!r}, which is no port")
    token = RotatingFile(folder / "token", "service account token")
    authority = RotatingFile(folder / "ca.crt", "service account authority")
    server = Server("https", host, int(port))
    return Credentials(
        server,
        Trust(authority),
        Token(token, str(folder / "token")),
        namespace=_own_namespace(folder),
        impersonation=impersonate,
        proxy=proxy_for(server),
        of_pod=True,
    )


def _own_namespace(folder: Path) -> str:
    try:
        return (folder / "namespace").read_text().strip() or "default"
    except OSError:
        return "default"


def _kubeconfig_files(path: Path | None) -> list[Path]:
    if path is not None:
        return [path]
    named = os.environ.get("KUBECONFIG", "")
    if named:
        listed = [Path(item) for item in dict.fromkeys(named.split(os.pathsep)) if item]
        found = [item for item in listed if item.exists()]
        if not found:
            none = "which does not exist" if len(listed) == 1 else "and none of these files exists"
            raise CredentialsError(
                f"KUBECONFIG names {named}, {none}", hint="name a file that is there with --kubeconfig"
            )
        return found
    home = Path.home() / ".kube" / "config"
    return [home] if home.exists() else []


def _from_kubeconfig(config: Config, name: str | None, impersonate: Impersonation | None) -> Credentials:
    context = config.context(name)
    cluster, user = config.cluster(context), config.user(context)
    trust = _trust(cluster)
    server = _server(cluster, user)
    return Credentials(
        server,
        trust,
        _identity(user, cluster, trust),
        namespace=context.entry.namespace or "default",
        impersonation=impersonate or _impersonation(user),
        proxy=_proxy(cluster, server),
        compression=not cluster.entry.disable_compression,
    )


def _server(cluster: Found[Cluster], user: Found[User]) -> Server:
    entry = cluster.entry
    where = _where(cluster, "server")
    if not entry.server:
        raise CredentialsError(f"{where} is empty")
    certificates = (
        entry.certificate_authority,
        entry.certificate_authority_data,
        user.entry.client_certificate,
        user.entry.client_certificate_data,
    )
    secure = any(certificates) or entry.insecure_skip_tls_verify
    return parse_server(entry.server, where, entry.tls_server_name, secure=secure)


def _proxy(cluster: Found[Cluster], server: Server) -> Proxy | None:
    url = cluster.entry.proxy_url
    return parse_proxy(url, _where(cluster, "proxy-url")) if url else proxy_for(server)


def _trust(cluster: Found[Cluster]) -> Trust:
    entry = cluster.entry
    authority = _source(
        cluster, entry.certificate_authority, entry.certificate_authority_data, "certificate-authority"
    )
    if entry.insecure_skip_tls_verify and authority is not None:
        raise CredentialsError(
            f"{_where(cluster, 'insecure-skip-tls-verify')} is set, and so is a certificate authority",
            hint="remove one of them",
        )
    return Trust(authority, verify=not entry.insecure_skip_tls_verify)


def _identity(user: Found[User], cluster: Found[Cluster], trust: Trust) -> Anonymous:
    entry = user.entry
    if entry.auth_provider is not None:
        raise CredentialsError(
            f"{_where(user, 'auth-provider')} was removed from Kubernetes in 1.26",
            hint="use the exec plugin of your provider",
        )
    certificate, speaker = _certificate(user), _speaker(user)
    if certificate is not None:
        return certificate if speaker is None else Both(certificate, speaker)
    if speaker is not None:
        return speaker
    if entry.exec is not None:
        told = cluster_info(cluster.entry.server, cluster.entry, trust.pem())
        return FromPlugin(plugin_for(user, told))
    return Anonymous()


def _certificate(user: Found[User]) -> Certificate | None:
    entry = user.entry
    certificate = _source(user, entry.client_certificate, entry.client_certificate_data, "client-certificate")
    key = _source(user, entry.client_key, entry.client_key_data, "client-key")
    if certificate is None:
        return None
    if key is None:
        raise CredentialsError(f"{_where(user, 'client-certificate')} has no client-key")
    return Certificate(certificate, key)


def _speaker(user: Found[User]) -> Anonymous | None:
    entry = user.entry
    if entry.token and (entry.username or entry.password):
        raise CredentialsError(
            f"{_where(user, 'token')} and username are both set", hint="remove one of them"
        )
    if entry.token_file:
        where = _where(user, "tokenFile")
        return Token(RotatingFile(user.path(entry.token_file), where), where)
    if entry.token:
        return Token(Fixed(entry.token.encode()), _where(user, "token"))
    if entry.username or entry.password:
        return Basic(entry.username, entry.password)
    return None


def _source(found: Found[Cluster] | Found[User], path: str, data: str, field: str) -> Source | None:
    """Data in the kubeconfig comes before a file that it names, as for kubectl."""
    if data:
        return Fixed(found.data(data, f"{field}-data"))
    return RotatingFile(found.path(path), _where(found, field)) if path else None


def _impersonation(user: Found[User]) -> Impersonation | None:
    entry = user.entry
    if entry.as_user:
        extra = tuple((key, tuple(values)) for key, values in sorted(entry.as_user_extra.items()))
        return Impersonation(entry.as_user, entry.as_uid, tuple(entry.as_groups), extra)
    if entry.as_uid or entry.as_groups or entry.as_user_extra:
        raise CredentialsError(f"{_where(user, 'as')} is empty, but there is a uid, group or extra to act as")
    return None


def _where(found: Found[Cluster] | Found[User], field: str) -> str:
    kind = "cluster" if isinstance(found.entry, Cluster) else "user"
    return f"{found.file}: {field} of {kind} {found.name!r}"
