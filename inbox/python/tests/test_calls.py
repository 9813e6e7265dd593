"""Versions, roles, arguments, errors, pauses and keys."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import uuid
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from database import DSN, KINDS, TestConnection, execute
from psycopg import conninfo
from psycopg.rows import dict_row
from psycopg_pool import PoolTimeout

from onceward_inbox import (
    ArgumentError,
    BusyError,
    Inbox,
    IsolationError,
    NotAllowedError,
    Retries,
    UnfinishedError,
    VersionError,
    is_retryable,
    minted_at_of_uuid7,
    once,
    translated,
    uuid7,
)
from onceward_inbox.drivers import drive, transaction
from onceward_inbox.once import _Once

INBOX = Inbox("python calls", ledger="python")


@pytest.fixture
def tx(database: None) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(DSN) as connection:
        yield connection
        connection.rollback()


def test_a_commit_without_a_result_is_unfinished(tx: psycopg.Connection[Any]) -> None:
    INBOX.claim(tx, "k")
    with pytest.raises(psycopg.Error) as own:
        tx.commit()
    assert isinstance(translated(own.value), UnfinishedError)

    async def inside() -> None:
        async with transaction(tx):
            await INBOX.claim.inside(tx, "k")

    with pytest.raises(UnfinishedError) as found:
        drive(inside())
    assert isinstance(found.value.__cause__, psycopg.Error)


def test_a_connection_may_have_rows_and_cursors_of_its_own(tx: psycopg.Connection[Any]) -> None:
    tx.row_factory = dict_row
    tx.cursor_factory = psycopg.ClientCursor
    claim = INBOX.claim(tx, "k")
    assert claim.fresh
    assert claim.body is None
    INBOX.finish(tx, claim, 200, [{"name": "a", "value": "b"}], "text")
    again = INBOX.claim(tx, "k")
    assert (again.outcome, again.body) == ("duplicate", b"text")
    assert again.headers == [{"name": "a", "value": "b"}]
    assert isinstance(again.stored_at, datetime)


@pytest.mark.parametrize(
    ("version", "words"),
    [("SELECT 0", "run a newer"), ("SELECT 2", "install a newer"), (None, "has no inbox")],
)
def test_another_version_is_refused(
    tx: psycopg.Connection[Any], version: str | None, words: str
) -> None:
    tx.execute("CREATE SCHEMA python_other")
    if version:
        made = "CREATE FUNCTION python_other.inbox_version() RETURNS integer LANGUAGE sql"
        tx.execute(f"{made} AS '{version}'".encode())
    other = dataclasses.replace(Inbox("o"), schema="python_other")
    with pytest.raises(VersionError, match=f"needs version 1.*{words}") as caught:
        other.claim(tx, "k")
    assert caught.value.found == (int(version[-1]) if version else None)
    assert caught.value.wanted == 1


def test_the_version_is_checked_once(tx: psycopg.Connection[Any]) -> None:
    inbox = Inbox("python calls", ledger="python")
    inbox.claim(tx, "k")
    assert dataclasses.replace(inbox, tenant="t")._checked == [1]
    assert inbox == Inbox("python calls", ledger="python")


def test_wrong_types_are_found_before_anything_is_sent(tx: psycopg.Connection[Any]) -> None:
    calls: Any = INBOX
    claim = calls.claim(tx, "k")
    wrong: list[Callable[[], Any]] = [
        lambda: calls.claim(tx, 17),
        lambda: calls.claim(tx, None),
        lambda: calls.claim(tx, "\ud800"),
        lambda: calls.claim(tx, "k", fingerprint=17),
        lambda: calls.claim(tx, "k", attempt="not a UUID"),
        lambda: calls.claim(tx, "k", minted_at=datetime(2026, 1, 1)),
        lambda: calls.claim_many(tx, "keys"),
        lambda: calls.claim_many(tx, ["k", 1]),
        lambda: calls.finish(tx, "k"),
        lambda: calls.finish(tx, claim, body={"a": 1}),
        lambda: calls.lease(tx, "k", hold="60 s"),
        lambda: calls.claim(None, "k"),
        lambda: calls.claim("dsn", "k"),
        lambda: calls.claim(tx.cursor(), "k"),
        lambda: Inbox(17),  # type: ignore[arg-type]
        lambda: Inbox("a\0b"),
        lambda: Inbox("a", schema="a; b"),
    ]
    for call in wrong:
        with pytest.raises(ArgumentError):
            call()
    # The transaction goes on: nothing has reached it.
    assert calls.claim(tx, "k").outcome == "duplicate"


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("kind", KINDS)
def test_claims_in_autocommit_are_refused_if_no_transaction_is_open(kind: str) -> None:
    async def scenario() -> None:
        connection = TestConnection(kind, autocommit=True)
        await connection.open()
        try:
            await connection.sql("BEGIN")
            claim = await connection.call(INBOX, "claim", "k")
            await connection.sql("ROLLBACK")
            assert claim.fresh
            calls: list[tuple[str, Any]] = [("claim", "k"), ("claim_many", ["k"])]
            for name, argument in [*calls, ("finish", claim), ("finish_many", [claim])]:
                with pytest.raises(ArgumentError, match="autocommit"):
                    await connection.call(INBOX, name, argument)
            leases = dataclasses.replace(INBOX, ledger="python_leases")
            lease = await connection.call(leases, "lease", str(uuid.uuid4()))
            assert await connection.call(leases, "release_lease", lease)
        finally:
            await connection.close()

    asyncio.run(scenario())


def test_lists_of_different_lengths_are_refused(tx: psycopg.Connection[Any]) -> None:
    with pytest.raises(ArgumentError) as caught:
        INBOX.claim_many(tx, ["a", "b"], fingerprints=[])
    assert caught.value.sqlstate == "OW004"
    assert isinstance(caught.value.__cause__, psycopg.Error)


def test_none_is_not_a_default(tx: psycopg.Connection[Any]) -> None:
    calls: Any = INBOX
    for named in ({"status": None}, {"failed": None}):
        claim = calls.claim(tx, "k")
        with pytest.raises(ArgumentError) as caught:
            calls.finish(tx, claim, **named)
        assert isinstance(caught.value.__cause__, psycopg.Error)
        tx.rollback()


def test_what_is_retryable(tx: psycopg.Connection[Any]) -> None:
    assert is_retryable(psycopg.errors.SerializationFailure())
    assert is_retryable(psycopg.errors.DeadlockDetected())
    assert is_retryable(psycopg.errors.AdminShutdown())
    assert is_retryable(psycopg.errors.IdleSessionTimeout())
    assert is_retryable(psycopg.errors.IdleInTransactionSessionTimeout())
    assert is_retryable(psycopg.OperationalError("the connection is closed"))
    assert is_retryable(BusyError())
    assert not is_retryable(IsolationError())
    assert not is_retryable(psycopg.errors.UniqueViolation())
    assert not is_retryable(psycopg.ProgrammingError())
    assert not is_retryable(ValueError())
    assert not is_retryable(ArgumentError())
    assert not is_retryable(PoolTimeout())


def test_pauses_grow_up_to_a_bound() -> None:
    for tried in range(1, 20):
        longest = min(2.0, 0.05 * 2 ** (tried - 1))
        assert longest / 2 <= Retries().pause(tried) <= longest * 1.5


@pytest.mark.parametrize("waits", [False, True], ids=["sync", "async"])
def test_an_extension_that_failed_is_tried_again_while_the_lease_is_held(
    waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first extension comes at half of the hold; one that failed again at a tenth of it."""
    answers: list[bool | Exception] = [True, ConnectionError(), ConnectionError(), True, False]
    pauses: list[float] = []

    class Done(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            pauses.append(timeout or 0)
            return False

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async def answer(work: Callable[[Any], Awaitable[bool]]) -> bool:
        said = answers.pop(0)
        if isinstance(said, Exception):
            raise said
        return said

    monkeypatch.setattr(asyncio, "sleep", sleep)
    transactions = SimpleNamespace(waits=waits, once=answer)
    call: Any = SimpleNamespace(hold=timedelta(seconds=60), transactions=transactions)
    lease: Any = SimpleNamespace(digest=uuid.uuid4())
    drive(_Once._extend(call, lease, Done()))
    assert pauses == [30, 30, 6, 6, 30]


def test_a_ledger_that_is_not_named_is_that_of_the_sql_functions() -> None:
    inbox = Inbox("pay")
    assert Inbox.claim.build(inbox, "k").arguments["ledger"] == "inbox"
    assert Inbox.claim_many.build(inbox, ["k"]).arguments["ledger"] == "inbox"
    assert Inbox.lease.build(inbox, "k").arguments["ledger"] == "inbox_leases"
    other = Inbox("pay", ledger="calls")
    assert Inbox.lease.build(other, "k").arguments["ledger"] == "calls"


@pytest.mark.parametrize(
    "wrong", [{"operation": ""}, {"kind": ""}, {"tenant": "a\0b"}, {"ledger": "\ud83d"}]
)
def test_an_inbox_with_a_wrong_text_is_not_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        dataclasses.replace(INBOX, **wrong)


def test_uuid7() -> None:
    before = datetime.now(timezone.utc) - timedelta(milliseconds=1)
    key = uuid7()
    assert (key.version, key.variant) == (7, uuid.RFC_4122)
    minted_at = minted_at_of_uuid7(key)
    assert minted_at is not None
    assert before <= minted_at <= datetime.now(timezone.utc)
    assert minted_at_of_uuid7(str(key).upper().encode()) == minted_at
    assert len({uuid7() for _ in range(1000)}) == 1000
    # The example of RFC 9562, appendix A.6.
    example = minted_at_of_uuid7("017F22E2-79B0-7CC3-98C4-DC0C0C07398F")
    assert example == datetime(2022, 2, 22, 19, 22, 22, tzinfo=timezone.utc)
    for other in (str(uuid.uuid4()), "order-17", b"\xff", key.hex, f"{{{key}}}", f" {key}"):
        assert minted_at_of_uuid7(other) is None
    with pytest.raises(ArgumentError, match="year 9999"):
        minted_at_of_uuid7("f0000000-0000-7000-8000-000000000000")


@pytest.fixture
def role(database: None) -> Iterator[str]:
    """A role with a grant and no right on a table of the schema."""
    if execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user") != [(True,)]:
        pytest.skip("only a superuser can make the role of this test and act as it")
    name = f"python_role_{uuid.uuid4().hex[:8]}"
    execute(f"CREATE ROLE {name} LOGIN")
    for ledger in ("python", "python_leases"):
        execute("SELECT onceward.grant_inbox(%s, %s, 'python calls')", name, ledger)
    yield name
    for ledger in ("python", "python_leases"):
        execute("SELECT onceward.revoke_inbox(%s, %s, 'python calls')", name, ledger)
    execute(f"DROP OWNED BY {name}")
    execute(f"DROP ROLE {name}")


def test_a_role_with_a_grant_can_do_all(role: str) -> None:
    dsn = conninfo.make_conninfo(DSN, options=f"-c role={role}")
    leases = dataclasses.replace(INBOX, ledger="python_leases")
    key = str(uuid.uuid4())
    with psycopg.connect(dsn) as tx:
        claims = INBOX.claim_many(tx, [f"{key} 1", f"{key} 2"])
        INBOX.finish_many(tx, claims)
        claim = INBOX.claim(tx, key)
        INBOX.finish(tx, claim, 200)
        tx.commit()
        lease = leases.lease(tx, key)
        assert leases.extend_lease(tx, lease)
        assert leases.release_lease(tx, lease)
        assert leases.end_lease(tx, leases.lease(tx, key), body="x")
        tx.commit()
        with pytest.raises(NotAllowedError):
            Inbox("python other", ledger="python").claim(tx, key)
        tx.rollback()
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            tx.execute("SELECT * FROM onceward.claims_1_1")
        tx.rollback()

    def connect() -> psycopg.Connection[Any]:
        return psycopg.connect(dsn)

    @once(INBOX, connect, key="key")
    def inside(tx: psycopg.Connection[Any], key: str) -> int:
        return 1

    @once(leases, connect, key="key", mode="outside")
    def outside(downstream_key: uuid.UUID, key: str) -> int:
        return 2

    key = str(uuid.uuid4())
    assert [inside(key), inside(key), outside(key), outside(key)] == [1, 1, 2, 2]
