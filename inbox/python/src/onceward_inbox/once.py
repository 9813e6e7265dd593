"""`@once`: a function that takes effect once for each key."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import json
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, cast, overload
from uuid import UUID, uuid4

from .answers import Lease
from .drivers import drive
from .errors import (
    ArgumentError,
    ConflictError,
    ExpiredError,
    Failed,
    InFlightError,
    OutcomeUnknownError,
)
from .inbox import Fingerprint, Inbox, Key, duration
from .transactions import Connect, Retries, Transactions

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_log = logging.getLogger("onceward_inbox")


@overload
def once(
    inbox: Inbox,
    connect: Connect[T],
    *,
    key: str | Callable[..., Key],
    mode: Literal["inside"] = "inside",
    fingerprint: Callable[..., Fingerprint | None] | None = None,
    minted_at: Callable[[Key], datetime | None] | None = None,
    retries: Retries = ...,
) -> Callable[[Callable[Concatenate[T, P], R]], Callable[P, R]]: ...
@overload
def once(
    inbox: Inbox,
    connect: Connect[Any],
    *,
    key: str | Callable[..., Key],
    mode: Literal["outside"],
    fingerprint: Callable[..., Fingerprint | None] | None = None,
    minted_at: Callable[[Key], datetime | None] | None = None,
    retries: Retries = ...,
    hold: timedelta | float = ...,
    honours_key: bool = ...,
    wait: float = ...,
) -> Callable[[Callable[Concatenate[UUID, P], R]], Callable[P, R]]: ...
def once(
    inbox: Inbox,
    connect: Connect[Any],
    *,
    key: str | Callable[..., Key],
    mode: str = "inside",
    fingerprint: Callable[..., Fingerprint | None] | None = None,
    minted_at: Callable[[Key], datetime | None] | None = None,
    retries: Retries = Retries(),  # noqa: B008 (it is immutable)
    hold: timedelta | float = 60.0,
    honours_key: bool = True,
    wait: float = 0.0,
) -> Any:
    """Makes a function, sync or async, take effect once for each key.

    `connect` lends a connection or session: `pool.connection`, a sessionmaker, or
    `lambda: psycopg.connect(dsn)`. `key` is the name of an argument, or a callable that gets the
    call's arguments; so is `fingerprint`. What the function returns is stored as JSON, and each
    call gets it as JSON has kept it. `minted_at` gets the key, such as `minted_at_of_uuid7`; a key
    for which it returns None is an ArgumentError.

    `inside`: claim, function and result are in one transaction. The function gets the connection
    as its first argument, and neither commits nor rolls back. It runs again if its transaction
    has to be repeated.

    `outside`, for effects in other systems: the function gets the downstream key (a UUID) as its
    first argument and runs under a lease, outside of any transaction. The ledger is one of leases.
    A call whose key is in flight waits for `wait` seconds, and then raises InFlightError. If the
    function raises anything but Failed, its lease stays until `hold` is over: the effect may have
    happened. After that the next call makes it again, under the same downstream key; or it raises
    OutcomeUnknownError, if the other system does not honour keys (`honours_key=False`).
    """
    if mode not in ("inside", "outside"):
        raise ArgumentError(f"mode is 'inside' or 'outside', not {mode!r}")

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        waits = inspect.iscoroutinefunction(function)
        parts = _Once(
            inbox, Transactions(connect, retries, waits), function, inspect.signature(function),
            key, fingerprint, minted_at, duration(hold), honours_key, wait,
        )  # fmt: skip
        if isinstance(key, str) and key not in list(parts.signature.parameters)[1:]:
            raise ArgumentError(f"{function.__qualname__} has no argument {key!r} after its first")
        work = parts.inside if mode == "inside" else parts.outside

        @functools.wraps(function)
        async def waiting(*args: Any, **kwargs: Any) -> Any:
            return await work(args, kwargs)

        @functools.wraps(function)
        def direct(*args: Any, **kwargs: Any) -> Any:
            return drive(work(args, kwargs))

        return waiting if waits else direct

    return decorate


@dataclass(frozen=True)
class _Once:
    inbox: Inbox
    transactions: Transactions
    function: Callable[..., Any]
    signature: inspect.Signature
    key: str | Callable[..., Key]
    fingerprint: Callable[..., Fingerprint | None] | None
    minted_at: Callable[[Key], datetime | None] | None
    hold: timedelta
    honours_key: bool
    wait: float

    def _request(self, args: Any, kwargs: Any) -> tuple[Key, dict[str, Any]]:
        """The key, and what else a claim or lease is made of. All tries have the same attempt."""
        if isinstance(self.key, str):
            bound = self.signature.bind(None, *args, **kwargs)
            bound.apply_defaults()
            key = cast(Key, bound.arguments[self.key])
        else:
            key = self.key(*args, **kwargs)
        content = self.fingerprint(*args, **kwargs) if self.fingerprint else None
        minted_at = self.minted_at(key) if self.minted_at else None
        # DANGER: without its time the key would be taken again after the retention.
        if self.minted_at and minted_at is None:
            raise ArgumentError("the key does not tell when it was minted")
        return key, {"fingerprint": content, "minted_at": minted_at, "attempt": uuid4()}

    async def _call(self, first: Any, args: Any, kwargs: Any) -> bytes:
        value = self.function(first, *args, **kwargs)
        return _json(await value if self.transactions.waits else value)

    async def inside(self, args: Any, kwargs: Any) -> Any:
        key, named = self._request(args, kwargs)
        failed: Failed | None = None

        async def work(tx: Any) -> tuple[bool, tuple[str, int | None, bytes | None]]:
            """Whether the result is of this call, and the result."""
            claim = await self.inbox.claim.inside(tx, key, **named)
            if not claim.fresh:
                return claim.mine, (claim.outcome, claim.status, claim.body)
            if failed is None:
                outcome, status, body = "duplicate", 0, await self._call(tx, args, kwargs)
            else:
                outcome, status, body = "failed", failed.status, _json(failed.body)
            await self.inbox.finish.inside(tx, claim, status, (), body, outcome == "failed")
            return True, (outcome, status, body)

        try:
            _, answer = await self.transactions.repeated(work)
        except Failed as error:
            # What the function wrote is rolled back. A transaction without it keeps the failure.
            failed = error
            ours, answer = await self.transactions.repeated(work)
            if ours:
                raise
        return _value(*answer)

    async def outside(self, args: Any, kwargs: Any) -> Any:
        key, named = self._request(args, kwargs)
        named.update(hold=self.hold, honours_key=self.honours_key)
        until = time.monotonic() + self.wait
        tried = 0
        ended: tuple[int, bytes, Failed | None] | None = None
        while True:
            lease = await self.transactions.repeated(
                lambda tx: self.inbox.lease.inside(tx, key, **named)
            )
            if lease.outcome == "in_flight":
                remaining = lease.remaining.total_seconds() if lease.remaining else 0.0
                tried += 1
                left = until - time.monotonic()
                if left <= 0:
                    raise InFlightError(remaining)
                await self.transactions.sleep(min(left, 1.0, 0.05 * 1.5**tried))
                continue
            if not lease.fresh:
                return _value(lease.outcome, lease.status, lease.body)
            if ended is None:
                ended = await self._under(lease, args, kwargs)
            if await self._end(lease, *ended):
                if ended[2]:
                    raise ended[2]
                return _value("duplicate", *ended[:2])
            # Another call took the lease over, under the same downstream key. Its answer is the
            # one that is stored.

    async def _under(
        self, lease: Lease, args: Any, kwargs: Any
    ) -> tuple[int, bytes, Failed | None]:
        async with self._kept(lease):
            try:
                return 0, await self._call(lease.downstream_key, args, kwargs), None
            except Failed as error:
                return error.status, _json(error.body), error

    async def _end(self, lease: Lease, status: int, body: bytes, failed: Failed | None) -> bool:
        return await self.transactions.repeated(
            lambda tx: self.inbox.end_lease.inside(tx, lease, status, (), body, failed is not None)
        )

    @contextlib.asynccontextmanager
    async def _kept(self, lease: Lease) -> AsyncIterator[None]:
        """Extends the lease while the function runs, by a task or by a thread."""
        if self.transactions.waits:
            task = asyncio.create_task(self._extend(lease, threading.Event()))
            try:
                yield
            finally:
                task.cancel()
                await asyncio.wait([task])
            return
        done = threading.Event()
        work = functools.partial(self._extend, lease, done)
        threading.Thread(target=lambda: drive(work()), daemon=True).start()
        try:
            yield
        finally:
            done.set()

    async def _extend(self, lease: Lease, done: threading.Event) -> None:
        hold = self.hold.total_seconds()
        pause = hold / 2
        while True:
            if self.transactions.waits:
                await asyncio.sleep(pause)
            elif done.wait(pause):
                return
            try:
                ours = await self.transactions.once(
                    lambda tx: self.inbox.extend_lease.inside(tx, lease, self.hold)
                )
            except Exception:
                _log.warning("the lease of %s was not extended", lease.digest, exc_info=True)
                pause = max(hold / 10, 0.02)  # again, while the lease is still ours
                continue
            if not ours:
                return
            pause = hold / 2


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def _value(outcome: str, status: int | None, body: bytes | None) -> Any:
    """What a call returns or raises for an outcome with its stored result."""
    if outcome == "conflict":
        raise ConflictError("the key was used before with another fingerprint or another time")
    if outcome == "expired":
        raise ExpiredError("the key was minted before the ledger's memory begins")
    value = json.loads(body) if body else None
    if outcome == "failed":
        # Of a lease that is known even if its result was erased.
        raise Failed(status or 0, value)
    if outcome == "unknown" or body is None:
        raise OutcomeUnknownError("the key was used before, and no result of it is kept")
    return value
