"""Takes CloudEvents on this computer and prints what each is about: `python receiver.py PORT`."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        print(f"{event['type']}: {event['data']['message']}", flush=True)
        self.send_response(202)
        self.end_headers()


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
