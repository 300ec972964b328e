"""Acting as a ServiceAccount with somebody's own credentials: by a token that they may ask for, no more.

The user's credentials (certificate, plugin, whom they act as) serve to ask for the token only. Every other
request carries the token alone, so that the API server takes us for the account and for nobody else.
"""

from __future__ import annotations

import functools

import msgspec

from shiplift.facts.kinds import SERVICE_ACCOUNT
from shiplift.kube.client import Client
from shiplift.kube.credentials import Credentials
from shiplift.kube.credentials.renewed import Grant, Renewed
from shiplift.kube.errors import BadAnswer, CredentialsError, KubeError, Unknown, Unreachable
from shiplift.kube.lease import now

TOKEN_SECONDS = 3600
_PREFIX = "system:serviceaccount:"
_ASK_SECONDS = 10.0


class Account(msgspec.Struct, frozen=True):
    """A ServiceAccount."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"ServiceAccount {self.namespace}/{self.name}"


def account_of(username: str) -> Account | None:
    """The ServiceAccount that the API server knows by this user name, if it is one."""
    namespace, _, name = username.removeprefix(_PREFIX).partition(":")
    return Account(namespace, name) if username.startswith(_PREFIX) and namespace and name else None


def acting_as(account: Account, user: Credentials, seconds: int = TOKEN_SECONDS) -> Credentials:
    """Credentials of the account, for the same server; an error where the user may not have a token of it."""
    ask = functools.partial(_renewal, user, account, seconds)
    return user.with_identity(Renewed(str(account), ask_token(user, account, seconds), ask, now))


def ask_token(user: Credentials, account: Account, seconds: int = TOKEN_SECONDS) -> Grant:
    """A token of the account, by TokenRequest; the server may give it for less time than was asked for."""
    path = SERVICE_ACCOUNT.path(account.namespace, account.name, "token")
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": seconds},
    }
    with Client(user, timeout=_ASK_SECONDS) as client:
        try:
            return _granted(client.raw("POST", path, body=msgspec.json.encode(request)))
        except Unknown as lost:
            # nothing is changed by a token that nobody has
            raise Unreachable(lost.message) from lost


def _renewal(user: Credentials, account: Account, seconds: int) -> Grant:
    """Whoever sends a request must not take what became of our question for the answer to it."""
    try:
        return ask_token(user, account, seconds)
    except (Unreachable, CredentialsError):
        raise
    except KubeError as error:
        hint = "the user who started this operator has to be able to ask for one"
        raise CredentialsError(f"no token of {account}: {error}", hint=hint) from error


def _granted(answer: bytes) -> Grant:
    try:
        read = _read(answer)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # its text may hold the token
        raise BadAnswer("the answer to a TokenRequest is none") from None
    return Grant(read.status.token, read.spec.expiration_seconds)


class _Spec(msgspec.Struct, rename="camel"):
    expiration_seconds: float


class _Status(msgspec.Struct):
    token: str


class _TokenRequest(msgspec.Struct):
    spec: _Spec
    status: _Status


_read = msgspec.json.Decoder(_TokenRequest).decode
