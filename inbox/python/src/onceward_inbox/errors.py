"""Errors of the inbox, one class for each SQLSTATE, and which errors are worth another try."""

from __future__ import annotations

from typing import Any


class InboxError(Exception):
    """Base of all errors of this package but `Failed`. The driver's own error is `__cause__`."""

    sqlstate: str | None = None


class IsolationError(InboxError):
    """The transaction is not READ COMMITTED. Its snapshot could miss a claim."""

    sqlstate = "OW001"


class LedgerError(InboxError):
    """The ledger has no inbox, stores no results, or has another store than the call needs."""

    sqlstate = "OW002"


class NotAllowedError(InboxError):
    """The role may not use this ledger or operation."""

    sqlstate = "OW003"


class ArgumentError(InboxError):
    """An argument is missing or not valid. Wrong Python types are found before anything is sent."""

    sqlstate = "OW004"


class UnfinishedError(InboxError):
    """COMMIT of a claim without `finish`, in a ledger that stores results.

    A COMMIT of your own raises the driver's error: `translated` makes it this one.
    """

    sqlstate = "OW005"


class NotClaimedError(InboxError):
    """`finish` of a key that this transaction has not claimed."""

    sqlstate = "OW006"


class ResultTooLargeError(InboxError):
    """The result is larger than the ledger allows."""

    sqlstate = "OW007"


class BusyError(InboxError):
    """Another transaction holds the key, or the ledger, for longer than `lock_timeout`."""

    sqlstate = "55P03"


class VersionError(InboxError):
    """The database's inbox is of another version than this package was written for."""

    def __init__(self, found: int | None, wanted: int) -> None:
        if found is None:
            advice = "the database has no inbox; run `onceward migrate up`"
        elif found < wanted:
            advice = f"the database's inbox has version {found}; run a newer `onceward migrate up`"
        else:
            advice = f"the database's inbox has version {found}; install a newer onceward-inbox"
        super().__init__(f"this package needs version {wanted} of the inbox: {advice}")
        self.found = found
        self.wanted = wanted


class ConflictError(InboxError):
    """The key was used before, with another fingerprint or another time."""


class OutcomeUnknownError(InboxError):
    """The key was used before, and how that ended is not known. Do not repeat it."""


class ExpiredError(InboxError):
    """The key was minted before the ledger's memory begins, so it cannot be judged."""


class InFlightError(InboxError):
    """Another call holds the key's lease, for `remaining` more seconds unless it extends it."""

    def __init__(self, remaining: float) -> None:
        super().__init__(f"another call with this key is under way, for at most {remaining:.3f} s")
        self.remaining = remaining


class Failed(Exception):
    """Raised in a function under `@once`: it failed for good, and each later call fails alike.

    `body` is anything that JSON can hold.
    """

    def __init__(self, status: int = 0, body: Any = None) -> None:
        super().__init__(status, body)
        self.status = status
        self.body = body


_BY_SQLSTATE: dict[str | None, type[InboxError]] = {
    one.sqlstate: one for one in InboxError.__subclasses__() if one.sqlstate
}

# 40001 serialization failure, 40P01 deadlock, 55P03 lock not available; 25P03 and 57P.. the server
# ended the session.
_RETRYABLE = ("40001", "40P01", "55P03", "25P03", "57P01", "57P02", "57P03", "57P05")


def driver_error(error: BaseException) -> Any:
    """The driver's own error: SQLAlchemy keeps it as `orig`."""
    return getattr(error, "orig", None) or error


def sqlstate_of(error: BaseException) -> str | None:
    """The SQLSTATE of an error of this package, of a driver or of SQLAlchemy; None without one."""
    inner = driver_error(error)
    state = getattr(inner, "sqlstate", None) or getattr(inner, "pgcode", None)
    return state if isinstance(state, str) else None


def translated(error: Exception) -> Exception:
    """The error of this package for a driver's error; any other error unchanged.

    It is for a COMMIT of your own: the driver raises there what the inbox refuses (OW005).
    """
    kind = _BY_SQLSTATE.get(sqlstate_of(error))
    if kind is None or isinstance(error, InboxError):
        return error
    inner = driver_error(error)
    diagnostics = getattr(inner, "diag", None)
    words = [getattr(diagnostics, name, None) for name in ("message_primary", "message_hint")]
    return kind(". ".join(word for word in words if word) or str(inner))


def pool_was_empty(error: BaseException) -> bool:
    """Whether the pool of psycopg or SQLAlchemy had no connection to lend in time."""
    kind = type(error)
    if kind.__module__ == "sqlalchemy.exc":
        return kind.__name__ == "TimeoutError"
    return kind.__module__.startswith("psycopg_pool") and kind.__name__ in (
        "PoolTimeout",
        "TooManyRequests",
    )


def is_retryable(error: BaseException) -> bool:
    """Whether the same transaction may succeed if it is tried again, with the same attempt.

    True for 40001, 40P01, 55P03 and a lost connection, a COMMIT without an answer included.
    """
    state = sqlstate_of(error)
    if state is not None:
        return state in _RETRYABLE or state.startswith("08")
    if getattr(error, "connection_invalidated", False):
        return True
    inner = type(driver_error(error))
    # A pool that has no connection to lend says so with a subclass; its own wait was enough.
    named = inner.__name__ in ("OperationalError", "ConnectionTimeout")
    return named and inner.__module__.startswith("psycopg")
