"""Where keys outlive the process: an interface, and files that are synced to the disk."""

import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from .errors import StoreError


@dataclass(frozen=True)
class Entry:
    operation: str  # the caller's name for it, the same after a restart
    key: str
    fingerprint: str  # SHA-256 of method, target and body
    created_at: float  # seconds since 1970


class Store(Protocol):
    """Entries by operation. One caller at a time for each operation."""

    def claim(self, entry: Entry) -> Entry:
        """Keeps the entry for good, unless one is there: then answers with that one.

        DANGER: it must be on the disk when this returns; the request is sent after it.
        """
        ...

    def forget(self, operation: str, key: str) -> None:
        """Takes the operation's entry out, if it has this key."""
        ...

    def entries(self) -> list[Entry]:
        """Those whose outcome is not known, the oldest first."""
        ...


class FileStore:
    """A file for each operation in a folder of its own. For threads and processes."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        with _disk_trouble():
            self._folder.mkdir(parents=True, exist_ok=True)

    def claim(self, entry: Entry) -> Entry:
        path = self._path(entry.operation)
        temporary = self._folder / f".{secrets.token_hex(16)}.new"
        with _disk_trouble():
            try:
                with open(temporary, "x", encoding="utf-8") as file:
                    json.dump(asdict(entry), file)
                    file.flush()
                    os.fsync(file.fileno())
                # Whole or not at all, and only where none is there: of two processes one wins.
                os.link(temporary, path)
            except FileExistsError:
                entry = _read(path)
            finally:
                temporary.unlink(missing_ok=True)
            # Also of one that was there: who wrote it may not have come this far.
            self._sync_folder()
        return entry

    def forget(self, operation: str, key: str) -> None:
        path = self._path(operation)
        with _disk_trouble():
            try:
                if _read(path).key != key:
                    return
                path.unlink()
            except FileNotFoundError:
                return
            self._sync_folder()

    def entries(self) -> list[Entry]:
        found = []
        with _disk_trouble():
            for path in self._folder.iterdir():
                if path.suffix != ".json":
                    continue
                try:
                    found.append(_read(path))
                except FileNotFoundError:  # its operation has ended meanwhile
                    continue
        return sorted(found, key=lambda entry: (entry.created_at, entry.operation))

    def _path(self, operation: str) -> Path:
        return self._folder / f"{hashlib.sha256(operation.encode()).hexdigest()}.json"

    def _sync_folder(self) -> None:
        if os.name == "nt":  # has no such call
            return
        handle = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def _disk_trouble() -> Iterator[None]:
    """Errors of the disk are StoreErrors too, so catching that type catches all."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"the key store: {error}") from error


def _read(path: Path) -> Entry:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return Entry(
            operation=str(found["operation"]),
            key=str(found["key"]),
            fingerprint=str(found["fingerprint"]),
            created_at=float(found["created_at"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path} is no entry of a store: {error}") from error
