"""Keys that carry the time at which they were minted, and fingerprints."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from datetime import datetime, timedelta, timezone
from uuid import UUID

from .errors import ArgumentError

_UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.I)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def uuid7() -> UUID:
    """A UUID of version 7 (RFC 9562): 48 bits of milliseconds, and 74 random bits."""
    milliseconds = time.time_ns() // 1_000_000
    low = secrets.randbits(62) | 0b10 << 62
    return UUID(int=milliseconds << 80 | 7 << 76 | secrets.randbits(12) << 64 | low)


def minted_at_of_uuid7(key: str | bytes | UUID) -> datetime | None:
    """When a key was minted that is a UUID of version 7; None for any other key."""
    text = key.decode("latin-1") if isinstance(key, bytes) else str(key)
    if not _UUID7.fullmatch(text):
        return None
    try:
        return _EPOCH + timedelta(milliseconds=UUID(text).int >> 80)
    except OverflowError as error:
        # DANGER: not None. Without its time the key would be taken again after the retention.
        raise ArgumentError("the key was minted after the year 9999") from error


def fingerprint_of(content: bytes) -> UUID:
    """The first 16 bytes of SHA-256, as onceward.fingerprint() computes them."""
    return UUID(bytes=hashlib.sha256(content).digest()[:16])
