"""`@once` outside of a transaction: a lease, the call, the end."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from cutting_proxy import CuttingProxy
from database import DSN, KINDS, connect_of, execute

from onceward_inbox import (
    ConflictError,
    Failed,
    Inbox,
    InFlightError,
    LedgerError,
    OutcomeUnknownError,
    Retries,
    once,
)

pytestmark = pytest.mark.usefixtures("database")
INBOX = Inbox("python charge", ledger="python_leases")


class Charge:
    """A function under `@once(mode="outside")` that notes the keys of its calls."""

    def __init__(
        self,
        kind: str,
        then: Callable[[int], Any] = lambda calls: {"call": calls},
        dsn: str = DSN,
        **options: Any,
    ) -> None:
        self.kind = kind
        self.calls: list[uuid.UUID] = []
        # A call waits for it, if it is there.
        self.may_end: threading.Event | None = None
        self.options = {"then": then, "dsn": dsn, **options}
        options = {"key": "key", "retries": Retries(first=0.01), **options}
        inbox = options.pop("inbox", INBOX)
        make: Any = once(inbox, connect_of(kind, dsn), mode="outside", **options)
        self.function: Any

        if kind.endswith("-async"):

            @make  # type: ignore[untyped-decorator]
            async def charge_async(downstream_key: uuid.UUID, key: str, value: str = "one") -> Any:
                self.calls.append(downstream_key)
                while self.may_end and not self.may_end.is_set():
                    await asyncio.sleep(0.01)
                return then(len(self.calls))

            self.function = charge_async
        else:

            @make  # type: ignore[untyped-decorator]
            def charge(downstream_key: uuid.UUID, key: str, value: str = "one") -> Any:
                self.calls.append(downstream_key)
                if self.may_end:
                    self.may_end.wait()
                return then(len(self.calls))

            self.function = charge

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        answer = self.function(*args, **kwargs)
        return asyncio.run(answer) if self.kind.endswith("-async") else answer


def started(charge: Charge, key: str) -> Callable[[], Any]:
    """Starts a call in a thread; an async one has an event loop of its own, and so an engine."""
    answers: list[Any] = []
    own = Charge(charge.kind, **charge.options)
    own.calls, own.may_end = charge.calls, charge.may_end
    thread = threading.Thread(target=lambda: answers.append(own(key)), daemon=True)
    thread.start()

    def join() -> Any:
        thread.join()
        return answers[0]

    return join


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def new_key() -> str:
    return str(uuid.uuid4())


# Whose lease it is, by the key.
OF_KEY = "WHERE digest = onceward.key_digest('python charge', '', 'id', %s)"


def run_out(key: str) -> None:
    """Ends the time of a key's lease."""
    execute(f"UPDATE onceward.leases SET lease_until = now() - interval '1 s' {OF_KEY}", key)


def until_of(key: str) -> Any:
    """Until when a key is leased; None if it is not."""
    found = execute(f"SELECT lease_until FROM onceward.leases {OF_KEY}", key)
    return found[0][0] if found else None


def eventually(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "it did not happen within a minute"
        time.sleep(0.01)


def break_down(calls: int) -> Any:
    if calls == 1:
        raise ConnectionError("no answer")
    return calls


def test_a_repeat_gets_the_first_answer_and_does_not_call(kind: str) -> None:
    key, charge = new_key(), Charge(kind)
    assert charge(key) == {"call": 1}
    assert charge(key) == {"call": 1}
    [downstream] = charge.calls
    digest = "onceward.key_digest('python charge', '', 'id', %s)"
    assert execute(f"SELECT onceward.downstream_key({digest})", key) == [(downstream,)]


def test_another_fingerprint_is_a_conflict(kind: str) -> None:
    key, charge = new_key(), Charge(kind, fingerprint=lambda key, value: value)
    charge(key, "one")
    with pytest.raises(ConflictError):
        charge(key, "two")
    assert len(charge.calls) == 1


def test_failed_is_stored(kind: str) -> None:
    def then(calls: int) -> Any:
        raise Failed(402, ["declined"])

    key, charge = new_key(), Charge(kind, then)
    for _ in range(2):
        with pytest.raises(Failed) as caught:
            charge(key)
        assert (caught.value.status, caught.value.body) == (402, ["declined"])
    assert len(charge.calls) == 1


def test_a_failure_without_its_result_is_still_a_failure(kind: str) -> None:
    def then(calls: int) -> Any:
        raise Failed(402, "declined")

    sql = "SELECT onceward.register_ledger('python_leases_bare', 'lease', stores_results => false)"
    execute(sql)
    inbox = Inbox("python charge", ledger="python_leases_bare")
    key, charge = new_key(), Charge(kind, then, inbox=inbox)
    for body in ("declined", None):
        with pytest.raises(Failed) as caught:
            charge(key)
        assert (caught.value.status, caught.value.body) == (402, body)
    assert len(charge.calls) == 1


def test_an_exception_leaves_the_lease_and_the_next_call_has_the_same_key(kind: str) -> None:
    key, charge = new_key(), Charge(kind, break_down, hold=60)
    with pytest.raises(ConnectionError):
        charge(key)
    with pytest.raises(InFlightError) as caught:
        charge(key)
    assert 0 < caught.value.remaining <= 60
    run_out(key)
    assert charge(key) == 2
    assert len(charge.calls) == 2
    assert len(set(charge.calls)) == 1


def test_it_is_unknown_where_keys_are_not_honoured(kind: str) -> None:
    key, charge = new_key(), Charge(kind, break_down, honours_key=False)
    with pytest.raises(ConnectionError):
        charge(key)
    run_out(key)
    with pytest.raises(OutcomeUnknownError):
        charge(key)
    assert len(charge.calls) == 1


def test_a_call_in_flight_is_waited_for(kind: str) -> None:
    key, charge = new_key(), Charge(kind, wait=60.0)
    charge.may_end = threading.Event()
    first = started(charge, key)
    eventually(lambda: charge.calls != [])
    second = started(charge, key)
    time.sleep(0.1)  # so that it finds the key in flight
    charge.may_end.set()
    assert first() == second() == {"call": 1}
    assert len(charge.calls) == 1


def test_a_long_call_keeps_its_lease(kind: str) -> None:
    key, charge = new_key(), Charge(kind, hold=2.0)
    charge.may_end = threading.Event()
    first = started(charge, key)
    eventually(lambda: charge.calls != [])
    taken = until_of(key)
    eventually(lambda: until_of(key) > taken)
    with pytest.raises(InFlightError):
        Charge(kind)(key)
    charge.may_end.set()
    assert first() == {"call": 1}
    assert charge(key) == {"call": 1}
    assert len(charge.calls) == 1


def test_an_end_that_comes_too_late_gives_way_to_the_new_holder(kind: str) -> None:
    """The lease is taken over during the call; the answer is the one that the other has stored."""
    key = new_key()

    def then(calls: int) -> str:
        # As if this process had slept: the lease is out, another one takes it over and ends it.
        run_out(key)
        with psycopg.connect(DSN) as connection:
            lease = INBOX.lease(connection, key)
            assert lease.taken_over
            assert INBOX.end_lease(connection, lease, body='"of the other"')
        return "of the first"

    charge = Charge(kind, then)
    assert charge(key) == "of the other"
    assert len(charge.calls) == 1


@pytest.mark.parametrize("cuts", [1, 2, 3])
def test_commits_in_doubt_are_one_call(kind: str, cuts: int) -> None:
    key = new_key()
    with CuttingProxy(DSN, cuts=cuts) as proxy:
        charge = Charge(kind, dsn=proxy.dsn)
        assert charge(key) == {"call": 1}
        assert proxy.left == 0
        assert charge(key) == {"call": 1}
    assert len(charge.calls) == 1


def test_a_ledger_of_claims_is_refused(kind: str) -> None:
    made: Any = once(
        Inbox("python charge", ledger="python"), connect_of(kind), mode="outside", key="key"
    )
    charge = Charge(kind)
    charge.function = made(charge.function.__wrapped__)
    with pytest.raises(LedgerError):
        charge(new_key())
    assert charge.calls == []
