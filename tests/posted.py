"""An HTTP server for what is posted to it."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from tests.services.process import HOST, free_port


class PostServer(ABC):
    """A context manager at `url`; what a subclass makes of a body is the status of the answer."""

    def __init__(self) -> None:
        received = self.received

        class Answer(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.send_response(received(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer((HOST, free_port()), Answer)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.url = f"http://{HOST}:{self._server.server_port}"

    @abstractmethod
    def received(self, body: bytes) -> int:
        """The status to answer with."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
