"""Keys: how they are made, written and judged. Pure."""

import math
import re
import secrets
import time
import uuid
from collections import Counter

_VALID = re.compile(
    r"[\x21\x23-\x2B\x2D-\x5B\x5D-\x7E]{1,255}"
)  # no blank, quote, comma, backslash
_NUMBER_AT_END = re.compile(r"(.*?)([0-9]+)", re.DOTALL)
_LEAST_BITS = 64.0


class WeakKeyWarning(UserWarning):
    """A key given by the caller that another operation might be given too."""


def mint_key(*, uuid7: bool = False) -> str:
    """A UUID of version 4: 122 random bits.

    With `uuid7` one of version 7 (RFC 9562): the milliseconds of now, and 74 random bits. A server
    with `key.minted_at: uuid7` refuses it after it may have forgotten it.
    """
    if not uuid7:
        return str(uuid.uuid4())
    milliseconds = time.time_ns() // 1_000_000
    low = secrets.randbits(62) | 0b10 << 62
    return str(uuid.UUID(int=milliseconds << 80 | 7 << 76 | secrets.randbits(12) << 64 | low))


def check_key(key: str) -> None:
    """Raises ValueError for a key that no front door would take."""
    if not _VALID.fullmatch(key):
        raise ValueError(
            "an idempotency key is 1 to 255 characters of printable ASCII, without blanks, commas, "
            "quotes and backslashes"
        )


def header_value(key: str, *, bare: bool) -> str:
    """As the header has it: a string of RFC 8941 in quotes, or the key as it is."""
    return key if bare else f'"{key}"'


def weakness(key: str, previous: str | None) -> str | None:
    """Why the key might not be the only one of its kind; `previous`: the one given before."""
    if key.isdigit():
        return "it is a number, as a counter or a clock gives it"
    if previous is not None and _follows(key, previous):
        return "it follows the one before, as a counter does"
    if _bits(key) < _LEAST_BITS:
        return "it is short, or of few different characters"
    return None


def _follows(key: str, previous: str) -> bool:
    one, other = _NUMBER_AT_END.fullmatch(key), _NUMBER_AT_END.fullmatch(previous)
    if one is None or other is None or one[1] != other[1]:
        return False
    return abs(int(one[2]) - int(other[2])) == 1


def _bits(key: str) -> float:
    """Most that a text can hold whose characters come this often."""
    counts = Counter(key).values()
    return -sum(count * math.log2(count / len(key)) for count in counts)


def check_target(target: str) -> None:
    """DANGER: `//other.example/x` or a whole URL would take the headers to another host."""
    if not target.startswith("/") or target.startswith("//"):
        raise ValueError("a target is a path that begins with one slash, and its query")
