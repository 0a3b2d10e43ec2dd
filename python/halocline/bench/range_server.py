# SPDX-License-Identifier: Apache-2.0
"""A folder as a read-only web server with byte ranges on loopback: what a key store is read from."""

from __future__ import annotations

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_RANGE = re.compile(r"bytes=(\d+)-(\d+)")


class RangeServer:
    """`with RangeServer(folder) as server:` serves its files on `server.port`."""

    def __init__(self, folder: Path) -> None:
        root = folder.resolve()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                path = (root / self.path.lstrip("/")).resolve()
                if not path.is_relative_to(root) or not path.is_file():
                    self._answer(404, b"")
                    return
                asked = _RANGE.fullmatch(self.headers.get("Range", ""))
                with path.open("rb") as file:
                    size = path.stat().st_size
                    if asked is None:
                        self._answer(200, file.read())
                        return
                    first, last = int(asked[1]), min(int(asked[2]), size - 1)
                    file.seek(first)
                    about = f"bytes {first}-{last}/{size}"
                    self._answer(206, file.read(last - first + 1), about)

            def _answer(self, status: int, body: bytes, content_range: str | None = None) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                if content_range is not None:
                    self.send_header("Content-Range", content_range)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *values: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, name="ranges", daemon=True)

    def __enter__(self) -> RangeServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
