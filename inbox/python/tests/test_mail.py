"""The example that sends an e-mail, with a mail server of the test."""

from __future__ import annotations

import socketserver
import sys
import threading
import uuid
from collections.abc import Iterator

import pytest
from database import DSN, execute
from test_package import HERE, run


class MailServer(socketserver.ThreadingTCPServer):
    """As much SMTP as one message needs. Keeps what it was sent; refuses `nobody`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), MailSession)
        self.messages: list[str] = []


class MailSession(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, MailServer)
        self.wfile.write(b"220 ready\r\n")
        while line := self.rfile.readline():
            verb = line[:4].upper()
            if verb == b"DATA":
                self.wfile.write(b"354 go ahead\r\n")
                lines = iter(self.rfile.readline, b".\r\n")
                self.server.messages.append(b"".join(lines).decode())
            refused = verb == b"RCPT" and b"nobody" in line
            self.wfile.write(b"550 no such mailbox\r\n" if refused else b"250 done\r\n")


@pytest.fixture
def server() -> Iterator[MailServer]:
    with MailServer() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def confirm(server: MailServer, order: str, to: str) -> str:
    host, port = server.server_address[:2]
    environment = {"ONCEWARD_DSN": DSN, "SMTP": f"{host!s}:{port}", "PYTHONPATH": str(HERE / "src")}
    return run(sys.executable, str(HERE / "examples" / "mail.py"), order, to, **environment)


@pytest.mark.usefixtures("database")
def test_a_mail_is_sent_once_and_carries_the_downstream_key(server: MailServer) -> None:
    order = f"order-{uuid.uuid4()}"
    said = confirm(server, order, "me@example.org").splitlines()
    assert said == confirm(server, order, "me@example.org").splitlines()
    [message] = server.messages
    [[key]] = execute(
        "SELECT onceward.downstream_key(onceward.key_digest('confirm order', '', 'id', %s))", order
    )
    assert set(said) == {f"<{key}@example.org>"}
    assert f"Message-ID: <{key}@example.org>" in message


@pytest.mark.usefixtures("database")
def test_a_refused_address_is_not_tried_again(server: MailServer) -> None:
    order = f"order-{uuid.uuid4()}"
    for _ in range(2):
        with pytest.raises(AssertionError, match="550.*refused"):
            confirm(server, order, "nobody@example.org")
    assert server.messages == []
    state = "SELECT state, status FROM onceward.leases WHERE digest = onceward.key_digest("
    assert execute(state + "'confirm order', '', 'id', %s)", order) == [("failed", 550)]
