"""Credentials against a real API server: who it says we are, by certificate, token, plugin and proxy."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from shiplift.facts.kinds import CONFIG_MAP, POD, Kind
from shiplift.kube import errors
from shiplift.kube.account import Account, ask_token
from shiplift.kube.client import Client
from shiplift.kube.credentials import Credentials, Impersonation, load
from shiplift.kube.credentials.loading import in_cluster
from shiplift.local.cluster import Cluster
from shiplift.local.pki import Authority
from tests.kube.connect_proxy import connect_proxy
from tests.kube.plugins import V1, V1BETA1, Plugin, script
from tests.until import until

ROLE = Kind("ClusterRole", "clusterroles", "rbac.authorization.k8s.io", namespaced=False)
BINDING = Kind("ClusterRoleBinding", "clusterrolebindings", "rbac.authorization.k8s.io", namespaced=False)


@pytest.fixture
def admin(cluster: Cluster) -> Iterator[Client]:
    with Client(cluster.credentials()) as made:
        yield made


class Forge:
    """Makes kubeconfigs and certificates for the shared cluster."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        config = yaml.safe_load(cluster.kubeconfig.read_text())
        self.cluster: dict[str, Any] = config["clusters"][0]["cluster"]
        self.admin: dict[str, Any] = config["users"][0]["user"]
        self.pki = cluster.kubeconfig.parent / "pki"
        self.folder = folder

    def kubeconfig(self, user: dict[str, Any] | None = None, **cluster: Any) -> Path:
        merged = {key: value for key, value in (self.cluster | cluster).items() if value is not None}
        config = {
            "current-context": "it",
            "clusters": [{"name": "it", "cluster": merged}],
            "users": [{"name": "it", "user": self.admin if user is None else user}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        }
        path = self.folder / "config"
        path.write_text(yaml.safe_dump(config))
        return path

    def certificate(self, name: str, user: str) -> tuple[Path, Path]:
        key = serialization.load_pem_private_key((self.pki / "ca.key").read_bytes(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        authority = Authority(key, x509.load_pem_x509_certificate((self.pki / "ca.crt").read_bytes()))
        authority.sign(self.folder, name, user)
        return self.folder / f"{name}.crt", self.folder / f"{name}.key"


@pytest.fixture
def forge(cluster: Cluster, tmp_path: Path) -> Forge:
    return Forge(cluster, tmp_path)


def ask(client: Client) -> dict[str, Any]:
    body = b'{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}'
    answer = client.raw("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=body)
    return json.loads(answer)["status"]["userInfo"]


def whoami(credentials: Credentials) -> dict[str, Any]:
    with Client(credentials, timeout=10) as client:
        return ask(client)


def token(admin: Client, namespace: str) -> str:
    return ask_token(admin.credentials, Account(namespace, "default")).token


def in_an_hour(hours: float = 1) -> str:
    return (datetime.now(UTC) + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_certificate_in_the_kubeconfig_proves_us(forge: Forge) -> None:
    assert whoami(load(forge.kubeconfig()))["username"] == "shiplift-admin"


def test_a_certificate_in_files_is_read_again_when_rotated(forge: Forge) -> None:
    forge.certificate("client", "jane")
    path = forge.kubeconfig({"client-certificate": "client.crt", "client-key": "client.key"})
    with Client(load(path)) as client:
        assert ask(client)["username"] == "jane"
        forge.certificate("client", "john")
        assert ask(client)["username"] == "john"


def test_half_a_rotation_leaves_the_last_certificate_in_use(forge: Forge) -> None:
    forge.certificate("client", "jane")
    forge.certificate("next", "john")
    path = forge.kubeconfig({"client-certificate": "client.crt", "client-key": "client.key"})
    with Client(load(path)) as client:
        assert ask(client)["username"] == "jane"
        (forge.folder / "next.crt").rename(forge.folder / "client.crt")
        assert ask(client)["username"] == "jane"
        (forge.folder / "next.key").rename(forge.folder / "client.key")
        assert ask(client)["username"] == "john"


def test_a_key_of_a_private_certificate_is_left_nowhere(
    forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    assert load(forge.kubeconfig()).ssl_context() is not None
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("key", "message"), [(b"nonsense", "no PEM pair"), (None, "no PEM pair"), (b"encrypted", "is encrypted")]
)
def test_a_key_that_cannot_be_used_is_refused(forge: Forge, key: bytes | None, message: str) -> None:
    certificate, _ = forge.certificate("client", "jane")
    made = ec.generate_private_key(ec.SECP256R1())
    encryption = (
        serialization.BestAvailableEncryption(b"x") if key == b"encrypted" else serialization.NoEncryption()
    )
    pem = made.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
    (forge.folder / "other.key").write_bytes(key if key == b"nonsense" else pem)
    path = forge.kubeconfig({"client-certificate": str(certificate), "client-key": "other.key"})
    with pytest.raises(errors.CredentialsError, match=message):
        whoami(load(path))


def test_a_server_that_our_authority_did_not_sign_is_not_spoken_to(forge: Forge) -> None:
    other = (forge.pki / "etcd-ca.crt").read_bytes()
    path = forge.kubeconfig(**{"certificate-authority-data": base64.b64encode(other).decode()})
    with pytest.raises(errors.Unreachable, match="not trusted"):
        whoami(load(path))
    nobody = forge.kubeconfig(**{"certificate-authority-data": None})
    with pytest.raises(errors.Unreachable, match="not trusted"):
        whoami(load(nobody))


def test_only_the_file_can_switch_the_check_off(forge: Forge) -> None:
    path = forge.kubeconfig(**{"certificate-authority-data": None, "insecure-skip-tls-verify": True})
    assert whoami(load(path))["username"] == "shiplift-admin"


def test_an_authority_that_is_none_is_refused(forge: Forge) -> None:
    path = forge.kubeconfig(**{"certificate-authority-data": base64.b64encode(b"nonsense").decode()})
    with pytest.raises(errors.CredentialsError, match="no PEM certificates"):
        whoami(load(path))


def test_the_server_is_checked_under_the_name_that_the_file_says(forge: Forge) -> None:
    assert whoami(load(forge.kubeconfig(**{"tls-server-name": "kubernetes.default"})))
    with pytest.raises(errors.Unreachable, match="not trusted"):
        whoami(load(forge.kubeconfig(**{"tls-server-name": "elsewhere.example"})))


def test_a_token_proves_us(forge: Forge, admin: Client, namespace: str) -> None:
    user = {"token": token(admin, namespace)}
    assert whoami(load(forge.kubeconfig(user)))["username"] == f"system:serviceaccount:{namespace}:default"


def test_a_refused_token_makes_us_read_its_file_again_once(
    forge: Forge, admin: Client, namespace: str, tmp_path: Path
) -> None:
    path = forge.kubeconfig({"tokenFile": str(tmp_path / "token")})
    (tmp_path / "token").write_text("nonsense")
    with Client(load(path)) as client:
        with pytest.raises(errors.Unauthorized):
            ask(client)
        (tmp_path / "token").write_text(token(admin, namespace))
        assert ask(client)["username"] == f"system:serviceaccount:{namespace}:default"


def test_a_pod_proves_itself_by_its_service_account(
    forge: Forge, admin: Client, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text(token(admin, namespace))
    (tmp_path / "ca.crt").write_bytes((forge.pki / "ca.crt").read_bytes())
    (tmp_path / "namespace").write_text(namespace)
    server = admin.credentials.server
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", server.host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
    assert whoami(in_cluster(tmp_path))["username"] == f"system:serviceaccount:{namespace}:default"


def test_acting_as_somebody_is_whole(forge: Forge) -> None:
    somebody = {
        "as": "jane",
        "as-uid": "7",
        "as-groups": ["a", "b"],
        "as-user-extra": {"example.com/scope": ["x", "y"]},
    }
    seen = whoami(load(forge.kubeconfig(forge.admin | somebody)))
    assert (seen["username"], seen["uid"]) == ("jane", "7")
    assert {"a", "b"} <= set(seen["groups"])
    assert seen["extra"]["example.com/scope"] == ["x", "y"]


def test_acting_as_somebody_has_that_ones_rights(forge: Forge, admin: Client, namespace: str) -> None:
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]
    role = admin.create(ROLE, {"metadata": {"name": namespace}, "rules": rules}).object
    subject = {"kind": "Group", "name": namespace, "apiGroup": ROLE.group}
    reference = {"kind": "ClusterRole", "name": namespace, "apiGroup": ROLE.group}
    body = {"metadata": {"name": namespace}, "roleRef": reference, "subjects": [subject]}
    binding = admin.create(BINDING, body).object
    as_reader = load(forge.kubeconfig(), impersonate=Impersonation("jane", groups=("x", namespace)))
    with Client(as_reader) as client:
        # the controllers put one into each namespace, a moment after it was made
        assert until(lambda: list(client.list(CONFIG_MAP, namespace)))
        with pytest.raises(errors.Forbidden):
            list(client.list(POD, namespace))
    admin.delete(BINDING, namespace, uid=binding["metadata"]["uid"])
    admin.delete(ROLE, namespace, uid=role["metadata"]["uid"])


@pytest.mark.parametrize("version", [V1, V1BETA1])
def test_a_plugin_hands_out_a_token_which_is_kept_until_it_expires(
    forge: Forge, admin: Client, namespace: str, tmp_path: Path, version: str
) -> None:
    plugin = Plugin(tmp_path / "plugin", version)
    issued = {"token": token(admin, namespace)}
    plugin.answers(
        {**issued, "expirationTimestamp": in_an_hour(-1)}, {**issued, "expirationTimestamp": in_an_hour()}
    )
    with Client(load(forge.kubeconfig(plugin.user()))) as client:
        for _ in range(3):
            assert ask(client)["username"] == f"system:serviceaccount:{namespace}:default"
    assert plugin.runs == 2


def test_a_plugin_is_asked_again_when_the_server_refuses_its_token(
    forge: Forge, admin: Client, namespace: str, tmp_path: Path
) -> None:
    plugin = Plugin(tmp_path / "plugin")
    plugin.answers({"token": "stale"}, {"token": token(admin, namespace)})
    with Client(load(forge.kubeconfig(plugin.user()))) as client:
        assert ask(client)["username"] == f"system:serviceaccount:{namespace}:default"
        assert ask(client)
    assert plugin.runs == 2


def test_a_plugin_whose_tokens_are_refused_is_not_asked_for_ever(forge: Forge, tmp_path: Path) -> None:
    plugin = Plugin(tmp_path / "plugin")
    plugin.answers({"token": "stale"})
    with pytest.raises(errors.Unauthorized):
        whoami(load(forge.kubeconfig(plugin.user())))
    assert plugin.runs == 2


def test_a_plugin_hands_out_a_certificate_which_is_renewed(forge: Forge, tmp_path: Path) -> None:
    plugin = Plugin(tmp_path / "plugin")
    statuses = []
    for user, hours in (("jane", -1.0), ("jane", -1.0), ("john", 1.0)):
        certificate, key = forge.certificate(user, user)
        pair = {"clientCertificateData": certificate.read_text(), "clientKeyData": key.read_text()}
        statuses.append({**pair, "expirationTimestamp": in_an_hour(hours)})
    plugin.answers(*statuses)
    with Client(load(forge.kubeconfig(plugin.user()))) as client:
        names = [ask(client)["username"] for _ in range(3)]
    assert names[-1] == "john"
    assert plugin.runs == 3


def test_a_plugin_is_told_of_the_cluster_only_if_it_asks(forge: Forge, tmp_path: Path) -> None:
    plugin = Plugin(tmp_path / "plugin")
    plugin.answers({"token": "any"})
    extension = [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "here"}}]
    arguments = {"args": ["get", "token"], "env": [{"name": "COLOUR", "value": "red"}]}
    load(forge.kubeconfig(plugin.user(**arguments), extensions=extension)).headers()
    assert plugin.told == {"kind": "ExecCredential", "apiVersion": V1, "spec": {"interactive": False}}
    assert plugin.argv == "get token red"
    load(forge.kubeconfig(plugin.user(provideClusterInfo=True), extensions=extension)).headers()
    assert plugin.told["spec"]["cluster"] == {
        "server": forge.cluster["server"],
        "certificate-authority-data": forge.cluster["certificate-authority-data"],
        "config": {"audience": "here"},
    }


def test_a_plugin_beside_its_kubeconfig_is_found_there(
    forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = Plugin(tmp_path / "plugin")
    plugin.answers({"token": "any"})
    monkeypatch.chdir("/")
    made = load(forge.kubeconfig(plugin.user(command="./plugin/plugin")))
    assert made.headers() == [("Authorization", "Bearer any")]


SECRET = "s3cr3t-t0k3n"


def printing(version: str, **answer: Any) -> str:
    return f"echo '{json.dumps({'kind': 'ExecCredential', 'apiVersion': version, **answer})}'"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo please log in >&2; exit 3", "exit code 3: please log in"),
        (f"echo {SECRET}", "printed no ExecCredential"),
        (
            printing(V1BETA1, status={"token": SECRET}),
            "where client.authentication.k8s.io/v1 ExecCredential is",
        ),
        (printing(V1), "without a status"),
        (printing(V1, status={}), "neither a token nor a certificate"),
        (printing(V1, status={"clientKeyData": SECRET}), "not both"),
        (
            printing(V1, status={"token": SECRET, "expirationTimestamp": "2030-01-01T00:00:00"}),
            "no time zone",
        ),
        (printing(V1, status={"token": f"{SECRET} x"}), "characters that a token cannot"),
        ("head -c 2000000 /dev/zero", "more than 1048576 bytes"),
        ("sleep 60 & sleep 60", "did not finish in 1 seconds"),
    ],
)
def test_a_plugin_that_fails_is_named_and_its_output_kept_quiet(
    forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.setattr("shiplift.kube.credentials.plugin.TIMEOUT_SECONDS", 1.0)
    program = script(tmp_path / "failing", f"#!/bin/sh\n{text}\n")
    made = load(
        forge.kubeconfig({"exec": {"command": str(program), "apiVersion": V1, "interactiveMode": "Never"}})
    )
    with pytest.raises(errors.CredentialsError, match=message) as error:
        made.headers()
    assert str(program) in str(error.value)
    assert SECRET not in str(error.value)


def test_a_plugin_that_is_not_installed_says_how_to_get_it(forge: Forge) -> None:
    exec_ = {
        "command": "no-such-plugin",
        "apiVersion": V1BETA1,
        "installHint": "get it\x1b[31m from the shop",
    }
    with pytest.raises(errors.CredentialsError, match=r"get it .*from the shop") as error:
        load(forge.kubeconfig({"exec": exec_})).headers()
    assert "\x1b" not in str(error.value)


def test_a_plugin_that_must_talk_to_a_person_needs_a_terminal(forge: Forge, tmp_path: Path) -> None:
    plugin = Plugin(tmp_path / "plugin")
    plugin.answers({"token": "any"})
    with pytest.raises(errors.CredentialsError, match="wants a terminal"):
        load(forge.kubeconfig(plugin.user(interactiveMode="Always"))).headers()


def test_many_threads_run_a_plugin_once(forge: Forge, tmp_path: Path) -> None:
    plugin = Plugin(tmp_path / "plugin")
    plugin.answers({"token": "any"})
    made = load(forge.kubeconfig(plugin.user()))
    threads = [threading.Thread(target=made.headers) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert plugin.runs == 1


def test_a_proxy_is_gone_through_with_its_login(forge: Forge) -> None:
    login = base64.b64encode(b"me:pw").decode()
    with connect_proxy(login) as proxy:
        path = forge.kubeconfig(**{"proxy-url": f"http://me:pw@127.0.0.1:{proxy.port}"})
        assert whoami(load(path))["username"] == "shiplift-admin"
        target = forge.cluster["server"].removeprefix("https://")
        assert proxy.requests[0].startswith(f"CONNECT {target} HTTP/1.1\r\n")
        with load(path).open(5) as opened:
            assert isinstance(opened, ssl.SSLSocket)


def test_a_proxy_that_refuses_us_is_named_without_its_login(forge: Forge) -> None:
    with connect_proxy("other") as proxy:
        path = forge.kubeconfig(**{"proxy-url": f"http://me:{SECRET}@127.0.0.1:{proxy.port}"})
        with pytest.raises(errors.Unreachable, match="407") as error:
            whoami(load(path))
        assert SECRET not in repr(error.value)


def test_a_proxy_that_is_not_there_is_unreachable(forge: Forge) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(errors.Unreachable, match=f"port {port}"):
        whoami(load(forge.kubeconfig(**{"proxy-url": f"http://127.0.0.1:{port}"})))


def test_a_proxy_that_says_nothing_is_given_up_on(forge: Forge) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(errors.Unreachable):
            load(forge.kubeconfig(**{"proxy-url": url})).open(0.5)
