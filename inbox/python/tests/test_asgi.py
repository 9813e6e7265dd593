"""The ASGI middleware with FastAPI."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import psycopg
import pytest
from cutting_proxy import CuttingProxy
from database import DSN, connect_of, execute
from fastapi import FastAPI, HTTPException, Request, Response
from psycopg_pool import PoolTimeout
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, TimeoutError as SqlTimeoutError

from onceward_inbox import Inbox, OncewardMiddleware, Retries, minted_at_of_uuid7, uuid7

pytestmark = pytest.mark.usefixtures("database")
INBOX = Inbox("python http", ledger="python")
NOT_STORED = {
    **{"Connection": "close, X-Of-The-Hop", "X-Of-The-Hop": "a", "Authorization": "Basic a"},
    **{"WWW-Authenticate": "Basic", "Authentication-Info": "a", "Cookie": "a=b"},
}
Scenario = Callable[[httpx.AsyncClient, dict[str, int]], Awaitable[None]]


def new_key() -> str:
    return str(uuid.uuid4())


def effects(key: str) -> int:
    [[count]] = execute("SELECT count(*) FROM python_effects WHERE key = %s", key)
    return int(count)


def shop(kind: str, runs: dict[str, int]) -> FastAPI:
    app = FastAPI()

    @app.post("/orders")
    async def place(request: Request, response: Response, status: int = 201) -> Any:
        tx = request.state.onceward
        key = request.headers["idempotency-key"].strip('"')
        runs[key] = runs.get(key, 0) + 1
        insert = f"INSERT INTO python_effects VALUES ('{key}', 'http')"
        await tx.execute(text(insert) if "sqlalchemy" in kind else insert)
        how = await request.body()
        if how == b"kill" and runs[key] == 1:
            kill = "SELECT pg_terminate_backend(pg_backend_pid())"
            await tx.execute(text(kill) if "sqlalchemy" in kind else kill)
        if how == b"raise" and runs[key] == 1:
            raise ZeroDivisionError
        if how == b"twice":
            try:
                again = f"CREATE TABLE python_effects (key text) -- {key}"
                await tx.execute(text(again) if "sqlalchemy" in kind else again)
            except (psycopg.Error, DBAPIError):
                if status < 400:
                    return {"swallowed": True}
        if how == b"large":
            return Response(b"x" * 2000)
        if how == b"headers":
            return Response(b"x", headers=NOT_STORED | {"X-Kept": "yes"})
        if how == b"wait":
            await asyncio.sleep(0.3)
        if status >= 400:
            raise HTTPException(status, "as wanted")
        response.status_code = status
        response.headers["X-Run"] = str(runs[key])
        response.set_cookie("session", "secret")
        return {"run": runs[key], "ä": "ß"}

    @app.get("/orders")
    @app.put("/orders")
    async def look(request: Request) -> bool:
        return hasattr(request.state, "onceward")

    return app


@asynccontextmanager
async def serving(
    kind: str, runs: dict[str, int], dsn: str = DSN, **options: Any
) -> AsyncIterator[httpx.AsyncClient]:
    app = shop(kind, runs)
    named = {"inbox": INBOX, "retries": Retries(first=0.01), "connect": connect_of(kind, dsn)}
    app.add_middleware(OncewardMiddleware, **{**named, **options})
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://shop.example") as client:
        yield client


def play(kind: str, scenario: Scenario, dsn: str = DSN, **options: Any) -> dict[str, int]:
    runs: dict[str, int] = {}

    async def run() -> None:
        async with serving(kind, runs, dsn, **options) as client:
            await scenario(client, runs)

    asyncio.run(run())
    return runs


def key_header(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key}


def problem(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"
    members = answer.json()
    assert members["status"] == answer.status_code
    assert set(members) <= {"type", "title", "status", "detail"}
    return answer.status_code, str(members["type"]).removeprefix("/onceward/problems/")


@pytest.fixture(params=["psycopg-async", "sqlalchemy-async"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_repeat_gets_the_stored_answer(kind: str) -> None:
    key = new_key()

    async def scenario(client: httpx.AsyncClient, runs: dict[str, int]) -> None:
        first = await client.post("/orders", headers=key_header(f'"{key}"'), content=b"a")
        assert (first.status_code, first.json()["run"]) == (201, 1)
        assert "idempotent-replayed" not in first.headers
        assert first.headers["idempotency-key"] == f'"{key}"'
        assert "set-cookie" in first.headers
        again = await client.post("/orders", headers=key_header(key), content=b"a")
        assert (again.status_code, again.content) == (201, first.content)
        assert again.headers["idempotent-replayed"] == "true"
        assert again.headers["x-run"] == "1"
        assert again.headers["content-type"] == first.headers["content-type"]
        assert again.headers.get_list("content-length") == [str(len(first.content))]
        assert again.headers["idempotency-key"] == key
        assert "set-cookie" not in again.headers

    assert play(kind, scenario) == {key: 1}
    assert effects(key) == 1


def test_headers_of_one_hop_and_of_the_caller_are_not_stored(kind: str) -> None:
    key = new_key()

    async def scenario(client: httpx.AsyncClient, runs: dict[str, int]) -> None:
        first = await client.post("/orders", headers=key_header(key), content=b"headers")
        again = await client.post("/orders", headers=key_header(key), content=b"headers")
        assert first.headers["www-authenticate"] == "Basic"
        assert again.headers["idempotent-replayed"] == "true"
        assert again.headers["x-kept"] == "yes"
        assert not {name.lower() for name in NOT_STORED} & set(again.headers)

    assert play(kind, scenario) == {key: 1}


def test_another_request_under_the_key_is_a_conflict(kind: str) -> None:
    key = new_key()

    async def scenario(client: httpx.AsyncClient, runs: dict[str, int]) -> None:
        await client.post("/orders", headers=key_header(key), content=b"a")
        for path, body in (("/orders", b"b"), ("/orders?x=1", b"a"), ("/others", b"a")):
            answer = await client.post(path, headers=key_header(key), content=body)
            assert problem(answer) == (422, "key-reused")

    play(kind, scenario)
    assert effects(key) == 1


def test_4xx_is_stored_and_5xx_408_425_429_are_not(kind: str) -> None:
    async def scenario(client: httpx.AsyncClient, runs: dict[str, int]) -> None:
        for status, stored in ((402, 1), (503, 0), (500, 0), (408, 0), (425, 0), (429, 0)):
            key = new_key()
            for _ in range(2):
                path = f"/orders?status={status}"
                answer = await client.post(path, headers=key_header(key))
                assert (answer.status_code, answer.json()) == (status, {"detail": "as wanted"})
            assert (runs[key], effects(key)) == (2 - stored, stored)

    play(kind, scenario)


def test_4xx_after_a_statement_that_failed_is_stored_without_the_effect(kind: str) -> None:
    key, other = new_key(), new_key()

    async def scenario(client: httpx.AsyncClient, runs: dict[str, int]) -> None:
        for number in range(2):
            path = "/orders?status=409"
            answer = await client.post(path, headers=key_header(key), content=b"twice")
            assert answer.status_code == 409
            assert ("idempotent-replayed" in answer.headers) == (number == 1)
        # A success that the database does not share is an error.
        answer = await client.post("/orders", headers=key_header(other), content=b"twice")
        assert answer.status_code == 500

    assert play(kind, scenario) == {key: 1, other: 1}
    assert (effects(key), effects(other)) == (0, 0)


def test_an_exception_rolls_back(kind: str) -> None:
    key = new_key()

    async def scenario(client: httpx.AsyncClient, runs: dict[str, int]) -> None:
        answer = await client.post("/orders", headers=key_header(key), content=b"raise")
        assert answer.status_code == 500
        assert effects(key) == 0
        answer = await client.post("/orders", headers=key_header(key), content=b"raise")
        assert answer.json()["run"] == 2

    play(kind, scenario)
    assert effects(key) == 1


@pytest.mark.parametrize("forward", [True, False], ids=["COMMIT arrived", "COMMIT was lost"])
def test_a_commit_in_doubt_is_one_effect(kind: str, forward: bool) -> None:
    key = new_key()

    async def scenario(client: httpx.AsyncClient, runs: dict[str, int]) -> None:
        answer = await client.post("/orders", headers=key_header(key))
        assert (answer.status_code, answer.json()["run"]) == (201, 1 if forward else 2)
        # In either case it is the first answer, and not a stored one.
        assert "idempotent-replayed" not in answer.headers
        assert "set-cookie" in answer.headers
        assert answer.headers.get_list("idempotency-key") == [key]

    with CuttingProxy(DSN, forward=forward) as proxy:
        play(kind, scenario, proxy.dsn)
        assert proxy.left == 0
    assert effects(key) == 1


def test_a_stored_refusal_whose_commit_is_in_doubt_is_not_replayed(kind: str) -> None:
    key = new_key()

    async def scenario(client: httpx.AsyncClient, runs: dict[str, int]) -> None:
        path = "/orders?status=409"
        answer = await client.post(path, headers=key_header(key), content=b"twice")
        assert (answer.status_code, answer.json()) == (409, {"detail": "as wanted"})
        assert "idempotent-replayed" not in answer.headers
        again = await client.post(path, headers=key_header(key), content=b"twice")
        assert (again.status_code, again.content) == (409, answer.content)
        assert again.headers["idempotent-replayed"] == "true"

    with CuttingProxy(DSN) as proxy:
        assert play(kind, scenario, proxy.dsn) == {key: 1}
        assert proxy.left == 0
    assert effects(key) == 0


def test_a_lost_connection_is_one_effect(kind: str) -> None:
    key = new_key()

    async def scenario(client: httpx.AsyncClient, runs: dict[str, int]) -> None:
        answer = await client.post("/orders", headers=key_header(key), content=b"kill")
        assert (answer.status_code, answer.json()["run"]) == (201, 2)

    play(kind, scenario)
    assert effects(key) == 1


def test_two_at_once_are_one_effect(kind: str) -> None:
    key = new_key()

    async def scenario(client: httpx.AsyncClient, runs: dict[str, int]) -> None:
        post = [client.post("/orders", headers=key_header(key), content=b"wait") for _ in "ab"]
        answers = await asyncio.gather(*post)
        assert [answer.json()["run"] for answer in answers] == [1, 1]
        replayed = [answer.headers.get("idempotent-replayed") for answer in answers]
        assert sorted(map(str, replayed)) == ["None", "true"]

    assert play(kind, scenario) == {key: 1}
    assert effects(key) == 1


def test_a_key_in_flight_is_said(kind: str) -> None:
    key = new_key()

    async def scenario(client: httpx.AsyncClient, runs: dict[str, int]) -> None:
        with psycopg.connect(DSN) as holder:
            INBOX.claim(holder, key)
            answer = await client.post("/orders", headers=key_header(key))
            holder.rollback()
        assert problem(answer) == (409, "key-in-flight")
        assert answer.headers["retry-after"] == "1"

    dsn = psycopg.conninfo.make_conninfo(DSN, options="-c lock_timeout=50ms")
    assert play(kind, scenario, dsn) == {}


def test_keys_are_read_as_the_front_door_reads_them() -> None:
    async def scenario(client: httpx.AsyncClient, runs: dict[str, int]) -> None:
        assert problem(await client.post("/orders")) == (400, "key-missing")
        bad = ["", '""', "a b", "a,b", '"a', 'a"b', '"ü"', "x" * 256, '"a" b', '"a";B=1', '"\\a"']
        for written in bad:
            headers = [(b"idempotency-key", written.encode("latin-1"))]
            answer = await client.post("/orders", headers=headers)
            assert problem(answer) == (400, "key-malformed"), written
        two = [("Idempotency-Key", "a"), ("Idempotency-Key", "a")]
        assert problem(await client.post("/orders", headers=two)) == (400, "key-malformed")
        key = new_key()
        forms = [key, f'"{key}"', f'"{key}";a=1; b="x";c=?1;d=tok/en;e=1.5;f=:aGk=:;g']
        for number, written in enumerate(forms):
            answer = await client.post("/orders", headers=key_header(written))
            assert answer.status_code == 201, written
            assert ("idempotent-replayed" in answer.headers) == (number > 0)
        longest = (key * 8)[:255]
        assert (await client.post("/orders", headers=key_header(longest))).status_code == 201

    play("psycopg-async", scenario)


def test_other_methods_pass_without_a_transaction() -> None:
    async def scenario(client: httpx.AsyncClient, runs: dict[str, int]) -> None:
        for method in ("GET", "PUT"):
            assert (await client.request(method, "/orders")).json() is False

    play("psycopg-async", scenario, "host=127.0.0.1 port=1")


def test_limits_and_a_database_that_is_away(caplog: pytest.LogCaptureFixture) -> None:
    key = new_key()

    async def large(client: httpx.AsyncClient, runs: dict[str, int]) -> None:
        answer = await client.post("/orders", headers=key_header(key), content=b"x" * 101)
        assert problem(answer) == (413, "body-too-large")
        # The ledger takes 1000 bytes: nothing of the request is kept.
        answer = await client.post("/orders", headers=key_header(key), content=b"large")
        assert answer.status_code == 500
        assert effects(key) == 0

    async def away(client: httpx.AsyncClient, runs: dict[str, int]) -> None:
        answer = await client.post("/orders", headers=key_header(key))
        assert problem(answer) == (503, "unavailable")
        assert answer.headers["retry-after"] == "1"

    play("psycopg-async", large, max_request_bytes=100)
    assert play("psycopg-async", away, "host=127.0.0.1 port=1", retries=Retries(2, 0.01)) == {}
    assert "POST /orders is answered with 503" in caplog.text
    assert "OperationalError" in caplog.text


@pytest.mark.parametrize("error", [PoolTimeout("none is free"), SqlTimeoutError("none is free")])
def test_an_empty_pool_is_unavailable(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    def empty() -> Any:
        raise error

    async def scenario(client: httpx.AsyncClient, runs: dict[str, int]) -> None:
        answer = await client.post("/orders", headers=key_header(new_key()))
        assert problem(answer) == (503, "unavailable")
        assert answer.headers["retry-after"] == "1"

    assert play("psycopg-async", scenario, connect=empty) == {}
    assert "none is free" in caplog.text


def test_tenants_and_outcomes_of_other_programs() -> None:
    key = new_key()

    async def scenario(client: httpx.AsyncClient, runs: dict[str, int]) -> None:
        for tenant in ("a", "b"):
            headers = {**key_header(key), "Tenant": tenant}
            answer = await client.post("/orders", headers=headers)
            assert "idempotent-replayed" not in answer.headers

    def inbox(scope: Any) -> Inbox:
        return Inbox(
            "python http", tenant=dict(scope["headers"])[b"tenant"].decode(), ledger="python"
        )

    assert play("psycopg-async", scenario, inbox=inbox) == {key: 2}

    async def expired(client: httpx.AsyncClient, runs: dict[str, int]) -> None:
        old = "01890a5d-ac96-774b-bcce-b302099a8057"
        answer = await client.post("/orders", headers=key_header(old))
        assert problem(answer) == (412, "key-expired")
        assert (await client.post("/orders", headers=key_header(str(uuid7())))).status_code == 201
        future = [f"{begin}-0000-7000-8000-000000000000" for begin in ("10000000", "f0000000")]
        for malformed in (*future, new_key(), "abc"):
            answer = await client.post("/orders", headers=key_header(malformed))
            assert problem(answer) == (400, "key-malformed")

    execute("SELECT onceward.register_ledger('python_old')")
    execute("UPDATE onceward.ledgers SET memory_begins = now() WHERE name = 'python_old'")
    old = Inbox("python http", ledger="python_old")
    play("psycopg-async", expired, inbox=old, minted_at=minted_at_of_uuid7)
