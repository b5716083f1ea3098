"""A server of files on this machine, which can also misbehave."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextlib.contextmanager
def serving(
    files: Mapping[str, bytes], *, declared: int | None = None, silent: bool = False
) -> Iterator[tuple[str, list[str]]]:
    """Its address, and the paths that were asked for; others than those of ``files`` are 404.

    declared: the length that it announces, whatever it sends.
    silent: it announces none.
    """
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            content = files.get(self.path.lstrip("/"))
            if content is None:
                self.send_error(404)
                return
            self.send_response(200)
            if not silent:
                self.send_header("Content-Length", str(declared or len(content)))
            self.end_headers()
            with contextlib.suppress(OSError):  # whoever has seen enough hangs up
                self.wfile.write(content)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
