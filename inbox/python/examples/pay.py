"""Pays an order once: claim, row and result are one transaction of PostgreSQL.

ONCEWARD_DSN='postgresql://me@localhost/shop' python pay.py order-17
"""

from __future__ import annotations

import os
import sys
from typing import Any
from uuid import UUID

import psycopg

from onceward_inbox import Inbox, once

DSN = os.environ["ONCEWARD_DSN"]


def connect() -> psycopg.Connection[Any]:
    """Any pool does as well: `pool.connection`."""
    return psycopg.connect(DSN)


@once(Inbox("pay", ledger="payments"), connect, key="order")
def pay(tx: psycopg.Connection[Any], order: str, cents: int) -> dict[str, Any]:
    """Runs in the transaction that claims the key `order`."""
    tx.execute("INSERT INTO payments (order_id, cents) VALUES (%s, %s)", [order, cents])
    return {"order": order, "cents": cents}


@once(Inbox("charge", ledger="calls"), connect, key="order", mode="outside", hold=30)
def charge(downstream_key: UUID, order: str, cents: int) -> dict[str, Any]:
    """Here the other system is called, with the header `Idempotency-Key: {downstream_key}`."""
    print(f"charging {cents} cents for {order} under the key {downstream_key}")
    return {"charge": f"ch_{downstream_key.hex[:8]}"}


def main() -> None:
    with connect() as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS payments (order_id text, cents integer)")
        connection.execute("SELECT onceward.register_ledger('payments')")
        connection.execute("SELECT onceward.register_ledger('calls', 'lease')")
    order = sys.argv[1] if len(sys.argv) > 1 else "order-17"
    for _ in range(2):
        print(pay(order, 1999), charge(order, 1999))
    with connect() as connection:
        rows = connection.execute("SELECT count(*) FROM payments WHERE order_id = %s", [order])
        print(f"{rows.fetchall()[0][0]} payment of {order}")


if __name__ == "__main__":
    main()
