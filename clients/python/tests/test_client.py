"""What a client does with each answer: on a scripted server."""

import asyncio
import re
import socket
import time
import warnings

import pytest
from scripted_server import (
    CUT,
    CUT_IN_BODY,
    CUT_IN_HEAD,
    IN_FLIGHT,
    REPLAYED,
    UNAVAILABLE,
    Reply,
    ScriptedServer,
    problem,
)

from onceward_client import (
    Answer,
    AsyncClient,
    Client,
    ConnectionFailedError,
    KeyInFlightError,
    KeyRefusedError,
    KeyReusedError,
    NotAuthorizedError,
    OncewardError,
    Options,
    ProblemError,
    RejectedError,
    Retries,
    ServerError,
    TooManyRequestsError,
    WeakKeyWarning,
)

QUICK = Options(retries=Retries(attempts=4, in_flight_waits=3, backoff=0.01))
UUID4 = re.compile(r'"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"')


def ask(server: ScriptedServer, options: Options = QUICK, key: str | None = None) -> Answer:
    with Client(server.url, options) as client:
        return client.request("POST", "/orders/7?a=b", json={"amount": "1.50"}, key=key)


@pytest.mark.parametrize(
    "first",
    [IN_FLIGHT, UNAVAILABLE, CUT, CUT_IN_HEAD, CUT_IN_BODY]
    + [Reply(status) for status in (500, 408, 425, 429)],
)
def test_the_key_stays_over_retries(first: Reply) -> None:
    with ScriptedServer(first, first, REPLAYED) as server:
        answer = ask(server)
    assert (answer.status, answer.json(), answer.replayed, answer.attempts) == (
        201,
        {"id": 7},
        True,
        3,
    )
    assert len(server.keys) == 3 and len(set(server.keys)) == 1
    assert UUID4.fullmatch(server.keys[0]) and server.keys[0] == f'"{answer.key}"'
    assert {(seen.target, seen.body) for seen in server.seen} == {
        ("/orders/7?a=b", b'{"amount":"1.50"}')
    }


def test_an_answer_that_cannot_be_decoded_leaves_the_operation_open() -> None:
    garbled = Reply(200, {"Content-Encoding": "gzip"}, b"this is no gzip")
    with ScriptedServer(garbled, REPLAYED) as server:
        answer = ask(server)
    assert (answer.replayed, answer.attempts, len(set(server.keys))) == (True, 2, 1)
    with ScriptedServer(garbled) as server, pytest.raises(ConnectionFailedError) as raised:
        ask(server)
    assert f'"{raised.value.key}"' == server.keys[0] and not raised.value.settled


def test_the_path_of_the_base_is_kept() -> None:
    with ScriptedServer(Reply()) as server, Client(server.url + "/api/", QUICK) as client:
        client.request("POST", "/orders/7")
    assert server.seen[0].target == "/api/orders/7"


@pytest.mark.parametrize("target", ["//other.example/x", "http://other.example/x", "orders", ""])
def test_a_target_that_is_no_path_is_refused(target: str) -> None:
    with ScriptedServer(Reply()) as server, Client(server.url, QUICK) as client:
        with pytest.raises(ValueError):
            client.request("POST", target)
    assert not server.seen


def test_each_operation_has_a_key_of_its_own() -> None:
    with ScriptedServer(Reply()) as server:
        assert ask(server).replayed is False
        ask(server)
    assert len(set(server.keys)) == 2


@pytest.mark.parametrize(
    ("reply", "error", "settled"),
    [
        (problem(422, "key-reused"), KeyReusedError, True),
        (problem(422, "rejected", detail="No such item."), RejectedError, True),
        (problem(400, "key-malformed"), KeyRefusedError, True),
        (problem(401, "token-missing"), NotAuthorizedError, True),
        (Reply(404), ProblemError, True),
        (Reply(409), ProblemError, False),  # another's: nobody says that it is in flight
        (Reply(500, {"Idempotent-Replayed": "true"}), ServerError, True),
    ],
)
def test_a_refusal_is_raised_at_once(
    reply: Reply, error: type[ProblemError], settled: bool
) -> None:
    with ScriptedServer(reply) as server, pytest.raises(error) as raised:
        ask(server)
    assert len(server.seen) == 1
    assert (raised.value.attempts, raised.value.settled) == (1, settled)
    assert raised.value.status == reply.status and f'"{raised.value.key}"' == server.keys[0]


def test_a_problem_is_parsed() -> None:
    reply = problem(422, "rejected", detail="No such item.", item=7)
    with ScriptedServer(reply) as server, pytest.raises(RejectedError) as raised:
        ask(server)
    found = raised.value.problem
    assert found is not None
    assert (found.name, found.status, found.detail) == ("rejected", 422, "No such item.")
    assert found.extensions == {"item": 7}
    assert str(raised.value) == "422: rejected: rejected: No such item."


@pytest.mark.parametrize(
    ("reply", "error", "attempts"),
    [
        (IN_FLIGHT, KeyInFlightError, 4),
        (UNAVAILABLE, ServerError, 4),
        (CUT, ConnectionFailedError, 4),
        (Reply(429), TooManyRequestsError, 4),
        (Reply(429, {"Retry-After": "3600"}), TooManyRequestsError, 1),  # too long to wait for
    ],
)
def test_the_tries_end_and_the_outcome_is_open(
    reply: Reply, error: type[OncewardError], attempts: int
) -> None:
    with ScriptedServer(reply) as server, pytest.raises(error) as raised:
        ask(server)
    assert (raised.value.attempts, len(server.seen)) == (attempts, attempts)
    assert raised.value.settled is False


def test_after_a_doubt_a_refusal_settles_nothing() -> None:
    with ScriptedServer(CUT, Reply(401)) as server, pytest.raises(NotAuthorizedError) as raised:
        ask(server)
    assert raised.value.settled is False


def test_a_server_that_is_not_there_was_not_asked() -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    with Client(f"http://127.0.0.1:{port}", QUICK) as client:
        with pytest.raises(ConnectionFailedError) as raised:
            client.request("POST", "/")
    assert raised.value.attempts == 4


def test_it_waits_as_long_as_the_server_asks() -> None:
    with ScriptedServer(problem(409, "key-in-flight", 1), REPLAYED) as server:
        begun = time.monotonic()
        ask(server)
        assert time.monotonic() - begun >= 1.0


def test_a_key_of_the_callers_is_sent_as_it_is() -> None:
    bare = Options(retries=QUICK.retries, bare_keys=True, key_header="X-Key")
    with ScriptedServer(Reply()) as server, warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(server, bare, key="f3b1c9d0a7e84562")
    assert server.seen[0].headers["x-key"] == "f3b1c9d0a7e84562"


def test_a_weak_key_is_warned_of_where_the_caller_stands() -> None:
    with ScriptedServer(Reply()) as server, Client(server.url, QUICK) as client:
        with pytest.warns(WeakKeyWarning) as caught:
            client.request("POST", "/", key="17")
    assert caught[0].filename == __file__


def test_what_cannot_be_sent_is_an_error_of_the_callers() -> None:
    with ScriptedServer(Reply()) as server, Client(server.url, QUICK) as client:
        with pytest.raises(ValueError, match="printable"):
            client.request("POST", "/", key="a, b")
        with pytest.raises(ValueError, match="store"):
            client.request("POST", "/", operation="order-7")
        with pytest.raises(ValueError, match="own"):
            client.request("POST", "/", headers={"idempotency-key": "a"})
    assert not server.seen


def test_the_asynchronous_client_does_the_same() -> None:
    async def run(url: str) -> Answer:
        async with AsyncClient(url, QUICK) as client:
            return await client.request("POST", "/orders/7", content=b"raw")

    with ScriptedServer(CUT, IN_FLIGHT, UNAVAILABLE, REPLAYED) as server:
        answer = asyncio.run(run(server.url))
    assert (answer.status, answer.replayed, answer.attempts) == (201, True, 4)
    assert len(set(server.keys)) == 1 and server.seen[0].body == b"raw"
