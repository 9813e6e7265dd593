"""One operation, apart from how requests are sent and time is spent: a generator of steps.

It yields what is to be done next, and is told what came of it; so both clients run the same code.
"""

import hashlib
import time
import warnings
from collections.abc import Generator
from dataclasses import dataclass

import httpx

from . import keys
from .answers import Answer, Problem, is_replayed, parse_problem
from .errors import (
    ConnectionFailedError,
    OncewardError,
    OperationChangedError,
    OperationExpiredError,
    StoreError,
    problem_error,
)
from .policy import (
    Retries,
    Verdict,
    in_flight_pause,
    judge,
    leaves_doubt,
    parse_retry_after,
    pause,
    settles,
)
from .store import Entry, Store


@dataclass(frozen=True)
class Send:
    key: str


@dataclass(frozen=True)
class Sleep:
    seconds: float


Step = Send | Sleep
# To a Send: the answer, or what kept it from coming; to a Sleep: None.
Outcome = httpx.Response | httpx.RequestError | None
Steps = Generator[Step, Outcome, Answer]

# The request was never sent with these.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@dataclass
class Keys:
    """Which key a call goes under. Used by one client."""

    store: Store | None
    retention: float
    uuid7: bool = False
    previous: str | None = None  # given by the caller

    def key_of(
        self, given: str | None, operation: str | None, fingerprint: str
    ) -> tuple[str, bool]:
        """The key, and whether it may have been sent before. DANGER: stored before it is sent."""
        if given is not None:
            keys.check_key(given)
            why = keys.weakness(given, self.previous)
            self.previous = given
            if why is not None:
                warnings.warn(f"weak idempotency key: {why}", keys.WeakKeyWarning, stacklevel=4)
        minted = given or keys.mint_key(uuid7=self.uuid7)
        if operation is None:
            return minted, given is not None
        if self.store is None:
            raise ValueError("an operation's key is kept in a store, and this client has none")
        made = Entry(operation, minted, fingerprint, time.time())
        found = self.store.claim(made)
        if found.fingerprint != fingerprint or (given is not None and found.key != given):
            raise OperationChangedError(
                f"the operation {operation!r} was begun with another request or key", key=found.key
            )
        if made.created_at - found.created_at >= self.retention:
            raise OperationExpiredError(
                f"the key of the operation {operation!r} is older than it is remembered",
                key=found.key,
            )
        return found.key, given is not None or found != made

    def settled(self, operation: str | None, key: str) -> None:
        if operation is None or self.store is None:
            return
        try:
            self.store.forget(operation, key)
        except StoreError as error:
            # The answer is there, and worth more: an entry that stays is answered with the same
            # again, or is too old one day.
            warnings.warn(f"a key that has ended stays in its store: {error}", stacklevel=4)


def fingerprint_of(method: str, target: str, content: bytes) -> str:
    """The same in all languages: of the target as the caller has it, without the base's path."""
    return hashlib.sha256(f"{method}\n{target}\n".encode() + content).hexdigest()


def call(
    request: httpx.Request,
    target: str,
    kept: Keys,
    retries: Retries,
    given: str | None,
    operation: str | None,
) -> Steps:
    fingerprint = fingerprint_of(request.method, target, request.content)
    key, in_doubt = kept.key_of(given, operation, fingerprint)
    failures = waits = 0
    while True:
        outcome = yield Send(key)
        if isinstance(outcome, httpx.Response):
            answer, problem = _read(outcome, key, failures + waits + 1)
            retry_after = parse_retry_after(answer.headers.get("Retry-After"))
            verdict = judge(
                answer.status,
                replayed=answer.replayed,
                problem=problem.name if problem else "",
                retry_after=retry_after,
            )
            in_doubt = in_doubt or leaves_doubt(answer.status)
            ended = settles(answer.status, replayed=answer.replayed, in_doubt=in_doubt)
            if ended:
                kept.settled(operation, key)
            if verdict is Verdict.DONE:
                return answer
            error: OncewardError = problem_error(answer, problem, settled=ended)
        elif isinstance(outcome, httpx.RequestError):
            in_doubt = in_doubt or not isinstance(outcome, _NOT_SENT)
            verdict, retry_after = Verdict.AGAIN, None
            error = ConnectionFailedError(
                f"no answer: {outcome or type(outcome).__name__}",
                key=key,
                attempts=failures + waits + 1,
            )
            error.__cause__ = outcome
        else:
            raise TypeError("a request is answered by a response or an error")

        if verdict is Verdict.REFUSED or (retry_after or 0.0) > retries.retry_after_max:
            raise error
        if verdict is Verdict.IN_FLIGHT:
            waits += 1
            if waits > retries.in_flight_waits:
                raise error
            yield Sleep(in_flight_pause(retries, retry_after))
        else:
            failures += 1
            if failures >= retries.attempts:
                raise error
            yield Sleep(pause(retries, failures, retry_after))


def _read(response: httpx.Response, key: str, attempts: int) -> tuple[Answer, Problem | None]:
    answer = Answer(
        status=response.status_code,
        headers=response.headers,
        content=response.content,
        replayed=is_replayed(response.headers),
        key=key,
        attempts=attempts,
    )
    return answer, parse_problem(response.headers, response.content)
