"""Acting as a ServiceAccount, on a real API server: who it takes us for, and what becomes of a dead token."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shiplift.facts.kinds import SERVICE_ACCOUNT
from shiplift.kube.account import Account, account_of, acting_as, ask_token
from shiplift.kube.client import Client
from shiplift.kube.credentials import Impersonation, load
from shiplift.kube.errors import CredentialsError, Forbidden, NotFound
from shiplift.kube.fence import whoami
from shiplift.local.cluster import Cluster
from tests.until import until


@pytest.fixture
def admin(cluster: Cluster) -> Iterator[Client]:
    with cluster.client() as client:
        yield client


@pytest.fixture
def account(admin: Client, namespace: str) -> Account:
    admin.create(SERVICE_ACCOUNT, {"metadata": {"name": "robot"}}, namespace)
    return Account(namespace, "robot")


def remove(admin: Client, account: Account) -> None:
    found = admin.get(SERVICE_ACCOUNT, account.name, account.namespace)
    admin.delete(SERVICE_ACCOUNT, account.name, account.namespace, uid=found["metadata"]["uid"])


def test_with_a_client_certificate_the_api_server_takes_us_for_the_account(
    admin: Client, account: Account
) -> None:
    credentials = acting_as(account, admin.credentials)
    with Client(credentials) as client:
        assert account_of(whoami(client).username) == account
    with Client(credentials.at(credentials.server.host, credentials.server.port, "")) as elsewhere:
        assert account_of(whoami(elsewhere).username) == account


def test_whom_the_user_acts_as_asks_for_the_token_and_no_more(cluster: Cluster, account: Account) -> None:
    nobody = load(cluster.kubeconfig, impersonate=Impersonation("nobody"))
    with pytest.raises(Forbidden):
        acting_as(account, nobody)
    master = load(cluster.kubeconfig, impersonate=Impersonation("chief", groups=("system:masters",)))
    with Client(acting_as(account, master)) as client:
        assert account_of(whoami(client).username) == account


def test_after_a_401_another_token_is_asked_for(admin: Client, account: Account) -> None:
    """A token is of one account by its uid: one of the same name, made anew, is another."""
    credentials = acting_as(account, admin.credentials)
    before = credentials.headers()
    remove(admin, account)
    admin.create(SERVICE_ACCOUNT, {"metadata": {"name": account.name}}, account.namespace)
    with Client(credentials) as client:
        until(lambda: account_of(whoami(client).username) == account and credentials.headers() != before)


def test_a_token_that_cannot_be_renewed_is_no_answer_to_the_request(admin: Client, account: Account) -> None:
    """Or a reader would take `serviceaccounts robot not found` for the node that it asked for."""
    credentials = acting_as(account, admin.credentials)
    remove(admin, account)
    credentials.invalidate(credentials.headers())
    with Client(credentials) as client, pytest.raises(CredentialsError, match=f"no token of {account}: 404"):
        whoami(client)


def test_the_server_says_for_how_long_a_token_is_given(admin: Client, account: Account) -> None:
    assert ask_token(admin.credentials, account, 600).seconds == 600
    with pytest.raises(NotFound):
        ask_token(admin.credentials, Account(account.namespace, "absent"))


@pytest.mark.parametrize("username", ["jane", "system:serviceaccount:only", "system:serviceaccount::name"])
def test_other_users_are_no_accounts(username: str) -> None:
    assert account_of(username) is None
