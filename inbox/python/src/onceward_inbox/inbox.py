"""The calls of the inbox. Each runs one SQL function in the transaction of the caller."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeAlias, TypeVar, overload
from uuid import UUID

from .answers import Answer, Claim, Lease, read_answer
from .drivers import drive, is_async, need_transaction, rows
from .errors import ArgumentError, VersionError, sqlstate_of
from .keys import fingerprint_of

if TYPE_CHECKING:
    from .drivers import AsyncTransaction, Transaction

Key: TypeAlias = str | bytes
Fingerprint: TypeAlias = str | bytes | UUID
Header: TypeAlias = Mapping[str, str]

VERSION = 1

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True)
class Statement(Generic[R]):
    """A call of a function in SQL, and how its rows are read. Without arguments: nothing to run."""

    function: str
    arguments: dict[str, object]
    read: Callable[[list[tuple[Any, ...]]], R]
    select: str = "a.*"


async def run(tx: Any, inbox: Inbox, statement: Statement[R]) -> R:
    """Runs a call of the inbox, after the check of the version."""
    if statement.function in _IN_TRANSACTION:
        await need_transaction(tx)
    if not inbox._checked:
        await _check_version(tx, inbox)
    if not statement.arguments:
        return statement.read([])
    # What is optional is left out: its DEFAULT is NULL. The types are written because drivers send
    # some values without one.
    given = ", ".join(
        f"{name} => CAST(%({name})s AS {_TYPES[name]}{'[]' if isinstance(value, list) else ''})"
        for name, value in statement.arguments.items()
        if value is not None or name not in _OPTIONAL
    )
    sql = f"SELECT {statement.select} FROM {inbox.schema}.{statement.function}({given}) AS a"
    return statement.read(await rows(tx, sql, statement.arguments))


async def _check_version(tx: Any, inbox: Inbox) -> None:
    try:
        [[found]] = await rows(tx, f"SELECT {inbox.schema}.inbox_version()", {})
    except Exception as error:
        # No such function, no such schema.
        if sqlstate_of(error) in ("42883", "3F000"):
            raise VersionError(None, VERSION) from error
        raise
    if found != VERSION:
        raise VersionError(found, VERSION)
    inbox._checked.append(found)


class _Call(Generic[P, R]):
    """Makes a method that builds a statement into one that takes a transaction and runs it."""

    def __init__(self, build: Callable[Concatenate[Inbox, P], Statement[R]]) -> None:
        self.build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, inbox: None, owner: type[Inbox]) -> _Call[P, R]: ...
    @overload
    def __get__(self, inbox: Inbox, owner: type[Inbox]) -> _BoundCall[P, R]: ...
    def __get__(self, inbox: Inbox | None, owner: type[Inbox]) -> _Call[P, R] | _BoundCall[P, R]:
        return self if inbox is None else _BoundCall(inbox, self.build)


class _BoundCall(Generic[P, R]):
    """A call of one inbox. With an async connection or session its result is awaited."""

    def __init__(self, inbox: Inbox, build: Callable[Concatenate[Inbox, P], Statement[R]]) -> None:
        self._inbox = inbox
        self._build = build
        self.__doc__ = build.__doc__

    @overload
    def __call__(self, tx: Transaction, /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __call__(
        self, tx: AsyncTransaction, /, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, R]: ...
    def __call__(self, tx: Any, /, *args: P.args, **kwargs: P.kwargs) -> R | Coroutine[Any, Any, R]:
        waits = is_async(tx)
        work = self.inside(tx, *args, **kwargs)
        return work if waits else drive(work)

    def inside(self, tx: Any, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        """The same for code that is written once for both: the coroutine in either case."""
        return run(tx, self._inbox, self._build(self._inbox, *args, **kwargs))


@dataclass(frozen=True)
class Inbox:
    """Names the keys of an operation, and the ledger that remembers them.

    It holds no connection. Every call takes the caller's transaction (a connection of psycopg, a
    session or connection of SQLAlchemy, sync or async), runs in it, and never commits it.
    """

    operation: str
    kind: str = "id"
    tenant: str = ""
    ledger: str = ""  # "inbox", and "inbox_leases" for leases
    schema: str = "onceward"
    # Has an element once the version was checked. dataclasses.replace() hands it on.
    _checked: list[int] = field(default_factory=list, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("operation", "kind", "tenant", "ledger", "schema"):
            value = getattr(self, name)
            if not isinstance(value, str) or "\0" in value:
                raise ArgumentError(f"{name} is a str without U+0000, not {value!r}")
            _utf8(value)
        if not self.operation or not self.kind:
            raise ArgumentError("an inbox has an operation and a kind")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.schema):
            raise ArgumentError(f"{self.schema!r} is not the name of a schema")

    @_Call
    def claim(
        self,
        key: Key,
        *,
        fingerprint: Fingerprint | None = None,
        attempt: UUID | None = None,
        minted_at: datetime | None = None,
    ) -> Statement[Claim]:
        """Claims a key.

        `fingerprint` is of what came with the key: bytes or text that is hashed here, or a UUID as
        it is. `attempt` names the request over its retries. With `minted_at` a key from before the
        ledger's memory is `expired`.
        """
        arguments = self._one(key, fingerprint, attempt, minted_at, "inbox")
        return Statement("claim", arguments, lambda found: read_answer(Claim, found[0]))

    @_Call
    def finish(
        self,
        claim: Claim,
        status: int = 0,
        headers: Sequence[Header] = (),
        body: bytes | str = b"",
        failed: bool = False,
    ) -> Statement[None]:
        """Stores the result of a fresh claim of this transaction; later claims are answered so."""
        arguments = self._result(claim, status, headers, body, failed, "inbox")
        return Statement("finish", arguments, lambda found: None)

    @_Call
    def claim_many(
        self,
        keys: Sequence[Key],
        *,
        fingerprints: Sequence[Fingerprint | None] | None = None,
        attempt: UUID | None = None,
        minted_at: Sequence[datetime | None] | None = None,
        max_bytes: int = 1 << 20,
    ) -> Statement[list[Claim]]:
        """Claims up to 10,000 keys in one round trip, and answers in their order.

        Call it before the transaction locks rows. Bodies beyond `max_bytes` in all are None.
        """
        if isinstance(keys, (str, bytes)):
            raise ArgumentError("keys is a list of keys, not one key")
        arguments = self._names("inbox") | {
            "keys": [_key(key) for key in keys],
            "fingerprints": _each(_fingerprint, fingerprints),
            "attempt": _uuid(attempt),
            "minted_at": _each(_time, minted_at),
            "max_bytes": max_bytes,
        }
        return Statement(
            "claim_many",
            arguments,
            lambda found: [read_answer(Claim, row) for row in found],
            "(a.answer).*",
        )

    @_Call
    def finish_many(self, claims: Sequence[Claim], status: int = 0) -> Statement[None]:
        """Stores one result, without headers and body, for those of the claims that are fresh."""
        fresh = [claim for claim in claims if claim.fresh]
        if len({claim.attempt for claim in fresh}) > 1:
            raise ArgumentError("the claims are of more than one attempt")
        arguments: dict[str, object] = {}
        if fresh:
            arguments = {"digests": [claim.digest for claim in fresh], "attempt": fresh[0].attempt}
            ledger = self.ledger or "inbox"
            arguments |= {"status": status, "tenant": self.tenant, "ledger": ledger}
        return Statement("finish_many", arguments, lambda found: None)

    @_Call
    def lease(
        self,
        key: Key,
        *,
        fingerprint: Fingerprint | None = None,
        attempt: UUID | None = None,
        minted_at: datetime | None = None,
        hold: timedelta | float = 60.0,
        honours_key: bool = True,
    ) -> Statement[Lease]:
        """Takes a lease for an effect outside the database. Commit before the effect begins.

        `hold` is a timedelta or seconds. With `honours_key=False`, for another system that ignores
        the downstream key, a lease that ran out is `unknown` and is never taken over.
        """
        arguments = self._one(key, fingerprint, attempt, minted_at, "inbox_leases")
        arguments |= {"hold": duration(hold), "honours_key": honours_key}
        return Statement("lease", arguments, lambda found: read_answer(Lease, found[0]))

    @_Call
    def end_lease(
        self,
        lease: Lease,
        status: int = 0,
        headers: Sequence[Header] = (),
        body: bytes | str = b"",
        failed: bool = False,
    ) -> Statement[bool]:
        """Stores how the effect ended. False: another attempt took the lease over meanwhile."""
        arguments = self._result(lease, status, headers, body, failed, "inbox_leases")
        return Statement("end_lease", arguments, _only)

    @_Call
    def extend_lease(self, lease: Lease, hold: timedelta | float = 60.0) -> Statement[bool]:
        """Holds the lease for `hold` from now. False: it is no longer this attempt's."""
        arguments = self._held(lease, "inbox_leases") | {"hold": duration(hold)}
        return Statement("extend_lease", arguments, _only)

    @_Call
    def release_lease(self, lease: Lease) -> Statement[bool]:
        """Gives the lease back because the effect certainly did not happen."""
        return Statement("release_lease", self._held(lease, "inbox_leases"), _only)

    # `unnamed` is the ledger of an inbox that names none.
    def _names(self, unnamed: str) -> dict[str, object]:
        given = {name: getattr(self, name) for name in ("operation", "tenant", "kind")}
        return given | {"ledger": self.ledger or unnamed}

    def _one(
        self,
        key: Key,
        fingerprint: Fingerprint | None,
        attempt: UUID | None,
        minted_at: datetime | None,
        unnamed: str,
    ) -> dict[str, object]:
        return self._names(unnamed) | {
            "key": _key(key),
            "fingerprint": _fingerprint(fingerprint),
            "attempt": _uuid(attempt),
            "minted_at": _time(minted_at),
        }

    def _held(self, held: Claim | Lease, unnamed: str) -> dict[str, object]:
        _checked(held, Answer, "what claim() or lease() answered is needed")
        ledger = self.ledger or unnamed
        return {"digest": held.digest, "attempt": held.attempt, "ledger": ledger}

    def _result(
        self,
        held: Claim | Lease,
        status: int,
        headers: Sequence[Header],
        body: bytes | str,
        failed: bool,
        unnamed: str,
    ) -> dict[str, object]:
        _checked(body, (bytes, str), "a body is bytes or str")
        return self._held(held, unnamed) | {
            "status": status,
            "headers": json.dumps([dict(header) for header in headers]),
            "body": _utf8(body),
            "failed": failed,
            "tenant": self.tenant,
        }


# They belong to a transaction that has the effect too; a call of a lease may be alone.
_IN_TRANSACTION = ("claim", "claim_many", "finish", "finish_many")
_OPTIONAL = ("fingerprint", "fingerprints", "attempt", "minted_at")
_TYPES = {
    **dict.fromkeys(("operation", "tenant", "kind", "ledger"), "text"),
    **dict.fromkeys(("key", "keys", "body"), "bytea"),
    **dict.fromkeys(("fingerprint", "attempt", "digest", "digests"), "uuid"),
    **dict.fromkeys(("failed", "honours_key"), "boolean"),
    "fingerprints": "uuid",
    "headers": "jsonb",
    "hold": "interval",
    "max_bytes": "bigint",
    "minted_at": "timestamptz",
    "status": "integer",
}


def _each(read: Callable[[Any], object], values: Sequence[Any] | None) -> list[object] | None:
    return None if values is None else [read(value) for value in values]


def duration(hold: timedelta | float) -> timedelta:
    """`hold` as a timedelta, from seconds or as it is."""
    _checked(hold, (timedelta, int, float), "hold is a timedelta or a number of seconds")
    return hold if isinstance(hold, timedelta) else timedelta(seconds=hold)


def _checked(value: T, kinds: type | tuple[type, ...], wanted: str) -> T:
    if not isinstance(value, kinds):
        raise ArgumentError(f"{wanted}, not {type(value).__name__}")
    return value


def _key(key: Key) -> bytes:
    return _utf8(_checked(key, (str, bytes), "a key is str or bytes"))


def _utf8(text: str | bytes) -> bytes:
    try:
        return text.encode() if isinstance(text, str) else text
    except UnicodeEncodeError as error:
        raise ArgumentError(f"{text!r} cannot be written in UTF-8") from error


def _fingerprint(content: Fingerprint | None) -> UUID | None:
    kinds = (str, bytes, UUID, type(None))
    _checked(content, kinds, "a fingerprint is str, bytes or UUID")
    return fingerprint_of(_utf8(content)) if isinstance(content, (str, bytes)) else content


def _uuid(attempt: UUID | None) -> UUID | None:
    return _checked(attempt, (UUID, type(None)), "an attempt is a UUID")


def _time(value: datetime | None) -> datetime | None:
    if value is None or (isinstance(value, datetime) and value.tzinfo is not None):
        return value
    raise ArgumentError(f"minted_at is a datetime with a time zone, not {value!r}")


def _only(found: list[tuple[Any, ...]]) -> bool:
    return bool(found[0][0])
