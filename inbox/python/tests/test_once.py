"""`@once` inside a transaction, with all four kinds of connections."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
import sqlalchemy
from cutting_proxy import CuttingProxy
from database import DSN, KINDS, connect_of, execute

from onceward_inbox import (
    ArgumentError,
    BusyError,
    ConflictError,
    ExpiredError,
    Failed,
    Inbox,
    LedgerError,
    OutcomeUnknownError,
    ResultTooLargeError,
    Retries,
    minted_at_of_uuid7,
    once,
    uuid7,
)

pytestmark = pytest.mark.usefixtures("database")
INSERT = "INSERT INTO python_effects VALUES ('{}', '{}')"
KILL = "SELECT pg_terminate_backend(pg_backend_pid())"


def new_key() -> str:
    return str(uuid.uuid4())


def effects(key: str) -> int:
    [[count]] = execute("SELECT count(*) FROM python_effects WHERE key = %s", key)
    return int(count)


def statement(kind: str, sql: str) -> Any:
    return sqlalchemy.text(sql) if "sqlalchemy" in kind else sql


class Payment:
    """A function under `@once` that writes a row. `then` says what it returns or raises."""

    def __init__(
        self,
        kind: str,
        then: Callable[[str, int], Any] = lambda key, runs: {"key": key, "run": runs},
        dsn: str = DSN,
        **options: Any,
    ) -> None:
        self.runs = 0
        self.kind = kind
        inbox = options.pop("inbox", Inbox("python pay", ledger="python"))
        options.setdefault("key", "key")
        options.setdefault("retries", Retries(first=0.01))
        make: Any = once(inbox, connect_of(kind, dsn), **options)
        self.function: Any

        if kind.endswith("-async"):

            @make  # type: ignore[untyped-decorator]
            async def pay_async(tx: Any, key: str, value: str = "one") -> Any:
                self.runs += 1
                await tx.execute(statement(kind, INSERT.format(key, value)))
                answer = then(key, self.runs)
                if isinstance(answer, str) and answer.startswith("SELECT"):
                    await tx.execute(statement(kind, answer))
                return answer

            self.function = pay_async
        else:

            @make  # type: ignore[untyped-decorator]
            def pay(tx: Any, key: str, value: str = "one") -> Any:
                self.runs += 1
                tx.execute(statement(kind, INSERT.format(key, value)))
                answer = then(key, self.runs)
                if isinstance(answer, str) and answer.startswith("SELECT"):
                    tx.execute(statement(kind, answer))
                return answer

            self.function = pay

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        answer = self.function(*args, **kwargs)
        return asyncio.run(answer) if self.kind.endswith("-async") else answer


def at_once(pay: Payment, key: str, calls: int) -> list[Any]:
    """Calls from several threads, or from several tasks of one event loop."""

    async def gather() -> list[Any]:
        return list(await asyncio.gather(*(pay.function(key) for _ in range(calls))))

    if pay.kind.endswith("-async"):
        return asyncio.run(gather())
    with ThreadPoolExecutor(calls) as threads:
        return list(threads.map(pay.function, [key] * calls))


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_repeat_gets_the_first_answer_and_does_not_run(kind: str) -> None:
    key, pay = new_key(), Payment(kind)
    assert pay(key) == {"key": key, "run": 1}
    assert pay(key=key) == {"key": key, "run": 1}
    assert (pay.runs, effects(key)) == (1, 1)


def test_the_first_answer_too_is_as_json_keeps_it(kind: str) -> None:
    key, pay = new_key(), Payment(kind, lambda key, runs: (1, None))
    assert pay(key) == [1, None]
    assert pay(key) == [1, None]
    nothing = Payment(kind, lambda key, runs: None)
    key = new_key()
    assert (nothing(key), nothing(key), nothing.runs) == (None, None, 1)


def test_another_fingerprint_is_a_conflict(kind: str) -> None:
    key, pay = new_key(), Payment(kind, fingerprint=lambda key, value: value)
    pay(key, "one")
    with pytest.raises(ConflictError):
        pay(key, "two")
    assert pay(key, "one") == {"key": key, "run": 1}
    assert effects(key) == 1


def test_an_exception_rolls_back_and_the_next_call_runs(kind: str) -> None:
    def then(key: str, runs: int) -> int:
        return 10 // (runs - 1)

    key, pay = new_key(), Payment(kind, then)
    with pytest.raises(ZeroDivisionError):
        pay(key)
    assert effects(key) == 0
    assert pay(key) == 10
    assert effects(key) == 1


def test_failed_is_stored_without_the_effect(kind: str) -> None:
    def then(key: str, runs: int) -> Any:
        raise Failed(402, {"reason": "no funds"})

    key, pay = new_key(), Payment(kind, then)
    for _ in range(2):
        with pytest.raises(Failed) as caught:
            pay(key)
        assert (caught.value.status, caught.value.body) == (402, {"reason": "no funds"})
    assert (pay.runs, effects(key)) == (1, 0)


def pays_once(kind: str, dsn: str, *, forward: bool) -> None:
    """Pays while the answer to the COMMIT is lost, or the COMMIT itself: there is one effect."""
    key = new_key()
    with CuttingProxy(dsn, forward=forward) as proxy:
        pay = Payment(kind, dsn=proxy.dsn)
        assert pay(key) == {"key": key, "run": 1 if forward else 2}
        assert proxy.left == 0
    assert (pay.runs, effects(key)) == (1 if forward else 2, 1)


@pytest.mark.parametrize("forward", [True, False], ids=["COMMIT arrived", "COMMIT was lost"])
def test_a_commit_in_doubt_is_one_effect(kind: str, forward: bool) -> None:
    pays_once(kind, DSN, forward=forward)


def test_a_failure_whose_commit_is_in_doubt_is_stored(kind: str) -> None:
    def then(key: str, runs: int) -> Any:
        raise Failed(409, "no")

    key = new_key()
    with CuttingProxy(DSN) as proxy:
        pay = Payment(kind, then, dsn=proxy.dsn)
        with pytest.raises(Failed):
            pay(key)
        assert proxy.left == 0
        with pytest.raises(Failed, match="409"):
            pay(key)
    assert (pay.runs, effects(key)) == (1, 0)


def test_a_lost_connection_is_one_effect(kind: str) -> None:
    key, pay = new_key(), Payment(kind, lambda key, runs: KILL if runs == 1 else runs)
    assert pay(key) == 2
    assert effects(key) == 1


def test_the_tries_are_bounded(kind: str) -> None:
    key, pay = new_key(), Payment(kind, lambda key, runs: KILL, retries=Retries(3, 0.01))
    with pytest.raises((psycopg.OperationalError, sqlalchemy.exc.OperationalError)):
        pay(key)
    assert (pay.runs, effects(key)) == (3, 0)


def test_two_at_once_are_one_effect(kind: str) -> None:
    key, pay = new_key(), Payment(kind)
    assert at_once(pay, key, 4) == [{"key": key, "run": 1}] * 4
    assert (pay.runs, effects(key)) == (1, 1)


def test_a_key_that_is_held_is_busy(kind: str) -> None:
    key, pay = new_key(), Payment(kind)
    with psycopg.connect(DSN) as holder:
        Inbox("python pay", ledger="python").claim(holder, key)
        waiting = Payment(
            kind,
            dsn=psycopg.conninfo.make_conninfo(DSN, options="-c lock_timeout=30ms"),
            retries=Retries(2, 0.01),
        )
        with pytest.raises(BusyError):
            waiting(key)
        holder.rollback()
    assert pay(key) == {"key": key, "run": 1}


def test_a_repeatable_read_default_does_not_matter(kind: str) -> None:
    options = "-c default_transaction_isolation=serializable"
    key, pay = new_key(), Payment(kind, dsn=psycopg.conninfo.make_conninfo(DSN, options=options))
    assert pay(key) == {"key": key, "run": 1}


def test_what_is_too_large_or_not_json_leaves_nothing(kind: str) -> None:
    key = new_key()
    with pytest.raises(ResultTooLargeError):
        Payment(kind, lambda key, runs: "x" * 1001)(key)
    with pytest.raises(TypeError):
        Payment(kind, lambda key, runs: object())(key)
    with pytest.raises(ValueError, match="JSON"):
        Payment(kind, lambda key, runs: float("nan"))(key)
    assert effects(key) == 0


def test_a_failure_that_another_call_stored_first_is_raised() -> None:
    key = new_key()
    inbox = Inbox("python pay", ledger="python")
    lent = 0

    def connect() -> psycopg.Connection[Any]:
        nonlocal lent
        lent += 1
        if lent == 2:  # after the function has failed, and before its failure is stored
            with psycopg.connect(DSN) as other:
                inbox.finish(other, inbox.claim(other, key), 409, body=b'"theirs"', failed=True)
        return psycopg.connect(DSN)

    @once(inbox, connect, key="key")
    def pay(tx: psycopg.Connection[Any], key: str) -> None:
        raise Failed(402, "ours")

    for _ in range(2):
        with pytest.raises(Failed) as caught:
            pay(key)
        assert (caught.value.status, caught.value.body) == (409, "theirs")


def test_a_result_that_is_not_kept_is_unknown(kind: str) -> None:
    execute("SELECT onceward.register_ledger('python_bare', stores_results => false)")
    bare = Inbox("python pay", ledger="python_bare")
    key = new_key()
    with psycopg.connect(DSN) as connection:
        bare.claim(connection, key)
    with pytest.raises(OutcomeUnknownError):
        Payment(kind, inbox=bare)(key)
    with pytest.raises(LedgerError, match="stores no results"):
        Payment(kind, inbox=bare)(new_key())


def test_a_key_from_before_the_memory_has_expired(kind: str) -> None:
    execute("SELECT onceward.register_ledger('python_old')")
    execute("UPDATE onceward.ledgers SET memory_begins = now() WHERE name = 'python_old'")
    old = Inbox("python pay", ledger="python_old")
    pay = Payment(kind, inbox=old, minted_at=minted_at_of_uuid7)
    with pytest.raises(ExpiredError):
        pay("01890a5d-ac96-774b-bcce-b302099a8057")
    assert pay(str(uuid7()))["run"] == 1
    with pytest.raises(ArgumentError, match="does not tell when it was minted"):
        pay(new_key())
    assert pay.runs == 1


def test_wrong_arguments_are_found_before_anything_is_sent(kind: str) -> None:
    pay: Any = Payment(kind)
    for key in (17, None, uuid.uuid4(), ["k"]):
        with pytest.raises(ArgumentError, match="a key is str or bytes"):
            pay(key)
    with pytest.raises(ArgumentError, match="1 to 255 bytes"):
        pay("")
    with pytest.raises(TypeError, match="missing a required argument"):
        pay()
    with pytest.raises(ArgumentError, match="no argument 'order'"):
        Payment(kind, key="order")
    with pytest.raises(ArgumentError, match="mode is"):
        Payment(kind, mode="around")
    assert pay.runs == 0


def test_sync_and_async_do_not_mix() -> None:
    for kind, other in (("psycopg", "psycopg-async"), ("sqlalchemy-async", "sqlalchemy")):
        pay = Payment(kind)
        made: Any = once(Inbox("python pay"), connect_of(other), key="key")
        pay.function = made(pay.function.__wrapped__)
        with pytest.raises(ArgumentError, match="context manager"):
            pay(new_key())


def test_the_key_may_come_from_a_callable() -> None:
    key, pay = new_key(), Payment("psycopg", key=lambda key, value: f"{key}/{value}".encode())
    assert pay(key, "one")["run"] == 1
    assert pay(key, "two")["run"] == 2
    assert pay(key, "one")["run"] == 1


def test_a_connection_in_a_transaction_is_refused() -> None:
    with psycopg.connect(DSN) as connection:
        connection.execute("SELECT 1")
        made: Any = once(Inbox("python pay"), lambda: connection, key="key")
        pay = Payment("psycopg")
        pay.function = made(pay.function.__wrapped__)
        with pytest.raises(ArgumentError, match="in a transaction already"):
            pay(new_key())
    assert pay.runs == 0
