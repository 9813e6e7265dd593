"""Claims idempotency keys in PostgreSQL, in the same transaction as their effect."""

# `X as X` makes X public for type checkers (PEP 484).
from .answers import Claim as Claim, Lease as Lease
from .asgi import OncewardMiddleware as OncewardMiddleware
from .errors import (
    ArgumentError as ArgumentError,
    BusyError as BusyError,
    ConflictError as ConflictError,
    ExpiredError as ExpiredError,
    Failed as Failed,
    InboxError as InboxError,
    InFlightError as InFlightError,
    IsolationError as IsolationError,
    LedgerError as LedgerError,
    NotAllowedError as NotAllowedError,
    NotClaimedError as NotClaimedError,
    OutcomeUnknownError as OutcomeUnknownError,
    ResultTooLargeError as ResultTooLargeError,
    UnfinishedError as UnfinishedError,
    VersionError as VersionError,
    is_retryable as is_retryable,
    translated as translated,
)
from .inbox import Inbox as Inbox
from .keys import minted_at_of_uuid7 as minted_at_of_uuid7, uuid7 as uuid7
from .once import once as once
from .transactions import Retries as Retries
