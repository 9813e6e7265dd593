"""As once.cc, with the inbox's Python package: DSN LEDGER OPERATION KIND TABLE."""

from __future__ import annotations

import sys
from typing import Any

import psycopg
from psycopg_pool import ConnectionPool

from onceward_inbox import Inbox, once

DSN, LEDGER, OPERATION, KIND, TABLE = sys.argv[1:]
POOL = ConnectionPool(DSN, min_size=1, max_size=1, open=True)


@once(Inbox(OPERATION, kind=KIND, ledger=LEDGER), POOL.connection, key="key")
def take_effect(tx: psycopg.Connection[Any], key: str, value: int) -> dict[str, int]:
    tx.execute(f"INSERT INTO {TABLE} VALUES (%s, %s)", [int(key), value])
    return {"value": value}


for line in sys.stdin:
    name, text = line.split()
    stored = take_effect(name, int(text))["value"]
    # No two calls have the same value.
    print("fresh" if stored == int(text) else "duplicate", stored, flush=True)
