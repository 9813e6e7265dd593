"""Transactions on connections that a factory lends, tried again with the same attempt."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from .drivers import entered, is_async, transaction
from .errors import ArgumentError, is_retryable

T = TypeVar("T")
# Such as `pool.connection`, a sessionmaker, or `lambda: psycopg.connect(dsn)`.
Connect: TypeAlias = (
    Callable[[], AbstractContextManager[T]]
    | Callable[[], AbstractAsyncContextManager[T]]
    | Callable[[], Awaitable[AbstractAsyncContextManager[T]]]
)


@dataclass(frozen=True)
class Retries:
    """How often a transaction is tried, and the pauses in seconds, which double up to `longest`."""

    tries: int = 5
    first: float = 0.05
    longest: float = 2.0

    def pause(self, tried: int) -> float:
        """The pause after the try of this number, with a jitter of half of it."""
        return min(self.longest, self.first * 2.0 ** (tried - 1)) * random.uniform(0.5, 1.5)


@dataclass(frozen=True)
class Transactions:
    """Runs work in transactions; `waits` says whether connections and work are async."""

    connect: Connect[Any]
    retries: Retries
    waits: bool

    async def once(self, work: Callable[[Any], Awaitable[T]]) -> T:
        """Runs the work in one transaction and commits it."""
        async with self._begun() as tx:
            return await work(tx)

    async def repeated(self, work: Callable[[Any], Awaitable[T]]) -> T:
        """Runs the work and, after an error that is retryable, all of it again.

        DANGER: a COMMIT without an answer is never looked up with a SELECT: it may wait for a
        standby, invisible, and take effect later. The claim of the next try waits for it.
        """
        tried = 0
        while True:
            try:
                return await self.once(work)
            except Exception as error:
                tried += 1
                if tried >= self.retries.tries or not is_retryable(error):
                    raise
            await self.sleep(self.retries.pause(tried))

    async def sleep(self, seconds: float) -> None:
        """Pauses this thread, or this task."""
        if self.waits:
            await asyncio.sleep(seconds)
        else:
            time.sleep(seconds)

    @asynccontextmanager
    async def _begun(self) -> AsyncIterator[Any]:
        async with entered(self.connect(), self.waits) as tx:
            if is_async(tx) != self.waits:
                raise ArgumentError("the function and its connection are both async, or neither is")
            async with transaction(tx):
                yield tx
