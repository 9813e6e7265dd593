"""Claims idempotency keys in PostgreSQL, in the same transaction as their effect."""

from .answers import Claim, Lease
from .asgi import OncewardMiddleware
from .errors import (
    ArgumentError,
    BusyError,
    ConflictError,
    ExpiredError,
    Failed,
    InboxError,
    InFlightError,
    IsolationError,
    LedgerError,
    NotAllowedError,
    NotClaimedError,
    OutcomeUnknownError,
    ResultTooLargeError,
    UnfinishedError,
    VersionError,
    is_retryable,
)
from .inbox import Inbox
from .keys import minted_at_of_uuid7, uuid7
from .once import once
from .transactions import Retries

__all__ = [
    "ArgumentError",
    "BusyError",
    "Claim",
    "ConflictError",
    "ExpiredError",
    "Failed",
    "InFlightError",
    "Inbox",
    "InboxError",
    "IsolationError",
    "Lease",
    "LedgerError",
    "NotAllowedError",
    "NotClaimedError",
    "OncewardMiddleware",
    "OutcomeUnknownError",
    "ResultTooLargeError",
    "Retries",
    "UnfinishedError",
    "VersionError",
    "is_retryable",
    "minted_at_of_uuid7",
    "once",
    "uuid7",
]
