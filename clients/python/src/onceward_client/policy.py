"""What an answer means, and how long to wait. Pure; docs/clients.md has it as a table."""

import enum
import random
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

_AGAIN = frozenset({408, 425, 429})
_NEVER_SETTLED = frozenset({408, 409, 425, 429})


@dataclass(frozen=True)
class Retries:
    """How often and how long. Times are in seconds."""

    attempts: int = 6  # most sends that fail: no answer, 5xx, 408, 425, 429
    in_flight_waits: int = 10  # most waits for a first attempt that still runs (409)
    backoff: float = 0.2  # the first pause; doubled each time, half of it random
    backoff_max: float = 20.0
    retry_after_max: float = 60.0  # a server that says more ends the tries

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.in_flight_waits < 0 or self.backoff < 0:
            raise ValueError("at least one attempt, and no pause below 0")


class Verdict(enum.Enum):
    DONE = "done"
    IN_FLIGHT = "in flight"  # wait for the first attempt
    AGAIN = "again"
    REFUSED = "refused"  # raised at once


def judge(status: int, *, replayed: bool, problem: str, retry_after: float | None) -> Verdict:
    """`problem`: the name after `/onceward/problems/`, else the whole type, or ''."""
    if status < 400:
        return Verdict.DONE
    if replayed:
        return Verdict.REFUSED  # stored under the key: it never changes
    if status == 409 and (problem == "key-in-flight" or (not problem and retry_after is not None)):
        return Verdict.IN_FLIGHT
    if status in _AGAIN or status >= 500:
        return Verdict.AGAIN
    return Verdict.REFUSED


def leaves_doubt(status: int) -> bool:
    """Whether the request may have taken effect, or still may, whatever the answer says."""
    return status in (408, 409) or status >= 500


def settles(status: int, *, replayed: bool, in_doubt: bool) -> bool:
    """Whether this answer tells how the operation ended, so that its key can be forgotten.

    DANGER: after an attempt in doubt a 401, a 404 or a balancer's 302 says nothing of that
    attempt. A new key would be a second operation.
    """
    if status < 300 or replayed or status in (410, 422):
        return True
    return status < 500 and status not in _NEVER_SETTLED and not in_doubt


def pause(retries: Retries, failures: int, retry_after: float | None) -> float:
    """Before the next try, after so many failures. What the server asked for is the least."""
    doublings = min(failures - 1, 1023)  # 2.0 ** 1024 is an OverflowError
    whole = min(retries.backoff_max, retries.backoff * 2.0**doublings)
    return (retry_after or 0.0) + random.uniform(whole / 2, whole)


def in_flight_pause(retries: Retries, retry_after: float | None) -> float:
    asked = 1.0 if retry_after is None else retry_after
    return asked + random.uniform(0.0, retries.backoff)


def parse_retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Seconds, or a date (RFC 9110, 10.2.3); none for anything else; of several the most."""
    text = (value or "").strip()
    parts = [part.strip() for part in text.split(",")]
    if all(part.isascii() and part.isdigit() for part in parts):
        return max(float(part[:9]) for part in parts)
    if text.count("GMT") != 1 or not text.endswith("GMT"):  # of two dates the first would count
        return None
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return max(0.0, (moment - (now or datetime.now(timezone.utc))).total_seconds())
