"""Errors. Each says under which key, after how many attempts, and whether the outcome is known."""

from .answers import Answer, Problem


class OncewardError(Exception):
    """`settled`: how the operation ended is known. Where it is not, try again with this `key`."""

    def __init__(self, message: str, *, key: str, attempts: int = 0, settled: bool = False) -> None:
        super().__init__(message)
        self.key = key
        self.attempts = attempts
        self.settled = settled


class ConnectionFailedError(OncewardError):
    """No answer came, as often as it was tried; the last reason is `__cause__`."""


class ProblemError(OncewardError):
    """An answer of 400 or more; `problem` where it was told as problem+json."""

    def __init__(self, answer: Answer, problem: Problem | None, *, settled: bool) -> None:
        words = [str(answer.status)]
        if problem is not None:
            words += [word for word in (problem.name, problem.title, problem.detail) if word]
        super().__init__(
            ": ".join(words), key=answer.key, attempts=answer.attempts, settled=settled
        )
        self.answer = answer
        self.problem = problem

    @property
    def status(self) -> int:
        return self.answer.status


class KeyInFlightError(ProblemError):
    """409: an earlier attempt still runs, after as many waits as were allowed."""


class KeyReusedError(ProblemError):
    """422: the key was used before, for another request."""


class RejectedError(ProblemError):
    """422: what the request carries cannot be applied."""


class AnswerGoneError(ProblemError):
    """410: it was carried out before; its answer is not kept any more."""


class KeyRefusedError(ProblemError):
    """400: the key is missing, malformed, or not expected."""


class NotAuthorizedError(ProblemError):
    """401 or 403."""


class TooManyRequestsError(ProblemError):
    """429, as often as it was tried."""


class ServerError(ProblemError):
    """5xx, as often as it was tried, or stored as the operation's result."""


class OperationChangedError(OncewardError):
    """The stored operation was another request: nothing was sent. Use another name for it."""


class OperationExpiredError(OncewardError):
    """The stored key is older than servers remember keys: nothing was sent.

    The operation may have taken effect. Find out, then `forget` it in the store.
    """


class StoreError(Exception):
    """The store cannot be read or written. Nothing was sent, as a new key might be a second one."""


def problem_error(answer: Answer, problem: Problem | None, *, settled: bool) -> ProblemError:
    return _kind(answer.status, problem.name if problem else "")(answer, problem, settled=settled)


def _kind(status: int, name: str) -> type[ProblemError]:
    if status == 400 and name in ("key-missing", "key-malformed", "key-not-expected"):
        return KeyRefusedError
    if status == 422:
        return KeyReusedError if name == "key-reused" else RejectedError
    if status == 410 and name == "answer-gone":
        return AnswerGoneError
    if status == 409 and name in ("", "key-in-flight"):
        return KeyInFlightError
    if status in (401, 403):
        return NotAuthorizedError
    if status == 429:
        return TooManyRequestsError
    return ServerError if status >= 500 else ProblemError
