"""What a claim or a lease is answered with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

A = TypeVar("A", bound="Answer")


@dataclass(frozen=True)
class Answer:
    """What the answers of claims and leases share."""

    outcome: str
    digest: UUID
    attempt: UUID
    status: int | None
    headers: list[dict[str, str]] | None
    body: bytes | None

    @property
    def fresh(self) -> bool:
        """The key is yours: make its effect, then store its result."""
        return self.outcome == "fresh"


@dataclass(frozen=True)
class Claim(Answer):
    """What `claim` answered.

    `outcome` is fresh, duplicate, failed, conflict, unknown or expired. `mine`: the stored result
    is of this attempt, whose COMMIT had no answer.
    """

    mine: bool
    stored_at: datetime | None


@dataclass(frozen=True)
class Lease(Answer):
    """What `lease` answered.

    `outcome` is fresh, in_flight, duplicate, failed, conflict, unknown or expired. The effect
    carries `downstream_key`.
    """

    downstream_key: UUID
    attempts: int | None
    taken_over: bool | None
    remaining: timedelta | None
    ended_at: datetime | None


# The members of the types of SQL, in their order.
_CLAIM = ("outcome", "digest", "attempt", "mine", "status", "headers", "body", "stored_at")
_LEASE = (
    *("outcome", "digest", "attempt", "downstream_key", "attempts", "taken_over", "remaining"),
    *("status", "headers", "body", "ended_at"),
)


def read_answer(kind: type[A], row: tuple[Any, ...]) -> A:
    """An answer from its row. What drivers read as different types is made one."""
    named = dict(zip(_CLAIM if kind is Claim else _LEASE, row, strict=True))
    for name in ("digest", "attempt", "downstream_key"):
        if name in named:
            named[name] = UUID(str(named[name]))
    if isinstance(named["headers"], str):
        named["headers"] = json.loads(named["headers"])
    if named["body"] is not None:
        named["body"] = bytes(named["body"])
    return kind(**named)
