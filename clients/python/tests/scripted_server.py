"""An HTTP server on 127.0.0.1 that answers as it is told, one answer after the other."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    cut: str = ""  # the connection: `before` anything is answered, in the `head`, in the `body`


@dataclass(frozen=True)
class Seen:
    method: str
    target: str
    headers: dict[str, str]  # names in lower case
    body: bytes

    @property
    def key(self) -> str:
        return self.headers.get("idempotency-key", "")


def problem(status: int, name: str, retry_after: int | None = None, **members: Any) -> Reply:
    headers = {"Content-Type": "application/problem+json"}
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    kind = {"type": f"/onceward/problems/{name}", "title": name, "status": status}
    return Reply(status, headers, json.dumps(kind | members).encode())


CUT = Reply(cut="before")
CUT_IN_HEAD = Reply(cut="head")
CUT_IN_BODY = Reply(body=b"half of it", cut="body")
IN_FLIGHT = problem(409, "key-in-flight", 0)
UNAVAILABLE = problem(503, "unavailable")
REPLAYED = Reply(201, {"Idempotent-Replayed": "true"}, b'{"id":7}')


class ScriptedServer:
    """`replies` in their order; the last one for all further requests."""

    def __init__(self, *replies: Reply, on_request: Callable[[Seen], None] | None = None) -> None:
        self.seen: list[Seen] = []
        script = list(replies)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(handler) -> None:  # noqa: N805
                length = int(handler.headers.get("Content-Length", "0"))
                seen = Seen(
                    handler.command,
                    handler.path,
                    {name.lower(): value for name, value in handler.headers.items()},
                    handler.rfile.read(length),
                )
                self.seen.append(seen)
                if on_request is not None:
                    on_request(seen)
                reply = script.pop(0) if len(script) > 1 else script[0]
                if reply.cut in ("before", "head"):
                    if reply.cut == "head":
                        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Le")
                    handler.close_connection = True
                    return
                handler.send_response(reply.status)
                for name, value in reply.headers.items():
                    handler.send_header(name, value)
                extra = 10 if reply.cut else 0
                handler.send_header("Content-Length", str(len(reply.body) + extra))
                handler.end_headers()
                handler.wfile.write(reply.body)
                handler.close_connection = bool(reply.cut)

            do_GET = do_POST = do_PUT = answer

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def keys(self) -> list[str]:
        return [seen.key for seen in self.seen]

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
