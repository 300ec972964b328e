"""The pull secrets that pods name, as a kubelet takes them: what cannot be had is done without.

Whether one of those was needed only the registry can say: why each is not to be had is kept for then.
"""

from __future__ import annotations

from collections.abc import Iterable

from shiplift.kube import secrets
from shiplift.kube.client import Client
from shiplift.kube.secrets import Hidden, SecretUnusable
from shiplift.quorum.images import credentials
from shiplift.quorum.images.credentials import PullSecrets
from shiplift.quorum.images.errors import ImageError


def pull_secrets(client: Client, namespace: str, names: Iterable[str]) -> PullSecrets:
    """Of all that are named."""
    found: list[dict[str, Hidden]] = []
    troubles: list[str] = []
    for name in names:
        try:
            found.append(_one(client, namespace, name))
        except SecretUnusable as error:
            troubles.append(str(error))
        except ImageError as error:
            troubles.append(f"Secret {namespace}/{name}: {error}")
    return PullSecrets(credentials.merged(found), tuple(troubles))


def _one(client: Client, namespace: str, name: str) -> dict[str, Hidden]:
    first: SecretUnusable | None = None
    for key, read in credentials.FORMS:
        try:
            return read(secrets.read(client, namespace, name, key))
        except SecretUnusable as error:
            first = first or error
    raise first or SecretUnusable(f"Secret {namespace}/{name} is no pull secret")
