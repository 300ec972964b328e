"""Serves a policy over https on this computer, to try the layer `policy`: `python policy_server.py FOLDER`.

The folder gets the policy (`policy.yaml`, to be edited) and `config.yaml`: the operator's settings that lead
here.
"""

import shutil
import ssl
import sys
import tempfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

from shiplift.local import pki

folder, keys = Path(sys.argv[1]), Path(tempfile.mkdtemp())
folder.mkdir()
pki.write_all(keys)
shutil.copy(Path(__file__).parent / "policy.yaml", folder)
server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder)))
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(keys / "server.crt", keys / "server.key")
server.socket = tls.wrap_socket(server.socket, server_side=True)
section = {
    "provider": "HTTP",
    "watchInterval": "10s",
    "http": {"url": f"https://127.0.0.1:{server.server_port}/policy.yaml"},
    "reach": {"private": ["127.0.0.0/8"], "authority": (keys / "ca.crt").read_text()},
}
(folder / "config.yaml").write_text(yaml.safe_dump({"configManager": section}))
server.serve_forever()
