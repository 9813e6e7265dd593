"""Runs inbox/cases.json, the cases that the packages of all languages share."""

from __future__ import annotations

import asyncio
import json
import uuid
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from database import DSN, KINDS, TestConnection, execute

from onceward_inbox import Claim, Inbox, InboxError
from onceward_inbox.errors import sqlstate_of
from onceward_inbox.keys import fingerprint_of

CASES = json.loads((Path(__file__).resolve().parents[2] / "cases.json").read_text("utf-8"))
LEASES = ("lease", "end_lease", "extend_lease", "release_lease")
# What a step of each kind may have; anything else fails the test, so that no check is skipped.
COMMON = {"do", "on", "error"}
CALL = {"tenant", "ledger", "suffix", "expect", "as", "later"}
RESULT = {"of", "status", "headers", "body", "body_bytes", "failed"}
MEMBERS = {
    "begin": {"isolation"},
    "commit": set(),
    "rollback": set(),
    "break": set(),
    "sql": {"text"},
    "savepoint": {"name"},
    "rollback_to": {"name"},
    "release": {"name"},
    "effect": {"value"},
    "effects": {"count"},
    "join": {"task", "expect"},
    "same": {"of", "member"},
    "claim": CALL | {"key", "fingerprint", "attempt", "minted_at"},
    "claim_many": CALL
    | {"keys", "fingerprints", "attempt", "minted_at", "max_bytes", "body_lengths"},
    "finish": CALL | RESULT,
    "finish_many": CALL | {"of", "status"},
    "lease": CALL | {"key", "fingerprint", "attempt", "minted_at", "hold_ms", "honours_key"},
    "end_lease": CALL | RESULT,
    "extend_lease": CALL | {"of", "hold_ms"},
    "release_lease": CALL | {"of"},
}


def key_of(given: Any) -> str | bytes:
    if isinstance(given, str):
        return given
    if set(given) == {"hex"}:
        return bytes.fromhex(given["hex"])
    assert set(given) == {"repeat", "times"}, given
    return str(given["repeat"]) * int(given["times"])


def time_of(given: str | None) -> datetime | None:
    return None if given is None else datetime.fromisoformat(given.replace("Z", "+00:00"))


class Case:
    def __init__(self, name: str, kind: str) -> None:
        self.operation = f"{name} {uuid.uuid4()}"
        self.kind = kind
        self.connections: dict[str, TestConnection] = {}
        self.in_transaction: set[str] = set()
        self.kept: dict[str, Any] = {}
        self.tasks: dict[str, tuple[asyncio.Task[Any], dict[str, Any]]] = {}

    async def run(self, steps: list[dict[str, Any]]) -> None:
        try:
            for number, step in enumerate(steps):
                try:
                    await asyncio.wait_for(self.step(step), 30)
                except (AssertionError, KeyError, TimeoutError) as error:
                    raise AssertionError(f"step {number}, {step}: {error!r}") from error
            assert all(task.done() for task, _ in self.tasks.values()), "a task was not joined"
        finally:
            for task, _ in self.tasks.values():
                task.cancel()
            for connection in self.connections.values():
                await connection.close()

    async def step(self, step: dict[str, Any]) -> None:
        do = step["do"]
        unknown = set(step) - COMMON - MEMBERS[do]
        assert not unknown, f"unknown members {unknown}"
        work = self.work(do, step)
        if "later" in step:
            self.tasks[step["later"]] = asyncio.create_task(work), step
            await asyncio.sleep(0.05)
            assert not self.tasks[step["later"]][0].done(), "it does not wait"
            return
        if "error" in step:
            with pytest.raises(Exception) as caught:  # noqa: PT011
                await work
            assert sqlstate_of(caught.value) == step["error"], repr(caught.value)
            ours = step["error"].startswith("OW") or step["error"] == "55P03"
            if ours and do not in ("commit", "sql"):
                assert isinstance(caught.value, InboxError)
                assert caught.value.sqlstate == step["error"]
                # Some arguments are refused before anything is sent.
                assert caught.value.__cause__ or step["error"] == "OW004"
            return
        answer = await work
        if "as" in step:
            self.kept[step["as"]] = answer
        if do != "join":
            self.compare(answer, step)

    def compare(self, answer: Any, step: dict[str, Any]) -> None:
        if "body_lengths" in step:
            lengths = [None if one.body is None else len(one.body) for one in answer]
            assert lengths == step["body_lengths"]
        if "expect" not in step:
            return
        expected = step["expect"]
        if isinstance(expected, list):
            assert [one.outcome for one in answer] == expected
        elif isinstance(expected, dict):
            for member, value in expected.items():
                found = getattr(answer, member)
                if member == "body" and value is not None:
                    value = value.encode()
                assert found == value, f"{member} is {found!r}"
        else:
            assert answer is expected

    async def work(self, do: str, step: dict[str, Any]) -> Any:
        if do == "effects":
            sql = "SELECT count(*) FROM python_inbox_effects WHERE operation = %s"
            assert execute(sql, self.operation) == [(step["count"],)]
        elif do == "same":
            first, *others = (getattr(self.kept[name], step["member"]) for name in step["of"])
            assert all(other == first for other in others)
        elif do == "join":
            task, started = self.tasks[step["task"]]
            answer = await task
            if "as" in started:
                self.kept[started["as"]] = answer
            self.compare(answer, step)
        else:
            connection = await self.connection(step["on"])
            if do in ("claim", "claim_many", "finish", "finish_many", *LEASES):
                return await self.call(connection, do, step)
            await self.command(connection, do, step)
        return None

    async def connection(self, name: str) -> TestConnection:
        if name not in self.connections:
            self.connections[name] = TestConnection(self.kind)
            await self.connections[name].open()
        return self.connections[name]

    async def command(self, connection: TestConnection, do: str, step: dict[str, Any]) -> None:
        on = step["on"]
        if do == "begin":
            self.in_transaction.add(on)
            if "isolation" in step:
                await connection.sql(f"SET TRANSACTION ISOLATION LEVEL {step['isolation']}")
        elif do in ("commit", "rollback"):
            self.in_transaction.discard(on)
            await (connection.commit() if do == "commit" else connection.rollback())
        elif do == "break":
            self.in_transaction.discard(on)
            await self.connections.pop(on).break_off()
        elif do == "sql":
            await connection.sql(step["text"], alone=on not in self.in_transaction)
        elif do == "effect":
            values = f"('{self.operation}', {int(step['value'])})"
            await connection.sql(f"INSERT INTO python_inbox_effects VALUES {values}")
        else:
            words = {
                "savepoint": "SAVEPOINT",
                "rollback_to": "ROLLBACK TO SAVEPOINT",
                "release": "RELEASE SAVEPOINT",
            }
            await connection.sql(f"{words[do]} {step['name']}")

    async def call(self, connection: TestConnection, do: str, step: dict[str, Any]) -> Any:
        inbox = Inbox(
            self.operation + step.get("suffix", ""),
            tenant=step.get("tenant", ""),
            ledger=step.get("ledger", "cases_leases" if do in LEASES else "cases"),
        )
        named: dict[str, Any] = {}
        for member in ("fingerprint", "fingerprints", "honours_key", "max_bytes"):
            if member in step:
                named[member] = step[member]
        for member in ("status", "headers", "body", "failed"):
            if member in step:
                named[member] = step[member]
        if "body_bytes" in step:
            named["body"] = b"x" * step["body_bytes"]
        if "hold_ms" in step:
            named["hold"] = step["hold_ms"] / 1000
        if "attempt" in step:
            named["attempt"] = uuid.UUID(step["attempt"])
        if "minted_at" in step:
            given = step["minted_at"]
            many = isinstance(given, list)
            named["minted_at"] = [time_of(one) for one in given] if many else time_of(given)
        if do == "claim_many":
            first: Any = [key_of(key) for key in step["keys"]]
        else:
            first = self.kept[step["of"]] if "of" in step else key_of(step["key"])
        return await connection.call(inbox, do, first, **named)


@pytest.fixture(scope="session", autouse=True)
def _ledgers(database: None) -> None:
    columns = ["ledger", "store", "retention", "longest_request"]
    columns += ["stores_results", "max_result_bytes"]
    for ledger in CASES["ledgers"]:
        assert set(ledger) == set(columns)
        marks = ", ".join(f"{name} => %s" for name in columns)
        execute(f"SELECT onceward.register_ledger({marks})", *(ledger[name] for name in columns))
    execute("CREATE TABLE IF NOT EXISTS python_inbox_effects (operation text, value integer)")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["name"])
def test_case(case: dict[str, Any], kind: str) -> None:
    assert set(case) == {"name", "steps"}
    asyncio.run(Case(case["name"], kind).run(case["steps"]))


@pytest.mark.parametrize("vector", CASES["digests"], ids=lambda one: str(one["key"]))
def test_digest(vector: dict[str, Any]) -> None:
    inbox = Inbox(vector["operation"], vector["kind"], vector["tenant"], "cases_leases")

    async def look() -> None:
        connection = TestConnection("psycopg")
        await connection.open()
        try:
            key = key_of(vector["key"])
            lease = await connection.call(inbox, "lease", key)
            assert str(lease.digest) == vector["digest"]
            assert str(lease.downstream_key) == vector["downstream_key"]
            of_cases = Inbox(vector["operation"], vector["kind"], vector["tenant"], "cases")
            claim: Claim = await connection.call(of_cases, "claim", key)
            assert claim.digest == lease.digest
        finally:
            await connection.close()

    asyncio.run(look())


@pytest.mark.parametrize("vector", CASES["fingerprints"], ids=lambda one: one["content"])
def test_fingerprint(vector: dict[str, str]) -> None:
    assert str(fingerprint_of(vector["content"].encode())) == vector["fingerprint"]


def test_what_cases_json_has_is_read() -> None:
    assert set(CASES) == {"about", "ledgers", "digests", "fingerprints", "cases"}
    assert DSN
