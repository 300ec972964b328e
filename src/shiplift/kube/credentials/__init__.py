"""Credentials: where the API server is and how we prove ourselves, for writes and store alike.

`load` finds them as kubectl does. A `Credentials` stays valid while tokens, certificates and plugins rotate
beneath it: ask it again for each request and each connection. It never shows a secret.
"""

from shiplift.kube.credentials.address import Proxy, Server
from shiplift.kube.credentials.connect import hang_up
from shiplift.kube.credentials.identity import Impersonation
from shiplift.kube.credentials.live import Credentials
from shiplift.kube.credentials.loading import load

__all__ = ["Credentials", "Impersonation", "Proxy", "Server", "hang_up", "load"]
