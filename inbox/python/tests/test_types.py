"""What mypy makes of the calls, with each kind of connection. `run-tests` runs mypy."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker
from sqlalchemy.orm import Session, sessionmaker
from typing_extensions import assert_type

from onceward_inbox import Claim, Inbox, Lease, once

INBOX = Inbox("types")


def by_hand(tx: psycopg.Connection[Any], session: Session) -> None:
    assert_type(INBOX.claim(tx, "k", fingerprint=b"body"), Claim)
    assert_type(INBOX.claim_many(session, ["k", b"k"]), list[Claim])
    assert_type(INBOX.lease(tx, "k", hold=5), Lease)
    INBOX.claim(tx, 17)  # type: ignore[call-overload]
    INBOX.claim("dsn", "k")  # type: ignore[call-overload]


async def awaited(tx: psycopg.AsyncConnection[Any], session: AsyncSession) -> None:
    claim = await INBOX.claim(tx, "k")
    assert_type(claim, Claim)
    await INBOX.finish(session, claim, 200, body="text")
    lease = await INBOX.lease(session, "k")
    assert_type(await INBOX.end_lease(session, lease), bool)


def decorated(
    pool: ConnectionPool[psycopg.Connection[Any]],
    async_pool: AsyncConnectionPool[psycopg.AsyncConnection[Any]],
    sessions: sessionmaker[Session],
    async_sessions: async_sessionmaker[AsyncSession],
) -> None:
    @once(INBOX, pool.connection, key="order")
    def pooled(tx: psycopg.Connection[Any], order: str, cents: int = 1) -> list[int]:
        return [cents]

    @once(INBOX, sessions, key="order")
    def with_session(tx: Session, order: str) -> str:
        return order

    @once(INBOX, lambda: psycopg.AsyncConnection.connect(""), key="order")
    async def connected(tx: psycopg.AsyncConnection[Any], order: str) -> str:
        return order

    @once(INBOX, async_pool.connection, key="order")
    async def async_pooled(tx: psycopg.AsyncConnection[Any], order: str) -> str:
        return order

    @once(INBOX, async_sessions, key="order")
    async def with_async_session(tx: AsyncSession, order: str) -> str:
        return order

    @once(INBOX, pool.connection, key=lambda order: str(order), mode="outside", hold=30)
    def outside(downstream_key: UUID, order: str) -> int:
        return 1

    async def calls() -> None:
        assert_type(await connected("o"), str)
        assert_type(await async_pooled("o"), str)
        assert_type(await with_async_session(order="o"), str)

    def direct() -> None:
        assert_type(pooled("o", cents=5), list[int])
        assert_type(with_session("o"), str)
        assert_type(outside("o"), int)
        pooled(5)  # type: ignore[arg-type]


def test_the_decorator_keeps_names_and_docs() -> None:
    @once(INBOX, lambda: psycopg.connect(""), key="order")
    def pay(tx: psycopg.Connection[Any], order: str) -> str:
        """Pays."""
        return order

    assert (pay.__name__, pay.__doc__) == ("pay", "Pays.")
    assert (Inbox.claim.__doc__ or "").startswith("Claims a key.")
