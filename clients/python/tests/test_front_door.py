"""Against the real front door, which tests/integration/clients/ of the project starts.

It has a row for each order in the end, and counts them there: each `id` is to be there once.
"""

import asyncio
import os
import threading
from pathlib import Path

import pytest
from losing_proxy import LosingProxy

from onceward_client import (
    Answer,
    AsyncClient,
    Client,
    ConnectionFailedError,
    FileStore,
    KeyReusedError,
    Options,
    RejectedError,
    Retries,
    mint_key,
)

DOOR = os.environ.get("ONCEWARD_FRONT_DOOR", "")
pytestmark = pytest.mark.skipif(not DOOR, reason="ONCEWARD_FRONT_DOOR names no front door")


def new_order() -> str:
    return f"/orders/python-{mint_key()}"


def test_an_order_is_taken_and_its_repeat_is_a_replay() -> None:
    key = mint_key()
    path = new_order()
    with Client(DOOR) as client:
        first, again = (client.request("POST", path, json={"amount": 1}, key=key) for _ in "12")
    assert (first.status, first.replayed) == (204, False)
    assert (again.status, again.replayed) == (204, True)
    assert first.headers["Idempotency-Key"] == f'"{key}"'


def test_an_answer_that_was_lost_comes_again() -> None:
    with LosingProxy(DOOR) as proxy, Client(proxy.url) as client:
        answer = client.request("POST", new_order(), json={"amount": 1})
    assert (answer.status, answer.replayed, answer.attempts) == (204, True, 2)


def test_a_caller_that_begins_anew_gets_the_answer_of_the_first(tmp_path: Path) -> None:
    path = new_order()
    options = Options(retries=Retries(attempts=1), store=FileStore(tmp_path))
    with LosingProxy(DOOR) as proxy, Client(proxy.url, options) as client:
        with pytest.raises(ConnectionFailedError):
            client.request("POST", path, json={"amount": 1}, operation="order-7")
    with Client(DOOR, options) as client:
        answer = client.request("POST", path, json={"amount": 1}, operation="order-7")
    assert (answer.status, answer.replayed) == (204, True)
    assert FileStore(tmp_path).entries() == []


def test_while_the_first_runs_the_second_waits() -> None:
    key, path = mint_key(), new_order()
    answers: list[Answer] = []

    def order() -> None:
        with Client(DOOR) as client:
            slow = {"amount": 1, "kind": "slow"}
            answers.append(client.request("POST", path, json=slow, key=key))

    both = [threading.Thread(target=order) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert sorted(answer.replayed for answer in answers) == [False, True]
    assert max(answer.attempts for answer in answers) >= 2


def test_of_two_coroutines_the_second_waits_and_an_answer_that_was_lost_comes_again() -> None:
    key, path = mint_key(), new_order()

    async def order_twice() -> list[Answer]:
        async with AsyncClient(DOOR) as client:
            slow = {"amount": 1, "kind": "slow"}
            both = [client.request("POST", path, json=slow, key=key) for _ in range(2)]
            return list(await asyncio.gather(*both))

    async def order(url: str) -> Answer:
        async with AsyncClient(url) as client:
            return await client.request("POST", new_order(), json={"amount": 1})

    answers = asyncio.run(order_twice())
    assert sorted(answer.replayed for answer in answers) == [False, True]
    assert max(answer.attempts for answer in answers) >= 2
    with LosingProxy(DOOR) as proxy:
        answer = asyncio.run(order(proxy.url))
    assert (answer.status, answer.replayed, answer.attempts) == (204, True, 2)


def test_a_key_for_something_else_is_refused_and_what_was_rejected_may_be_corrected() -> None:
    key, path = mint_key(), new_order()
    with Client(DOOR) as client:
        with pytest.raises(RejectedError) as rejected:
            client.request("POST", path, json={"amount": "much"}, key=key)
        client.request("POST", path, json={"amount": 1}, key=key)
        with pytest.raises(KeyReusedError) as reused:
            client.request("POST", path, json={"amount": 2}, key=key)
    assert rejected.value.settled and reused.value.settled
    assert reused.value.problem is not None and reused.value.problem.name == "key-reused"


def test_who_asks_too_often_waits() -> None:
    key, path = mint_key(), f"/limited/python-{mint_key()}"
    with Client(DOOR) as client:
        answers = [client.request("POST", path, json={"amount": 1}, key=key)]
        # On a slow machine a request may come so late that it has not to wait.
        while len(answers) < 10 and (len(answers) == 1 or answers[-1].attempts == 1):
            answers.append(client.request("POST", path, json={"amount": 1}, key=key))
    assert (answers[0].attempts, answers[-1].attempts >= 2) == (1, True)
    assert all(answer.replayed for answer in answers[1:])


def test_an_event_goes_to_the_log() -> None:
    with Client(DOOR) as client:
        answer = client.request("POST", "/events", json={"from": "python"})
    assert (answer.status, answer.replayed) == (202, False)
