"""A page with PRISM behind it, for this machine alone: slices that the file does not hold are computed when asked for.

GET /                              the page
GET /slices?coordinates=x1,x17     slices of other coordinates, as JSON
"""

import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from prism.errors import InputError, PrismError
from prism.files.encoding import json_text

HOST, HTTP_PORT = "127.0.0.1", 80
LONGEST_QUESTION = 2_000
"""Characters of an address that is asked for."""
Slices = Callable[[list[str]], Mapping[str, object]]


class PageServer(ThreadingHTTPServer):
    """Answers to browsers of this machine, one piece of work after the other.

    The port is bound at once, so that one in use is refused before the page is made; `offer` then answers.
    """

    daemon_threads = True

    def __init__(self, port: int):
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"cannot serve on port {port} ({reason}); choose another with --port") from error
        self.working = threading.Lock()

    def offer(self, page: str, slices: Slices) -> None:
        """Answer with this page, and slices of other coordinates, until the process ends."""
        self.page, self.slices = page, slices
        self.serve_forever()

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_address[1]}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that left before the end has what it wanted."""


class _Handler(BaseHTTPRequestHandler):
    server: PageServer  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_GET(self) -> None:
        """Answer / and /slices; a request that a page of another site makes, or one for another host, is refused."""
        port = self.server.server_address[1]
        ours = {f"{HOST}:{port}", f"localhost:{port}", *((HOST, "localhost") if port == HTTP_PORT else ())}
        if self.headers.get("Host") not in ours or self.headers.get("Sec-Fetch-Site") == "cross-site":
            self._answer(HTTPStatus.FORBIDDEN, {"error": f"ask at {self.server.address}"})
            return
        try:
            asked = urlsplit(self.path[:LONGEST_QUESTION])
        except ValueError as error:
            self._answer(HTTPStatus.BAD_REQUEST, {"error": f"that is no address ({error})"})
            return
        if asked.path == "/":
            self._send(HTTPStatus.OK, "text/html; charset=utf-8", self.server.page.encode())
        elif asked.path == "/slices":
            names = parse_qs(asked.query).get("coordinates", [""])[0].split(",")
            self._answer_slices([name.strip() for name in names if name.strip()])
        else:
            self._answer(HTTPStatus.NOT_FOUND, {"error": f"there is no {asked.path}"})

    def _answer_slices(self, names: list[str]) -> None:
        try:
            with self.server.working:
                found = self.server.slices(names)
        except PrismError as error:
            self._answer(HTTPStatus.BAD_REQUEST, {"error": str(error)})
        except Exception as error:  # the page says what JAX, or a family of the user's own, raised
            self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": f"{type(error).__name__}: {error}"})
        else:
            self._answer(HTTPStatus.OK, found)

    def _answer(self, status: HTTPStatus, content: Mapping[str, object]) -> None:
        self._send(status, "application/json", json_text(content).encode())

    def _send(self, status: HTTPStatus, content_type: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Requests are not logged."""
