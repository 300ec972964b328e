"""The Secrets that the tests' providers are asked with."""

from __future__ import annotations

import base64
import json

from shiplift.facts.kinds import SECRET
from shiplift.kube.client import Client
from tests.policy.ocm_server import AUTH

TOKEN = "t0ken-of-the-document-server"


def pull_secret(auth: str = AUTH) -> str:
    held = {
        "auths": {"cloud.openshift.com": {"auth": auth, "email": "x@example"}, "quay.io": {"auth": "eA=="}}
    }
    return base64.b64encode(json.dumps(held).encode()).decode()


def put_secrets(client: Client, namespace: str) -> None:
    """The token of a document server, and a pull secret."""
    token = base64.b64encode(TOKEN.encode()).decode()
    client.create(SECRET, {"metadata": {"name": "chat"}, "data": {"token": token}}, namespace)
    data = {".dockerconfigjson": pull_secret()}
    body = {"metadata": {"name": "pull"}, "type": "kubernetes.io/dockerconfigjson", "data": data}
    client.create(SECRET, body, namespace)
