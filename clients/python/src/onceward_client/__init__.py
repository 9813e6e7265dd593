"""HTTP calls under an idempotency key that is kept over retries and over restarts of the caller."""

from .answers import Answer, Problem
from .client import AsyncClient, Client, Options
from .errors import (
    AnswerGoneError,
    ConnectionFailedError,
    KeyInFlightError,
    KeyRefusedError,
    KeyReusedError,
    NotAuthorizedError,
    OncewardError,
    OperationChangedError,
    OperationExpiredError,
    ProblemError,
    RejectedError,
    ServerError,
    StoreError,
    TooManyRequestsError,
)
from .keys import WeakKeyWarning, mint_key
from .policy import Retries
from .store import Entry, FileStore, Store

__all__ = [
    "Answer",
    "AnswerGoneError",
    "AsyncClient",
    "Client",
    "ConnectionFailedError",
    "Entry",
    "FileStore",
    "KeyInFlightError",
    "KeyRefusedError",
    "KeyReusedError",
    "NotAuthorizedError",
    "OncewardError",
    "OperationChangedError",
    "OperationExpiredError",
    "Options",
    "Problem",
    "ProblemError",
    "RejectedError",
    "Retries",
    "ServerError",
    "Store",
    "StoreError",
    "TooManyRequestsError",
    "WeakKeyWarning",
    "mint_key",
]
