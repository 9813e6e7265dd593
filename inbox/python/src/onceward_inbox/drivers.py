"""How a statement is run, by psycopg or SQLAlchemy, sync or async.

All of the package is written once, as coroutines. With a sync connection nothing in them waits for
an event loop, so `drive` runs them to their end in one step.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from .errors import ArgumentError, translated

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection as SqlConnection
    from sqlalchemy.ext.asyncio import (
        AsyncConnection as AsyncSqlConnection,
        AsyncSession,
        async_scoped_session,
    )
    from sqlalchemy.orm import Session, scoped_session

    Transaction: TypeAlias = psycopg.Connection[Any] | Session | scoped_session[Any] | SqlConnection
    AsyncTransaction: TypeAlias = (
        psycopg.AsyncConnection[Any] | AsyncSession | async_scoped_session[Any] | AsyncSqlConnection
    )

T = TypeVar("T")


def drive(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    work.close()
    raise ArgumentError("a sync call was given something that is async")


def is_async(tx: object) -> bool:
    """Whether calls on this connection or session are awaited. Refuses what is neither."""
    if isinstance(tx, psycopg.Connection):
        return False
    if isinstance(tx, psycopg.AsyncConnection):
        return True
    # SQLAlchemy is optional, so it is recognised without an import.
    execute = getattr(tx, "execute", None)
    if execute is None or not (hasattr(tx, "get_bind") or hasattr(tx, "exec_driver_sql")):
        raise ArgumentError(
            f"a connection of psycopg or a session of SQLAlchemy is needed, not {type(tx).__name__}"
        )
    return inspect.iscoroutinefunction(execute)


async def need_transaction(tx: Any) -> None:
    """Refuses a connection in autocommit on which no transaction is open."""
    driver = await _driver_of(tx)
    if (
        getattr(driver, "autocommit", False)
        and driver.info.transaction_status == TransactionStatus.IDLE
    ):
        raise ArgumentError(
            "the connection is in autocommit, and no transaction is open: "
            "a claim would be committed without its effect"
        )


async def _driver_of(tx: Any) -> Any:
    """The driver's connection, which SQLAlchemy keeps in its own ones."""
    waits = is_async(tx)
    if isinstance(tx, (psycopg.Connection, psycopg.AsyncConnection)):
        return tx
    if hasattr(tx, "get_bind"):  # a session
        tx = await tx.connection() if waits else tx.connection()
    raw = await tx.get_raw_connection() if waits else tx.connection
    return raw.driver_connection


@lru_cache(maxsize=256)
def _sqlalchemy_text(sql: str) -> Any:
    import re

    from sqlalchemy import text

    return text(re.sub(r"%\((\w+)\)s", r":\1", sql))


async def rows(tx: Any, sql: str, arguments: dict[str, object]) -> list[tuple[Any, ...]]:
    """Runs a statement in the caller's transaction. Errors of the inbox become its classes."""
    waits = is_async(tx)
    try:
        # A cursor of our own: the connection's may have another form of parameters or rows.
        if isinstance(tx, psycopg.Connection):
            with psycopg.Cursor(tx, row_factory=tuple_row) as cursor:
                cursor.execute(sql.encode(), arguments)
                return cursor.fetchall() if cursor.description else []
        if isinstance(tx, psycopg.AsyncConnection):
            async with psycopg.AsyncCursor(tx, row_factory=tuple_row) as waiting:
                await waiting.execute(sql.encode(), arguments)
                return await waiting.fetchall() if waiting.description else []
        result = tx.execute(_sqlalchemy_text(sql), arguments)
        if waits:
            result = await result
        return [tuple(row) for row in result] if result.returns_rows else []
    except Exception as error:
        better = translated(error)
        if better is error:
            raise
        raise better from error


@asynccontextmanager
async def entered(manager: Any, waits: bool) -> AsyncIterator[Any]:
    """Enters a context manager, sync or async. `AsyncConnection.connect()` is awaited first."""
    if waits and inspect.isawaitable(manager) and not hasattr(manager, "__aenter__"):
        manager = await manager
    if not hasattr(manager, "__aenter__" if waits else "__enter__"):
        if inspect.iscoroutine(manager):
            manager.close()
        wanted = "an async" if waits else "a sync"
        raise ArgumentError(
            f"`connect` has to return {wanted} context manager that lends a connection, "
            f"as the function is {'async' if waits else 'sync'}"
        )
    if waits:
        async with manager as value:
            yield value
    else:
        with manager as value:
            yield value


@asynccontextmanager
async def transaction(tx: Any) -> AsyncIterator[None]:
    """A READ COMMITTED transaction: COMMIT at its end, ROLLBACK if an error leaves it."""
    waits = is_async(tx)
    if isinstance(tx, (psycopg.Connection, psycopg.AsyncConnection)):
        if tx.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
            raise ArgumentError("`connect` lent a connection that is in a transaction already")
        manager: Any = tx.transaction()
    else:
        manager = tx.begin()
    commits = False
    try:
        async with entered(manager, waits):
            await rows(tx, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED", {})
            yield
            commits = True
    except Exception as error:
        # COMMIT has errors of the inbox too. What the caller's work raised passes as it is.
        better = translated(error) if commits else error
        if better is error:
            raise
        raise better from error
