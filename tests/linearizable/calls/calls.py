"""As once.cc, with the inbox's Python package.

DSN LEDGER OPERATION KIND TABLE [RETENTION MINTED]
"""

from __future__ import annotations

import sys
from typing import Any

import psycopg
from psycopg_pool import ConnectionPool

from onceward_inbox import ConflictError, ExpiredError, Inbox, minted_at_of_uuid7, once

DSN, LEDGER, OPERATION, KIND, TABLE = sys.argv[1:6]
MINTED_AT = minted_at_of_uuid7 if sys.argv[7:] == ["uuid7"] else None
POOL = ConnectionPool(DSN, min_size=1, max_size=1, open=True)


@once(Inbox(OPERATION, kind=KIND, ledger=LEDGER), POOL.connection, key="key", minted_at=MINTED_AT)
def take_effect(tx: psycopg.Connection[Any], key: str, value: int) -> dict[str, int]:
    tx.execute(f"INSERT INTO {TABLE} VALUES (%s, %s)", [key, value])
    return {"value": value}


for line in sys.stdin:
    name, text = line.split()
    try:
        stored = take_effect(name, int(text))["value"]
    except (ExpiredError, ConflictError) as refused:
        print("late 0" if isinstance(refused, ExpiredError) else "conflict 0", flush=True)
        continue
    # No two calls have the same value.
    print("fresh" if stored == int(text) else "duplicate", stored, flush=True)
