"""A way to PostgreSQL that cuts a connection at its COMMIT: the answer never comes."""

from __future__ import annotations

import contextlib
import socket
import threading

import psycopg
from psycopg import conninfo


class CuttingProxy:
    """Cuts the first `cuts` connections that send COMMIT, after it or before it was forwarded."""

    def __init__(self, dsn: str, *, cuts: int = 1, forward: bool = True) -> None:
        with psycopg.connect(dsn) as connection:
            self._target = (connection.info.hostaddr or connection.info.host, connection.info.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.dsn = conninfo.make_conninfo(dsn, host="127.0.0.1", hostaddr="127.0.0.1", port=port)
        self._forward = forward
        self.left = cuts
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def _connect(self) -> socket.socket:
        host, port = self._target
        if host.startswith("/"):
            server = socket.socket(socket.AF_UNIX)
            server.connect(f"{host}/.s.PGSQL.{port}")
            return server
        return socket.create_connection((host, port))

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = self._connect()
                for pair in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._carry, args=pair, daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, asks: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if asks and b"COMMIT\0" in data and self.left > 0:
                    self.left -= 1
                    # First of all the client's end, so that no answer reaches it.
                    source.shutdown(socket.SHUT_RDWR)
                    if self._forward:
                        target.sendall(data)
                        target.recv(1)
                    break
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> CuttingProxy:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()
