"""A server on the loopback address that answers what a test says."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from glossa.translate.corpora import servers


@pytest.fixture
def stub(monkeypatch):
    """A server that gives prepared answers (status, headers, body), or functions of the request that do, in
    turn, the last one again and again."""
    monkeypatch.setattr(servers, "WAIT", 0.001)
    waited = []
    monkeypatch.setattr(servers.time, "sleep", waited.append)

    class Handler(BaseHTTPRequestHandler):
        answers, asked = [], []

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.asked.append((self.path, json.loads(body), self.headers.get("Authorization")))
            given = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            status, headers, text = given(self.asked[-1][1]) if callable(given) else given
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text if isinstance(text, bytes) else json.dumps(text).encode())

        def log_message(self, *_):
            pass

    Handler.waited = waited
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        Handler.url = f"http://127.0.0.1:{server.server_port}"
        yield Handler
        server.shutdown()
        thread.join()
