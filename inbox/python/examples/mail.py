"""Sends an e-mail once for each order, by SMTP, under a lease.

ONCEWARD_DSN='postgresql://me@localhost/shop' SMTP=localhost:25 \\
    python mail.py order-17 me@example.org
"""

from __future__ import annotations

import os
import smtplib
import sys
from contextlib import closing
from email.message import EmailMessage
from typing import Any
from uuid import UUID

import psycopg

from onceward_inbox import Failed, Inbox, once

DSN = os.environ["ONCEWARD_DSN"]
HOST, _, PORT = os.environ.get("SMTP", "localhost:25").partition(":")


def connect() -> psycopg.Connection[Any]:
    """Any pool does as well: `pool.connection`."""
    return psycopg.connect(DSN)


@once(Inbox("confirm order", ledger="mails"), connect, key="order", mode="outside", hold=60)
def confirm(downstream_key: UUID, order: str, to: str) -> dict[str, str]:
    """Runs with no transaction open. It runs again only if its end was not stored."""
    message = EmailMessage()
    message["From"], message["To"] = "shop@example.org", to
    message["Subject"] = f"Your order {order}"
    # The same for each try, so that a mailbox can drop the second copy.
    message["Message-ID"] = f"<{downstream_key}@example.org>"
    message.set_content("Thank you.")
    try:
        # Closed without QUIT: an error there would hide that the mail was accepted.
        with closing(smtplib.SMTP(HOST, int(PORT), timeout=20)) as server:
            server.send_message(message)
    except smtplib.SMTPRecipientsRefused as refused:
        # For good: the next call gets this answer and sends nothing.
        [(code, _)] = refused.recipients.values()
        raise Failed(code, "the address is refused") from refused
    return {"message": str(message["Message-ID"])}


def main() -> None:
    order, to = sys.argv[1:]
    with connect() as connection:
        connection.execute("SELECT onceward.register_ledger('mails', 'lease', retention => '7 d')")
    for _ in range(2):
        print(confirm(order, to)["message"])


if __name__ == "__main__":
    main()
