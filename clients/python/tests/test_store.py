"""Keys over a restart of the caller."""

import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from scripted_server import CUT, REPLAYED, UNAVAILABLE, Reply, ScriptedServer, Seen

from onceward_client import (
    Answer,
    Client,
    ConnectionFailedError,
    Entry,
    FileStore,
    NotAuthorizedError,
    OncewardError,
    OperationChangedError,
    OperationExpiredError,
    Options,
    RejectedError,
    Retries,
    ServerError,
    StoreError,
)

ONCE = Retries(attempts=1)


def ask(server: ScriptedServer, folder: Path, amount: str = "1.50") -> Answer:
    """As a process that has just begun would."""
    with Client(server.url, Options(retries=ONCE, store=FileStore(folder))) as client:
        return client.request("POST", "/orders", json={"amount": amount}, operation="order-7")


def test_a_key_outlives_the_caller_until_the_outcome_is_known(tmp_path: Path) -> None:
    with ScriptedServer(CUT, UNAVAILABLE, Reply(401), REPLAYED) as server:
        errors: list[type[OncewardError]] = [
            ConnectionFailedError,
            ServerError,
            NotAuthorizedError,
        ]
        for error in errors:
            with pytest.raises(error) as raised:
                ask(server, tmp_path)
            assert raised.value.settled is False
            assert [entry.key for entry in FileStore(tmp_path).entries()] == [raised.value.key]
        assert ask(server, tmp_path).replayed
        assert FileStore(tmp_path).entries() == []
        ask(server, tmp_path)
    assert len(set(server.keys[:4])) == 1
    assert server.keys[4] != server.keys[0], "an ended operation starts again"
    assert list(tmp_path.iterdir()) == []


def test_the_key_is_stored_before_it_is_sent(tmp_path: Path) -> None:
    stored: list[str] = []

    def look(_: Seen) -> None:
        stored.extend(f'"{entry.key}"' for entry in FileStore(tmp_path).entries())

    with ScriptedServer(Reply(), on_request=look) as server:
        ask(server, tmp_path)
    assert stored == server.keys


def test_a_caller_that_is_killed_goes_on_under_its_key(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import sys
        from onceward_client import Client, FileStore, Options
        client = Client(sys.argv[1], Options(store=FileStore(sys.argv[2])))
        client.request("POST", "/orders", json={"amount": "1.50"}, operation="order-7")
        """
    )
    asked = threading.Event()
    go_on = threading.Event()

    def hold(_: Seen) -> None:
        if not asked.is_set():
            asked.set()
            go_on.wait(30)

    source = Path(__file__).parents[1] / "src"
    with ScriptedServer(CUT, REPLAYED, on_request=hold) as server:
        caller = subprocess.Popen(
            [sys.executable, "-c", program, server.url, str(tmp_path)],
            env=os.environ | {"PYTHONPATH": str(source)},
        )
        assert asked.wait(30)
        caller.kill()
        caller.wait()
        go_on.set()
        assert ask(server, tmp_path).replayed
    assert len(set(server.keys)) == 1


def test_a_rejected_operation_may_be_corrected(tmp_path: Path) -> None:
    with ScriptedServer(Reply(422), Reply(201)) as server:
        with pytest.raises(RejectedError):
            ask(server, tmp_path)
        ask(server, tmp_path, amount="2")
    assert len(set(server.keys)) == 2


def test_another_request_under_an_open_operation_is_not_sent(tmp_path: Path) -> None:
    with ScriptedServer(CUT) as server:
        with pytest.raises(ConnectionFailedError) as raised:
            ask(server, tmp_path)
        with pytest.raises(OperationChangedError) as changed:
            ask(server, tmp_path, amount="2")
    assert changed.value.key == raised.value.key
    assert len(server.seen) == 1


def test_a_key_that_no_server_remembers_any_more_is_not_sent(tmp_path: Path) -> None:
    with ScriptedServer(CUT, Reply()) as server:
        with pytest.raises(ConnectionFailedError):
            ask(server, tmp_path)
        (file,) = tmp_path.iterdir()
        entry = json.loads(file.read_text())
        file.write_text(json.dumps(entry | {"created_at": time.time() - 24 * 3600}))
        with pytest.raises(OperationExpiredError) as raised:
            ask(server, tmp_path)
        assert len(server.seen) == 1
        FileStore(tmp_path).forget("order-7", raised.value.key)
        assert ask(server, tmp_path).status == 200


def test_a_damaged_entry_is_an_error_and_no_new_key(tmp_path: Path) -> None:
    with ScriptedServer(CUT, Reply()) as server:
        with pytest.raises(ConnectionFailedError):
            ask(server, tmp_path)
        (file,) = tmp_path.iterdir()
        file.write_text("{")
        with pytest.raises(StoreError):
            ask(server, tmp_path)
    assert len(server.seen) == 1


def test_whatever_the_disk_refuses_is_a_store_error(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "keys")
    (tmp_path / "keys").rmdir()
    with pytest.raises(StoreError):
        store.claim(Entry("order-7", "key", "f", time.time()))
    with pytest.raises(StoreError):
        store.entries()
    (tmp_path / "keys").write_text("no folder")
    with pytest.raises(StoreError):
        FileStore(tmp_path / "keys" / "below")


def test_an_answer_is_worth_more_than_a_store_that_does_not_forget(tmp_path: Path) -> None:
    class Unforgetting(FileStore):
        def forget(self, operation: str, key: str) -> None:
            raise StoreError("the disk is gone")

    with ScriptedServer(Reply(201)) as server:
        with Client(server.url, Options(retries=ONCE, store=Unforgetting(tmp_path))) as client:
            with pytest.warns(UserWarning, match="the disk is gone"):
                answer = client.request("POST", "/orders", json={}, operation="order-7")
    assert answer.status == 201


def test_of_many_who_begin_an_operation_one_wins(tmp_path: Path) -> None:
    found: list[str] = []

    def begin(number: int) -> None:
        entry = Entry("order-7", f"key-{number}", "f", time.time())
        found.append(FileStore(tmp_path).claim(entry).key)

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(found)) == 1
    store = FileStore(tmp_path)
    store.forget("order-7", "another key")
    store.forget("order-8", found[0])
    assert len(store.entries()) == 1
