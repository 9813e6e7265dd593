"""What comes back: an answer, and the problem (RFC 9457) that a refusal is told by."""

import json
from dataclasses import dataclass, field
from typing import Any

import httpx

_OURS = "/onceward/problems/"


@dataclass(frozen=True)
class Problem:
    """A problem's members; those that the RFC does not name are in `extensions`."""

    type: str = "about:blank"
    title: str = ""
    status: int = 0
    detail: str = ""
    extensions: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What follows `/onceward/problems/`; another server's whole type; or ''."""
        if self.type == "about:blank":
            return ""
        return self.type.removeprefix(_OURS)


@dataclass(frozen=True)
class Answer:
    """A final answer, wholly read."""

    status: int
    headers: httpx.Headers
    content: bytes
    replayed: bool  # it is of an earlier attempt: `Idempotent-Replayed: true`
    key: str
    attempts: int  # of this call

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        return json.loads(self.content)


def is_replayed(headers: httpx.Headers) -> bool:
    """`true`, also several times. Where one says otherwise the answer counts as the first one."""
    values = headers.get("Idempotent-Replayed", "").split(",")
    return all(value.strip().lower() == "true" for value in values)


def parse_problem(headers: httpx.Headers, content: bytes) -> Problem | None:
    media_type = headers.get("Content-Type", "").split(";")[0].strip().lower()
    if media_type != "application/problem+json":
        return None
    try:
        found = json.loads(content)
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None

    def text(name: str, default: str) -> str:
        value = found.get(name)
        return value if isinstance(value, str) else default

    status = found.get("status")
    return Problem(
        type=text("type", "about:blank"),
        title=text("title", ""),
        status=status if isinstance(status, int) else 0,
        detail=text("detail", ""),
        extensions={
            name: value
            for name, value in found.items()
            if name not in ("type", "title", "status", "detail")
        },
    )
