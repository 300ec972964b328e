"""Whose credentials the operator uses: always those of the user that its fence is for.

In a cluster it runs as its ServiceAccount already, and nobody is asked: the API server may be away when a pod
starts. With a kubeconfig of somebody else it asks for a token of the account, which takes one right of
theirs; where that is missing, nothing is begun and the command that grants it is said.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import time

import structlog

from shiplift.facts.kinds import CLUSTER_ROLE_BINDING
from shiplift.kube.account import Account, account_of, acting_as
from shiplift.kube.client import Client
from shiplift.kube.credentials import Credentials
from shiplift.kube.errors import (
    BadAnswer,
    Forbidden,
    KubeError,
    NotFound,
    ServerError,
    Throttled,
    Unreachable,
)
from shiplift.kube.fence import FenceError, Names, whoami
from shiplift.operator import install

_AWAY = (Unreachable, Throttled, ServerError, BadAnswer)
"""What is over when the API server is well again."""
_PAUSE_SECONDS = 2.0
_ASK_SECONDS = 10.0

log = structlog.get_logger(__name__)


class AccountError(KubeError):
    """These credentials cannot become those of the operator."""


def credentials_for(names: Names, given: Credentials) -> Credentials:
    """Credentials of the user that the fence is for, from those that were given."""
    if given.of_pod:
        return given
    said = ""
    while True:
        try:
            return _exchanged(names, given)
        except _AWAY as error:
            if str(error) != said:
                said = str(error)
                log.warning("waiting for the API server", server=given.server.url, reason=said)
            time.sleep(_PAUSE_SECONDS)


def _exchanged(names: Names, given: Credentials) -> Credentials:
    me = _taken_for(given)
    if me == names.username:
        return given
    account = account_of(names.username)
    if account is None:
        raise FenceError(
            f"the fence is for {names.username}, but the API server takes us for {me}",
            hint=f"use a kubeconfig of {names.username}, or leave --user out to act as a ServiceAccount",
        )
    credentials = _of_account(account, given, me)
    if (still := _taken_for(credentials)) != names.username:
        raise AccountError(
            f"with a token of {account} the API server still takes us for {still}",
            hint=f"is {given.server.url} a proxy with credentials of its own? name the API server itself",
        )
    log.info("acting as the operator's account", account=str(account), user=me)
    return credentials


def _of_account(account: Account, given: Credentials, me: str) -> Credentials:
    try:
        return acting_as(account, given)
    except Forbidden as error:
        raise _no_right(account, me) from error
    except NotFound as error:
        raise AccountError(f"there is no {account}", hint=_what_helps(account, given)) from error


def _taken_for(credentials: Credentials) -> str:
    with Client(credentials, timeout=_ASK_SECONDS) as client:
        return whoami(client).username


def _no_right(account: Account, user: str) -> AccountError:
    return AccountError(
        f"user {user} may not have a token of {account}: create on serviceaccounts/token is missing",
        hint=how_to_grant(account, user),
    )


def how_to_grant(account: Account, user: str) -> str:
    """The command by which an administrator lets this user run the operator."""
    name = f"{install.TOKEN_ROLE}-{_as_name(user)}"
    words = ("kubectl", "create", "rolebinding", name, "-n", account.namespace)
    return shlex.join([*words, f"--role={install.TOKEN_ROLE}", f"--user={user}"])


def _as_name(user: str) -> str:
    """As much of it as the name of an object may hold."""
    return re.sub(r"[^a-z0-9]+", "-", user.lower())[:200].strip("-") or "user"


def installed_in(client: Client) -> str:
    """The namespace of the account that has the rights, as its ClusterRoleBinding has it, which only
    administrators write; empty where there is none, or whoever asks may not see it."""
    try:
        binding = client.get(CLUSTER_ROLE_BINDING, install.ACCOUNT)
    except (Forbidden, NotFound):
        return ""
    subjects: list[dict[str, str]] = binding.get("subjects") or []
    spaces = (one.get("namespace", "") for one in subjects if one.get("name") == install.ACCOUNT)
    return next(filter(None, spaces), "")


def _what_helps(account: Account, given: Credentials) -> str:
    """What installs it there; or that another namespace may be meant: there is one shiplift a cluster."""
    there = ""
    with contextlib.suppress(KubeError), Client(given, timeout=_ASK_SECONDS) as client:
        there = installed_in(client)
    if there not in ("", account.namespace):
        return f"shiplift is installed in namespace {there}: --namespace {there}"
    return _how_to_install(account)


def _how_to_install(account: Account) -> str:
    elsewhere = "" if account.namespace == install.NAMESPACE else f" --namespace {account.namespace}"
    return f"shiplift manifests{elsewhere} | kubectl apply -f -"
