"""The database of the tests, and one form of its four kinds of connections."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import Any

import psycopg
import sqlalchemy
from psycopg import conninfo
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import sessionmaker
from sqlalchemy.pool import NullPool

from onceward_inbox import Inbox

DSN = os.environ.get("ONCEWARD_TEST_DSN", "")
# The same database through PgBouncer in transaction mode, with two sessions of the server.
POOLER = os.environ.get("ONCEWARD_TEST_POOLER_DSN", "")
# What psycopg needs there: no statement that is prepared in a session.
POOLED: dict[str, Any] = {"prepare_threshold": None}
KINDS = ["psycopg", "psycopg-async", "sqlalchemy", "sqlalchemy-async"]


def url(dsn: str) -> sqlalchemy.URL:
    """The DSN as SQLAlchemy takes it; libpq's parameters go into the query."""
    given = {name: str(value) for name, value in conninfo.conninfo_to_dict(dsn).items()}
    return sqlalchemy.URL.create("postgresql+psycopg", query=given)


def connect_of(kind: str, dsn: str = DSN, **options: Any) -> Any:
    """What lends connections of a kind, as `once` and the middleware take it."""
    if kind == "psycopg":
        return lambda: psycopg.connect(dsn, **options)
    if kind == "psycopg-async":
        return lambda: psycopg.AsyncConnection.connect(dsn, **options)
    more: Any = {"poolclass": NullPool, "connect_args": options}
    if kind == "sqlalchemy":
        return sessionmaker(sqlalchemy.create_engine(url(dsn), **more))
    return async_sessionmaker(create_async_engine(url(dsn), **more))


def execute(sql: str, *arguments: object) -> list[tuple[Any, ...]]:
    """Runs a statement over a connection of its own, and commits it."""
    with psycopg.connect(DSN, autocommit=True) as connection:
        cursor = connection.execute(sql.encode(), arguments or None)
        return cursor.fetchall() if cursor.description else []


class TestConnection:
    """A connection of one of the kinds. All methods are awaited; sync ones run in a thread."""

    __test__ = False

    def __init__(self, kind: str, dsn: str = DSN, **options: Any) -> None:
        self.kind = kind
        self.lend = connect_of(kind, dsn, **options)
        self.waits = kind.endswith("-async")
        self.tx: Any = None

    async def _do(self, call: Any, *arguments: Any, **named: Any) -> Any:
        if self.waits:
            return await call(*arguments, **named)
        return await asyncio.to_thread(call, *arguments, **named)

    async def open(self) -> None:
        lent = self.lend()
        self.tx = await lent if self.kind == "psycopg-async" else lent

    async def sql(self, text: str, *, alone: bool = False) -> Any:
        """Runs a statement and returns its cursor or result."""
        statement: Any = text.encode()
        if "sqlalchemy" in self.kind:
            statement = sqlalchemy.text(text)
        result = await self._do(self.tx.execute, statement)
        if alone:
            await self._do(self.tx.commit)
        return result

    async def row(self, text: str) -> tuple[Any, ...]:
        """Runs a statement and returns its first row."""
        row = (await self.sql(text)).fetchone()
        return tuple(await row if self.kind == "psycopg-async" else row)

    async def call(self, inbox: Inbox, name: str, *arguments: Any, **named: Any) -> Any:
        return await self._do(getattr(inbox, name), self.tx, *arguments, **named)

    async def commit(self) -> None:
        try:
            await self._do(self.tx.commit)
        except Exception:
            # A session of SQLAlchemy has to be rolled back after a COMMIT that failed.
            await self._do(self.tx.rollback)
            raise

    async def rollback(self) -> None:
        await self._do(self.tx.rollback)

    async def break_off(self) -> None:
        """Closes the connection without a word to the server."""
        driver = self.tx
        if "sqlalchemy" in self.kind:
            raw = await self._do(self.tx.connection)
            if self.waits:
                raw = await raw.get_raw_connection()
                driver = raw.driver_connection
            else:
                driver = raw.connection.driver_connection
        with socket.socket(fileno=os.dup(driver.fileno())) as copy:
            copy.shutdown(socket.SHUT_RDWR)
        if "sqlalchemy" in self.kind:
            await self._do(self.tx.invalidate)
        self.tx = None

    async def close(self) -> None:
        if self.tx is not None:
            await self._do(self.tx.close)
