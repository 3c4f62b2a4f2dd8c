"""An OTLP/HTTP receiver that may refuse for a while."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

from tests.services.process import HOST, free_port


class Receiver:
    """Keeps the bodies that it took in `taken`. While `refusing` it answers 503."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.refusing = False
        self.refused = 0
        outer = self

        class Answer(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if outer.refusing:
                    outer.refused += 1
                else:
                    outer.taken.append(body)
                self.send_response(503 if outer.refusing else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer((HOST, free_port()), Answer)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.url = f"http://{HOST}:{self._server.server_port}"

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
