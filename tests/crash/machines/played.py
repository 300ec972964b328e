#!/usr/bin/python3 -IS
"""The slow software of a machine, played: kubeadm, apt, dpkg and systemctl as far as bootstrap can tell.

What matters is real: files are written where the real ones write them, the cluster is a real API server, a
token is good or refused by it, a restart ends every process of the machine. Standard library only; found by
the name by which it is called. Every call is written down in a file that is not the machine's.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

Json = dict[str, Any]
RIG = Path(os.environ.get("SHIPLIFT_RIG") or "/usr/local/sbin")
ROOT = Path(os.environ.get("SHIPLIFT_ROOT") or "/")
NAMES = ("kubeadm", "kubectl", "apt-get", "apt-mark", "dpkg", "dpkg-query", "systemctl")
ETC = ROOT / "etc/kubernetes"
ADMIN = ETC / "admin.conf"
MEMBER = ROOT / "var/lib/etcd/member"
PACKAGES = ROOT / "var/lib/dpkg/packages.json"
MARK = ROOT / "var/lib/shiplift/bootstrap/mark.json"
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
DICE = random.SystemRandom()


class RefusedError(Exception):
    """The program ends with an exit code, and says why."""


def world() -> Json:
    return json.loads((RIG / "world.json").read_text())


# --- what is written down ---


def note(what: str, began: Json | None = None, **more: object) -> Json:
    """A line in one piece."""
    now = time.monotonic_ns()
    line = {"at": now, "id": now, **(began or described()), "what": what, **more}
    line["at"] = now
    with open(RIG / "events", "ab", buffering=0) as file:
        file.write(json.dumps(line).encode() + b"\n")
    return line


def described() -> Json:
    here = Path.cwd()
    try:
        mark = json.loads(MARK.read_text())
    except (OSError, ValueError):
        mark = {}
    return {
        "machine": world()["machine"],
        "words": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "entry": here.name,
        "recorded": (here / "record.json").exists() and (here / "begun").exists(),
        "cluster": mark.get("cluster", ""),
        "first": mark.get("first", ""),
    }


@contextlib.contextmanager
def running(**more: object) -> Generator[Json]:
    """From the beginning of a program to its end, and how that was."""
    began = note("began", **more)
    try:
        yield began
    except RefusedError:
        note("ended", began, code=1)
        raise
    note("ended", began)


def middle(began: Json) -> None:
    """Long enough for somebody to pull the plug."""
    note("middle", began)
    time.sleep(world()["seconds"])


def secret(text: str) -> str:
    """One that nobody may find on a machine, or in what is said."""
    with open(RIG / "secrets", "ab", buffering=0) as file:
        file.write(text.encode() + b"\n")
    return text


# --- the API server ---


def kubectl(*words: str, given: object = None, admin: bool = True) -> str:
    login = [f"--kubeconfig={RIG / 'cluster.conf'}" if admin else "--kubeconfig=/dev/null"]
    done = subprocess.run(
        [world()["kubectl"], *login, *words],
        input=json.dumps(given).encode() if given is not None else b"",
        capture_output=True,
        env={**os.environ, "KUBECACHEDIR": str(RIG / "cache")},
        check=False,
    )
    if done.returncode:
        raise RefusedError(done.stderr.decode().strip())
    return done.stdout.decode()


def create_node(name: str, labels: Json, ready: bool) -> None:
    """As a kubelet registers itself; one of that name that is there already is its own."""
    status = {
        "nodeInfo": {"machineID": (ROOT / "etc/machine-id").read_text().strip()},
        "conditions": [{"type": "Ready", "status": str(ready)}],
    }
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": status,
    }
    try:
        kubectl("create", "--validate=false", "--filename=-", given=node)
    except RefusedError as error:
        if "AlreadyExists" not in str(error):
            raise


# --- kubeadm ---


def kubeadm(words: list[str]) -> None:
    if words[0] == "token":
        print(token(next(one for one in words if one.startswith("--ttl=")).partition("=")[2]))
    elif words[:3] == ["init", "phase", "upload-certs"]:
        print(uploaded())
    elif words[:2] == ["config", "validate"]:
        documents(words[2].removeprefix("--config="))
    else:
        {"init": init, "join": join, "reset": reset}[words[0]]()


def documents(name: str) -> Json:
    """By kind, as bootstrap writes them."""
    found = [json.loads(one) for one in Path(name).read_text().split("---\n")]
    return {one["kind"]: one for one in found}


def check_clean() -> None:
    """kubeadm begins nothing on top of what it has left behind."""
    if (ETC / "pki/ca.crt").exists() or (ETC / "kubelet.conf").exists() or MEMBER.exists():
        raise RefusedError("[ERROR FileAvailable]: something of kubeadm is there already")


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def labels(registration: Json) -> Json:
    given = [one["value"] for one in registration.get("kubeletExtraArgs", []) if one["name"] == "node-labels"]
    return dict(one.split("=", 1) for one in given[0].split(",")) if given else {}


def control_plane() -> None:
    put(ETC / "manifests/kube-apiserver.yaml", "played: true\n")
    MEMBER.mkdir(parents=True, exist_ok=True)
    put(ADMIN, (RIG / "cluster.conf").read_text())


def init() -> None:
    registration = documents("init.yaml")["InitConfiguration"]["nodeRegistration"]
    with running() as began:
        check_clean()
        put(ETC / "pki/ca.crt", (RIG / "ca.crt").read_text())
        middle(began)
        control_plane()
        create_node(registration["name"], labels(registration), False)
        put(ETC / "kubelet.conf", "played: true\n")


def join() -> None:
    given = documents("join.yaml")["JoinConfiguration"]
    plane = given.get("controlPlane")
    registration = given["nodeRegistration"]
    with running(control_plane=plane is not None) as began:
        check_clean()
        check_discovery(given["discovery"]["bootstrapToken"])
        if plane is not None:
            check_certificates(plane["certificateKey"])
        put(ETC / "pki/ca.crt", (RIG / "ca.crt").read_text())
        middle(began)
        if plane is not None:
            control_plane()
        create_node(registration["name"], labels(registration), True)
        put(ETC / "kubelet.conf", "played: true\n")


def check_discovery(given: Json) -> None:
    """The CA is known by its digest, and the token is one that the API server takes."""
    known = world()
    if given["caCertHashes"] != [known["ca_hash"]] or given["apiServerEndpoint"] != known["endpoint"]:
        raise RefusedError("this is another cluster")
    server = [f"--server=https://{known['endpoint']}", f"--certificate-authority={RIG / 'ca.crt'}"]
    kubectl(*server, f"--token={given['token']}", "get", "--raw=/api", admin=False)


def check_certificates(key: str) -> None:
    stored = json.loads(kubectl("get", "secret", "kubeadm-certs", "--namespace=kube-system", "--output=json"))
    if stored["metadata"]["annotations"]["played"] != digest(key):
        raise RefusedError("the certificates cannot be decrypted with that key")


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def token(ttl: str) -> str:
    first, rest = ("".join(DICE.choice(LETTERS) for _ in range(number)) for number in (6, 16))
    ends = datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=int(ttl.rstrip("m")))
    given = {
        "token-id": first,
        "token-secret": rest,
        "usage-bootstrap-authentication": "true",
        "usage-bootstrap-signing": "true",
        "expiration": ends.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    about = {"name": f"bootstrap-token-{first}", "namespace": "kube-system"}
    kind = {"apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token"}
    with running():
        kubectl("create", "--filename=-", given={**kind, "metadata": about, "stringData": given})
    return secret(f"{first}.{rest}")


def uploaded() -> str:
    key = secret("".join(DICE.choice("0123456789abcdef") for _ in range(64)))
    about = {
        "name": "kubeadm-certs",
        "namespace": "kube-system",
        "annotations": {"played": digest(key)},
    }
    kubectl("apply", "--filename=-", given={"apiVersion": "v1", "kind": "Secret", "metadata": about})
    return f"[upload-certs] Using certificate key:\n{key}"


def reset() -> None:
    with running():
        for path in sorted([*ETC.rglob("*"), MEMBER], reverse=True):
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink(missing_ok=True)


# --- packages ---


def installed() -> Json:
    return json.loads(PACKAGES.read_text()) if PACKAGES.exists() else {}


def apt_get(words: list[str]) -> None:
    if "install" not in words:
        return
    asked = [one for one in words[words.index("install") + 1 :] if not one.startswith("--")]
    with running() as began:
        middle(began)
        fresh = PACKAGES.with_name(".packages")
        fresh.write_text(json.dumps({**installed(), **dict(map(package, asked))}))
        fresh.rename(PACKAGES)


def package(asked: str) -> tuple[str, str]:
    """A name with its version, or a file."""
    if "=" in asked:
        name, _, version = asked.partition("=")
        return name, version.replace("-*", "-1.1")
    shown = ["/usr/bin/dpkg-deb", "--show", "--showformat=${Package} ${Version}", asked]
    name, version = subprocess.run(shown, capture_output=True, text=True, check=True).stdout.split()
    return name, version


def apt_mark(words: list[str]) -> None:
    with running():
        pass


def dpkg(words: list[str]) -> None:
    if words[-2:] != ["--configure", "-a"]:
        raise RefusedError(f"dpkg {' '.join(words)} is not played")


def dpkg_query(words: list[str]) -> None:
    found = installed()
    for name in (one for one in words if one in found):
        print(f"{name}\t{found[name]}\tinstalled")


# --- the rest ---


def systemctl(words: list[str]) -> None:
    """The request is taken; a moment later every process of the machine ends."""
    if words != ["reboot"]:
        raise RefusedError(f"systemctl {' '.join(words)} is not played")
    with running():
        pass
    if os.fork() == 0:
        os.setsid()
        time.sleep(world()["seconds"])
        os.kill(1, signal.SIGTERM)
        os._exit(0)


def as_kubectl(words: list[str]) -> None:
    """The real one; when the pod network is there, kubelets say that their nodes are ready."""
    if "apply" not in words:
        os.environ["KUBECACHEDIR"] = str(RIG / "cache")
        os.execv(world()["kubectl"], ["kubectl", *words])
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    patch = ("patch", "node", world()["machine"], "--subresource=status", f"--patch={json.dumps(ready)}")
    with running() as began:
        middle(began)
        kubectl(*(one for one in words if not one.startswith("--kubeconfig=")))
        kubectl(*patch)


PROGRAMS = {
    "kubeadm": kubeadm,
    "kubectl": as_kubectl,
    "apt-get": apt_get,
    "apt-mark": apt_mark,
    "dpkg": dpkg,
    "dpkg-query": dpkg_query,
    "systemctl": systemctl,
}


def main() -> int:
    try:
        PROGRAMS[Path(sys.argv[0]).name](sys.argv[1:])
    except RefusedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
