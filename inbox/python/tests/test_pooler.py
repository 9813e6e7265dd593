"""Through PgBouncer in transaction mode: a transaction may be in another session than the last."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace

import psycopg
import pytest
from database import KINDS, POOLED, POOLER, TestConnection
from test_once import new_key, pays_once

from onceward_inbox import Inbox

pytestmark = [
    pytest.mark.usefixtures("database"),
    pytest.mark.skipif(not POOLER, reason="ONCEWARD_TEST_POOLER_DSN is not set"),
]
INBOX = Inbox("python pooled", ledger="python")
LEASES = replace(INBOX, ledger="python_leases")
SESSION = """SELECT pg_backend_pid(), current_setting('lock_timeout'),
    current_setting('idle_in_transaction_session_timeout'), current_setting('synchronous_commit')"""


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextlib.asynccontextmanager
async def in_use() -> AsyncIterator[None]:
    """Holds the session that PgBouncer would give next."""
    async with await psycopg.AsyncConnection.connect(POOLER, **POOLED) as other:
        await other.execute("SELECT 1")
        yield


async def all_calls(client: TestConnection, key: str) -> None:
    """Every call of the inbox, in several transactions."""
    attempt = uuid.uuid4()
    claim = await client.call(INBOX, "claim", key, attempt=attempt)
    assert claim.outcome == "fresh"
    await client.call(INBOX, "finish", claim, 201, body="done")
    await client.commit()
    again = await client.call(INBOX, "claim", key, attempt=attempt)
    assert (again.outcome, again.mine, again.body) == ("duplicate", True, b"done")
    await client.commit()
    many = await client.call(INBOX, "claim_many", [key, key + " 2", key + " 3"])
    assert [one.outcome for one in many] == ["duplicate", "fresh", "fresh"]
    await client.call(INBOX, "finish_many", many)
    await client.commit()
    lease = await client.call(LEASES, "lease", key, attempt=attempt)
    await client.commit()
    assert lease.outcome == "fresh"
    assert await client.call(LEASES, "extend_lease", lease)
    await client.commit()
    assert await client.call(LEASES, "end_lease", lease, 200, body="sent")
    await client.commit()
    ended = await client.call(LEASES, "lease", key)
    assert (ended.outcome, ended.body) == ("duplicate", b"sent")
    await client.commit()


def test_every_call_works_in_any_session_and_leaves_no_settings_there(kind: str) -> None:
    async def rounds() -> None:
        client = TestConnection(kind, POOLER, **POOLED)
        await client.open()
        seen = set()
        # More often than psycopg runs a statement before it prepares it.
        for number in range(8):
            async with in_use() if number % 2 else contextlib.AsyncExitStack():
                await all_calls(client, new_key())
                seen.add(await client.row(SESSION))
                await client.commit()
        assert len({row[0] for row in seen}) == 2, "it was the same session each time"
        assert {row[1:] for row in seen} == {("0", "0", "on")}
        await client.close()

    asyncio.run(rounds())


def test_a_transaction_that_was_cut_off_claimed_nothing(kind: str) -> None:
    async def cut_off() -> None:
        key, attempt = new_key(), uuid.uuid4()
        for expected in ("fresh", "fresh"):
            client = TestConnection(kind, POOLER, **POOLED)
            await client.open()
            claim = await client.call(INBOX, "claim", key, attempt=attempt)
            assert claim.outcome == expected
            await client.call(INBOX, "finish", claim)
            await client.break_off()
            await client.close()

    asyncio.run(cut_off())


@pytest.mark.parametrize("forward", [True, False])
def test_a_commit_in_doubt_is_one_effect(kind: str, forward: bool) -> None:
    pays_once(kind, POOLER, forward=forward)
