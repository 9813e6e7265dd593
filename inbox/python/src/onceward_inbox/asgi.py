"""ASGI middleware: the `Idempotency-Key` of a request, with the rules of Onceward's front door."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID, uuid4

from .answers import Claim
from .errors import (
    ArgumentError,
    BusyError,
    ResultTooLargeError,
    is_retryable,
    pool_was_empty,
    sqlstate_of,
)
from .inbox import Inbox, Key
from .keys import fingerprint_of
from .transactions import Connect, Retries, Transactions

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]

_log = logging.getLogger("onceward_inbox")

_STRING = r'"(?:[\x20\x21\x23-\x5B\x5D-\x7E]|\\["\\])*"'
_ITEM = rf"{_STRING}|-?[0-9]{{1,15}}(?:\.[0-9]{{1,3}})?|\?[01]|:[A-Za-z0-9+/=]*:"
_TOKEN = r"[A-Za-z*][A-Za-z0-9!#$%&'*+\-.^_`|~:/]*"
# A string of RFC 8941, with parameters that are ignored.
_QUOTED = re.compile(rf"({_STRING})(?:; *[a-z*][a-z0-9_.*\-]*(?:=(?:{_ITEM}|{_TOKEN}))?)*")
# DANGER: no comma. Two lines that a proxy has joined read `a, b`, and would pass for a third key.
_BARE = re.compile(r"[\x21\x23-\x2B\x2D-\x7E]+")

# Not stored: headers of one hop, those that reveal the caller, and those of each single answer.
_NEVER_STORED = frozenset(
    b"connection http2-settings keep-alive proxy-authenticate proxy-authentication-info "
    b"proxy-authorization proxy-connection te trailer transfer-encoding upgrade "
    b"authentication-info authorization content-length cookie set-cookie set-cookie2 "
    b"www-authenticate date idempotent-replayed".split()
)
_NOT_STORED_STATUS = (408, 425, 429)

_PROBLEMS = {
    "key-missing": (400, "The idempotency key is missing"),
    "key-malformed": (400, "The idempotency key is not valid"),
    "key-in-flight": (409, "A request with this idempotency key is still being processed"),
    "outcome-unknown": (
        409,
        "Whether the request with this idempotency key took effect is not known",
    ),
    "answer-gone": (410, "It was carried out; its answer is no longer kept"),
    "key-expired": (412, "The idempotency key is older than the memory of this service"),
    "body-too-large": (413, "The body is too large"),
    "key-reused": (422, "The idempotency key was used before with another request"),
    "unavailable": (503, "Not available now; try again with the same key"),
}
_DETAILS = {
    "key-in-flight": "Ask again with the same key.",
    "key-reused": "The same key came with another request before. Use a new key for a new request.",
}
# The outcomes of a key that no stored answer belongs to.
_REFUSED = {"conflict": "key-reused", "expired": "key-expired", "unknown": "outcome-unknown"}


@dataclass
class _Answer:
    status: int = 0
    headers: Headers = field(default_factory=list)
    body: bytes = b""

    async def send(self, send: Send) -> None:
        start = {"type": "http.response.start", "status": self.status, "headers": self.headers}
        await send(start)
        await send({"type": "http.response.body", "body": self.body})


class _NotStored(Exception):
    """Rolls the transaction back; the answer is sent all the same."""

    def __init__(self, answer: _Answer) -> None:
        self.answer = answer


class _Aborted(Exception):
    """One of the handler's statements failed: its answer is stored by another transaction."""

    def __init__(self, answer: _Answer) -> None:
        self.answer = answer


class _BodyTooLarge(Exception):
    pass


@dataclass(eq=False)
class OncewardMiddleware:
    """Answers each request once for each key, and repeats with the stored answer.

    The handler runs inside of the transaction that claims the key. It finds its connection (of
    psycopg's AsyncConnection, or SQLAlchemy's AsyncSession) as `request.state.onceward`, and
    neither commits nor rolls back. Its answer is stored and committed before it is sent; 5xx, 408,
    425 and 429 roll back and are not stored. It runs again if its transaction is repeated. If the
    database or the pool has no connection, the answer is 503, and the logger `onceward_inbox` gets
    the exception.

    `inbox` is an Inbox or makes one from the ASGI scope: an API with tenants gives each its own, or
    one client could get another's answer. `connect` lends an async connection or session.
    `minted_at` gets the key, such as `minted_at_of_uuid7`; a key for which it returns None gets 400
    `key-malformed`. Requests with other methods pass.
    """

    app: App
    _: KW_ONLY
    inbox: Inbox | Callable[[Scope], Inbox]
    connect: Connect[Any]
    methods: Iterable[str] = ("POST", "PATCH")
    header: str = "Idempotency-Key"
    minted_at: Callable[[Key], datetime | None] | None = None
    max_request_bytes: int = 1 << 20
    max_answer_bytes: int = 1 << 20
    retries: Retries = Retries()  # noqa: RUF009 (it is immutable)

    def __post_init__(self) -> None:
        self.methods = frozenset(self.methods)
        self.transactions = Transactions(self.connect, self.retries, waits=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in self.methods:
            await self.app(scope, receive, send)
            return
        name = self.header.lower().encode()
        written = [value for header, value in scope["headers"] if header.lower() == name]
        key = _key_of(written)
        if key is None:
            await self._refused(written).send(send)
            return
        try:
            body = await self._body(receive)
            if body is None:
                return
            answer = await self._answer(scope, receive, key, body)
        except _BodyTooLarge:
            answer = _problem("body-too-large", f"At most {self.max_request_bytes} bytes.")
        answer.headers.append((name, written[0]))
        await answer.send(send)

    def _refused(self, written: Sequence[bytes]) -> _Answer:
        if not written:
            return _problem("key-missing", f"This operation needs the header {self.header}.")
        if len(written) > 1:
            return _problem("key-malformed", f"{self.header} was sent more than once.")
        return _problem(
            "key-malformed",
            f"{self.header} must be 1 to 255 characters of printable ASCII without blanks and "
            "commas, or a string in double quotes (RFC 8941).",
        )

    async def _body(self, receive: Receive) -> bytes | None:
        """The whole body; None if the client has gone."""
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self.max_request_bytes:
                raise _BodyTooLarge
            if not message.get("more_body", False):
                return b"".join(parts)

    async def _answer(self, scope: Scope, receive: Receive, key: str, body: bytes) -> _Answer:
        inbox = self.inbox(scope) if callable(self.inbox) else self.inbox
        try:
            minted_at = self.minted_at(key) if self.minted_at else None
        except ArgumentError as error:
            return _problem("key-malformed", str(error))
        if self.minted_at and minted_at is None:
            return _problem("key-malformed", "The key does not tell when it was minted.")
        named: dict[str, Any] = {
            "fingerprint": _fingerprint(scope, body),
            "attempt": uuid4(),
            "minted_at": minted_at,
        }
        made: _Answer | None = None
        last: _Answer | None = None

        async def work(tx: Any) -> _Answer:
            nonlocal last
            try:
                claim = await inbox.claim.inside(tx, key, **named)
            except BusyError:
                # Another request runs with the key: the transaction is not worth another try.
                raise _NotStored(_problem("key-in-flight", retry_after=1)) from None
            except ArgumentError as error:
                if minted_at is None:
                    raise
                raise _NotStored(_problem("key-malformed", str(error))) from None
            if not claim.fresh:
                # A COMMIT in doubt took effect: this is still the first answer, with all headers.
                return last if last and claim.mine else _stored(claim)
            last = made or await self._handled(scope, receive, body, tx)
            if last.status >= 500 or last.status in _NOT_STORED_STATUS:
                raise _NotStored(last)
            await self._finish(tx, inbox, claim, last)
            return last

        try:
            try:
                return await self.transactions.repeated(work)
            except _Aborted as aborted:
                made = aborted.answer
                return await self.transactions.repeated(work)
        except _NotStored as refused:
            return refused.answer
        except Exception as error:
            if not is_retryable(error) and not pool_was_empty(error):
                raise
            # The client learns no more than that, so the reason has to be in the log.
            _log.exception("%s %s is answered with 503", scope["method"], scope["path"])
            return _problem("unavailable", retry_after=1)

    async def _finish(self, tx: Any, inbox: Inbox, claim: Claim, answer: _Answer) -> None:
        left_out = {*_NEVER_STORED, self.header.lower().encode()}
        for one, value in answer.headers:
            if one.lower() == b"connection":
                left_out.update(name.strip() for name in value.lower().split(b","))
        headers = [
            {"name": one.decode("latin-1"), "value": value.decode("latin-1")}
            for one, value in answer.headers
            if one.lower() not in left_out
        ]
        try:
            await inbox.finish.inside(tx, claim, answer.status, headers, answer.body)
        except Exception as error:
            # 25P02: the transaction is aborted. A session of SQLAlchemy finds it out by itself.
            state = sqlstate_of(error) == "25P02" or type(error).__name__ == "PendingRollbackError"
            if state and 400 <= answer.status < 500:
                raise _Aborted(answer) from error
            raise

    async def _handled(self, scope: Scope, receive: Receive, body: bytes, tx: Any) -> _Answer:
        """Runs the application with the transaction, and collects what it answers."""
        answer = _Answer()
        parts: list[bytes] = []
        size = 0
        given = False
        # Extensions would send an answer by other ways than its body.
        state = {**scope.get("state", {}), "onceward": tx}
        inner = {**scope, "state": state, "extensions": {}}

        async def give() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def collect(message: Message) -> None:
            nonlocal size
            if message["type"] == "http.response.start":
                answer.status = message["status"]
                answer.headers = [(bytes(n), bytes(v)) for n, v in message.get("headers", ())]
            elif message["type"] == "http.response.body":
                part = message.get("body", b"")
                size += len(part)
                if size <= self.max_answer_bytes:
                    parts.append(part)

        await self.app(inner, give, collect)
        if size > self.max_answer_bytes:
            raise ResultTooLargeError(f"the answer has {size} bytes; {self.max_answer_bytes} fit")
        if answer.status == 0:
            raise RuntimeError("the application has sent no answer")
        answer.body = b"".join(parts)
        return answer


def _key_of(written: Sequence[bytes]) -> str | None:
    """The key that the header has; None if it is missing, repeated or malformed."""
    if len(written) != 1:
        return None
    text = written[0].decode("latin-1").strip(" ")
    if quoted := _QUOTED.fullmatch(text):
        text = re.sub(r"\\(.)", r"\1", quoted[1][1:-1])
    elif not _BARE.fullmatch(text):
        return None
    return text if 1 <= len(text) <= 255 else None


def _fingerprint(scope: Scope, body: bytes) -> UUID:
    """Of method, path with query, and body, each after its length; as the front door makes it."""
    target: bytes = scope.get("raw_path") or scope["path"].encode()
    if scope.get("query_string"):
        target += b"?" + scope["query_string"]
    parts = (b"onceward http fingerprint", scope["method"].encode(), target, body)
    return fingerprint_of(b"".join(len(part).to_bytes(8, "big") + part for part in parts))


def _stored(claim: Claim) -> _Answer:
    """The answer for a key that was claimed before."""
    if claim.outcome in _REFUSED:
        return _problem(_REFUSED[claim.outcome])
    if claim.body is None:
        return _problem("answer-gone")
    # A result that no HTTP request has stored has no status.
    bare = 422 if claim.outcome == "failed" else 200 if claim.body else 204
    answer = _Answer(claim.status or bare, [], claim.body)
    answer.headers = [
        (one["name"].encode("latin-1"), one["value"].encode("latin-1"))
        for one in claim.headers or []
    ]
    answer.headers.append((b"idempotent-replayed", b"true"))
    if answer.status not in (204, 304):
        answer.headers.append((b"content-length", b"%d" % len(claim.body)))
    return answer


def _problem(name: str, detail: str = "", retry_after: int | None = None) -> _Answer:
    """Problem details (RFC 9457)."""
    status, title = _PROBLEMS[name]
    members = {"type": f"/onceward/problems/{name}", "title": title, "status": status}
    if detail or name in _DETAILS:
        members["detail"] = detail or _DETAILS[name]
    body = json.dumps(members, separators=(",", ":")).encode()
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"cache-control", b"no-store"),
        (b"content-length", b"%d" % len(body)),
    ]
    if retry_after is not None:
        headers.append((b"retry-after", b"%d" % retry_after))
    return _Answer(status, headers, body)
