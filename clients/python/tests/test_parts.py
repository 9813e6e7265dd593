"""The rules apart from any server: keys, verdicts, pauses."""

import time
from datetime import datetime, timezone
from uuid import RFC_4122, UUID

import httpx
import pytest

from onceward_client import Retries, mint_key
from onceward_client.answers import is_replayed
from onceward_client.call import fingerprint_of
from onceward_client.keys import check_key, weakness
from onceward_client.policy import in_flight_pause, parse_retry_after, pause, settles


def test_a_fingerprint_is_the_same_in_all_languages() -> None:
    expected = "62eeaf2c54b0008c66eba9b462238ab60d0fbb8ede8f47071ab1a761e5c8a3fd"
    assert fingerprint_of("POST", "/orders/7?a=b", b'{"amount":"1.50"}') == expected


def test_minted_keys_are_strong_and_different() -> None:
    keys = {mint_key() for _ in range(1000)}
    assert len(keys) == 1000
    assert all(weakness(key, None) is None for key in keys)


def test_a_key_of_version_7_has_its_time_and_is_strong() -> None:
    before = time.time_ns() // 1_000_000
    keys = [UUID(mint_key(uuid7=True)) for _ in range(1000)]
    assert len(set(keys)) == 1000
    for key in keys:
        assert key.version == 7 and key.variant == RFC_4122
        assert before <= key.int >> 80 <= time.time_ns() // 1_000_000
        assert weakness(str(key), None) is None


@pytest.mark.parametrize(
    ("key", "previous"),
    [
        ("1732295000123", None),
        ("order-17", None),
        ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", None),
        ("00000000-0000-0000-0000-000000000000", None),
        ("payment-of-november-2026-000124", "payment-of-november-2026-000123"),
    ],
)
def test_weak_keys_are_known(key: str, previous: str | None) -> None:
    assert weakness(key, previous) is not None


@pytest.mark.parametrize("key", ["payment-of-november-2026-000124", "018f6d6e-7b1c-7cc3-98c4-dc0c"])
def test_strong_keys_are_left_alone(key: str) -> None:
    assert weakness(key, "payment-of-november-2026-000017") is None


@pytest.mark.parametrize("key", ["", "a b", "a,b", 'a"b', "a\\b", "a\n", "\u00e4", "a" * 256])
def test_a_key_that_no_header_can_hold_is_refused(key: str) -> None:
    with pytest.raises(ValueError):
        check_key(key)


def test_pauses_grow_up_to_their_bound_and_are_never_the_same() -> None:
    retries = Retries(backoff=1.0, backoff_max=5.0)
    bounds = [(1, 1.0), (2, 2.0), (3, 4.0), (4, 5.0), (9, 5.0), (1025, 5.0), (10**9, 5.0)]
    for failures, whole in bounds:
        drawn = {pause(retries, failures, None) for _ in range(50)}
        assert min(drawn) >= whole / 2 and max(drawn) <= whole and len(drawn) > 40
    assert pause(retries, 1, 7.0) >= 7.5
    assert pause(Retries(backoff=0.0), 10**9, 7.0) == 7.0
    assert 3.0 <= in_flight_pause(retries, 3.0) <= 4.0
    assert in_flight_pause(retries, None) >= 1.0


def test_retry_after_is_seconds_or_a_date() -> None:
    now = datetime(2026, 11, 22, 12, 0, 0, tzinfo=timezone.utc)
    assert parse_retry_after("7", now) == 7.0
    assert parse_retry_after("Sun, 22 Nov 2026 12:00:09 GMT", now) == 9.0
    assert parse_retry_after("Sun, 22 Nov 2026 11:00:00 GMT", now) == 0.0
    assert parse_retry_after("1, 7,3", now) == 7.0
    dates = "Sun, 22 Nov 2026 12:00:09 GMT, Sun, 22 Nov 2026 12:00:10 GMT"
    for text in [None, "", "-1", "soon", "1.5", "1, soon", dates]:
        assert parse_retry_after(text, now) is None


def test_an_answer_is_replayed_where_every_header_says_so() -> None:
    replayed: list[list[str]] = [["true"], ["True"], ["true", "true"]]
    for values in replayed:
        assert is_replayed(httpx.Headers([("Idempotent-Replayed", value) for value in values]))
    first: list[list[str]] = [[], ["false"], ["true", "false"], ["yes"]]
    for values in first:
        assert not is_replayed(httpx.Headers([("Idempotent-Replayed", value) for value in values]))


@pytest.mark.parametrize(
    ("status", "replayed", "in_doubt", "expected"),
    [
        (200, False, True, True),
        (303, False, False, True),
        (302, False, True, False),
        (303, True, True, True),
        (404, False, False, True),
        (404, False, True, False),
        (404, True, True, True),
        (410, False, True, True),
        (422, False, True, True),
        (409, False, False, False),
        (429, False, False, False),
        (503, False, False, False),
        (500, True, True, True),
    ],
)
def test_what_settles_an_operation(
    status: int, replayed: bool, in_doubt: bool, expected: bool
) -> None:
    assert settles(status, replayed=replayed, in_doubt=in_doubt) is expected
