"""Provider HTTP: a document at an https address, JSON or YAML; its ETag saves what has not changed.

There is no policy where the answer is 204, or the document says `policies: []`. Nothing else means that: a
file that is missing or empty is more often a mistake.
"""

from __future__ import annotations

import msgspec

from shiplift.kube import secrets
from shiplift.kube.client import Client
from shiplift.kube.documents import DocumentError, read
from shiplift.kube.secrets import Hidden
from shiplift.outside.door import Call, Got, door_for
from shiplift.policy.config import Section
from shiplift.policy.document import Wanted, first

_ACCEPT = "application/json, application/yaml;q=0.9, */*;q=0.1"


class _Kept(msgspec.Struct, frozen=True):
    """The last document, by whom it was told and under which name."""

    source: str
    etag: str
    policy: Wanted | None


class HttpProvider:
    """Asked on one thread."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client, self._namespace = client, namespace
        self._kept: _Kept | None = None

    def ask(self, config: Section) -> Wanted | None:
        """The policy, or None where there is none."""
        if config.http is None:
            raise DocumentError("provider HTTP needs http.url")
        kept = self._kept if self._kept is not None and self._kept.source == config.source else None
        headers = (("Accept", _ACCEPT), *((("If-None-Match", kept.etag),) if kept is not None else ()))
        got = door_for(config.reach).send(Call("GET", config.http.url, headers, token=self._token(config)))
        if got.status == 304 and kept is not None:
            return kept.policy
        policy = _policy(got)
        etag = got.header("etag")
        self._kept = _Kept(config.source, etag, policy) if etag else None
        return policy

    def _token(self, config: Section) -> Hidden | None:
        named = config.http.token if config.http is not None else None
        return secrets.read(self._client, self._namespace, named.name, named.key) if named else None


def _policy(got: Got) -> Wanted | None:
    if got.good().status == 204:
        return None
    try:
        whole = read(got.body)
        if whole is None:
            raise DocumentError("it is empty (hint: `policies: []` says that there is none)")
        return first(whole)
    except (DocumentError, msgspec.ValidationError) as error:
        raise got.failure(f"the document is no policy: {got.hidden(str(error))}") from None
