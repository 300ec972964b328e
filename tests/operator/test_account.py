"""The operator with somebody's own kubeconfig: it acts as its account, or says which command is missing."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from shiplift.kube.account import Account
from shiplift.kube.credentials import Credentials, Server
from shiplift.kube.credentials.identity import Anonymous
from shiplift.kube.credentials.live import Trust
from shiplift.local.cluster import Cluster
from shiplift.local.components import API_ONLY, Component, Settings
from shiplift.operator import install
from shiplift.operator.account import credentials_for, how_to_grant
from tests.audit import users_who
from tests.impersonating import as_user
from tests.operator.rig import SPACE, Rig, operators
from tests.until import until

COMMAND = [
    sys.executable,
    "-c",
    "from shiplift.cli import main; main()",
    "operator",
    "--listen",
    "127.0.0.1:0",
]
ACCOUNT = Account(SPACE, install.ACCOUNT)


@pytest.fixture
def cluster(private_cluster: Callable[..., Cluster]) -> Cluster:
    return private_cluster(Settings(components=API_ONLY, audit=True))


@pytest.fixture
def rig(cluster: Cluster, tmp_path: Path) -> Iterator[Rig]:
    """Its operators are started with the kubeconfig of an administrator, who has a client certificate."""
    with operators(cluster, tmp_path) as rig:
        rig.kubeconfig = cluster.kubeconfig
        yield rig


def run(kubeconfig: Path, *words: str) -> tuple[int, list[str]]:
    command = [*COMMAND, "--kubeconfig", str(kubeconfig), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert done.stdout == ""
    return done.returncode, done.stderr.splitlines()


def test_from_an_administrators_kubeconfig_it_leads_and_acts_as_its_account(rig: Rig) -> None:
    operator = rig.start()
    rig.ask_for_a_stamp("from-a-laptop")
    until(lambda: rig.stamp("from-a-laptop"))
    assert operator.said("leading")
    assert not operator.said("leading, but not acting")
    assert until(lambda: users_who("patch", "from-a-laptop", rig.cluster)) == {install.names(SPACE).username}


def test_the_one_command_that_it_names_is_all_that_a_user_lacks(rig: Rig, tmp_path: Path) -> None:
    theirs = as_user(rig.cluster, tmp_path, "Jane O'Hara")
    code, said = run(theirs)
    assert (code, len(said)) == (1, 2), said
    assert said[0] == (
        "error: user Jane O'Hara may not have a token of ServiceAccount shiplift-system/shiplift:"
        " create on serviceaccounts/token is missing"
    )
    kubectl = Path(rig.cluster.state.programs["kubectl"]).parent
    environment = {"KUBECONFIG": str(rig.cluster.kubeconfig), "PATH": f"{kubectl}:{os.environ['PATH']}"}
    subprocess.run(["sh", "-c", said[1].removeprefix("hint: ")], env=environment, check=True)

    rig.kubeconfig = theirs
    rig.start()
    rig.ask_for_a_stamp("by-jane")
    until(lambda: rig.stamp("by-jane"))


def test_where_nothing_is_installed_it_says_so(cluster: Cluster) -> None:
    assert run(cluster.kubeconfig) == (
        1,
        [
            "error: there is no ServiceAccount shiplift-system/shiplift",
            "hint: shiplift manifests | kubectl apply -f -",
        ],
    )
    assert run(cluster.kubeconfig, "--namespace", "other")[1][1] == (
        "hint: shiplift manifests --namespace other | kubectl apply -f -"
    )


def test_where_it_is_installed_elsewhere_that_namespace_is_named(rig: Rig) -> None:
    """What is applied for a second namespace would take the rights from the first."""
    assert run(rig.cluster.kubeconfig, "--namespace", "team") == (
        1,
        [
            "error: there is no ServiceAccount team/shiplift",
            "hint: shiplift is installed in namespace shiplift-system: --namespace shiplift-system",
        ],
    )


def test_a_fence_for_one_user_and_the_kubeconfig_of_another_are_named_both(cluster: Cluster) -> None:
    code, said = run(cluster.kubeconfig, "--user", "jane")
    assert (code, len(said)) == (1, 2), said
    assert said[0].startswith("error: the fence is for jane, but the API server takes us for ")
    assert said[1].startswith("hint: use a kubeconfig of jane, ")


def test_a_proxy_that_shows_its_own_credentials_is_found_out(rig: Rig, tmp_path: Path) -> None:
    command = [rig.cluster.state.programs["kubectl"], "proxy", "--port=0"]
    environment = {"KUBECONFIG": str(rig.cluster.kubeconfig), "HOME": str(tmp_path)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as proxy:
        assert proxy.stdout
        address = proxy.stdout.readline().split()[-1]
        config = yaml.safe_load(rig.cluster.kubeconfig.read_text())
        config["clusters"][0]["cluster"] = {"server": f"http://{address}"}
        (tmp_path / "by-proxy").write_text(yaml.safe_dump(config))
        code, said = run(tmp_path / "by-proxy")
        proxy.terminate()
    assert (code, len(said)) == (1, 2), said
    assert said[0].startswith(
        "error: with a token of ServiceAccount shiplift-system/shiplift the API server still"
    )
    assert said[1].startswith(f"hint: is http://{address} a proxy ")


@pytest.mark.crash
def test_an_api_server_that_is_away_at_the_start_is_waited_for_and_said_once(rig: Rig) -> None:
    rig.cluster.stop(Component.API_SERVER)
    operator = rig.start()
    until(lambda: operator.said("waiting for the API server"))
    rig.cluster.start(Component.API_SERVER)
    until(lambda: operator.said("leading"), 30)
    reasons = [line["reason"] for line in operator.said("waiting for the API server")]
    assert len(reasons) == len(set(reasons))


@pytest.mark.crash
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_waiting_for_an_api_server_can_be_ended(cluster: Cluster, number: signal.Signals) -> None:
    cluster.stop(Component.API_SERVER)
    command = [*COMMAND, "--kubeconfig", str(cluster.kubeconfig)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        assert "waiting for the API server" in process.stderr.readline()
        process.send_signal(number)
        assert process.wait(10) == 130
        assert process.stderr.read() == "interrupted\n"


def test_in_a_cluster_nobody_is_asked_who_we_are() -> None:
    nowhere = Credentials(Server("https", "127.0.0.1", 1), Trust(), Anonymous(), of_pod=True)
    assert credentials_for(install.names(SPACE), nowhere) is nowhere


@pytest.mark.parametrize(
    ("user", "binding", "subject"),
    [
        ("kubernetes-admin", "shiplift-token-kubernetes-admin", "--user=kubernetes-admin"),
        ("Jane $HOME @x", "shiplift-token-jane-home-x", "--user=Jane $HOME @x"),
        ("漢字", "shiplift-token-user", "--user=漢字"),
    ],
)
def test_the_command_that_grants_the_right_is_safe_for_a_shell(user: str, binding: str, subject: str) -> None:
    words = shlex.split(how_to_grant(ACCOUNT, user))
    assert words == [
        *("kubectl", "create", "rolebinding", binding),
        *("-n", SPACE, "--role=shiplift-token", subject),
    ]


def test_the_right_to_a_token_is_printed_for_that_account_alone_and_given_to_nobody() -> None:
    printed = install.manifests(SPACE, ())
    (role,) = [one for one in printed if one["metadata"]["name"] == install.TOKEN_ROLE]
    assert (role["kind"], role["metadata"]["namespace"]) == ("Role", SPACE)
    assert role["rules"] == [
        {
            "apiGroups": [""],
            "resources": ["serviceaccounts/token"],
            "resourceNames": [install.ACCOUNT],
            "verbs": ["create"],
        }
    ]
    bound = [one["roleRef"]["name"] for one in printed if "roleRef" in one]
    assert install.TOKEN_ROLE not in bound
