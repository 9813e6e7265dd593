"""The clients: `Client` for threads, `AsyncClient` for asyncio."""

import asyncio
import json as json_module
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from .answers import Answer
from .call import Keys, Send, Steps, call
from .keys import check_target, header_value
from .policy import Retries
from .store import Store


@dataclass(frozen=True)
class Options:
    """What a client is made with. Times are in seconds."""

    retries: Retries = field(default_factory=Retries)
    store: Store | None = None  # for operations that have a name
    retention: float = 24 * 3600.0  # how long the server remembers; an older key is not sent
    # Bounds each wait in an attempt (httpx): to connect, to send, and for the next bytes.
    timeout: float = 30.0
    key_header: str = "Idempotency-Key"
    uuid7: bool = False  # keys tell when they were minted: for a route with key.minted_at
    bare_keys: bool = False  # without the quotes of the IETF's draft


class _Base:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._keys = Keys(options.store, options.retention, options.uuid7)

    def _steps(
        self, request: httpx.Request, target: str, key: str | None, operation: str | None
    ) -> Steps:
        if self._options.key_header in request.headers:
            raise ValueError(f"{self._options.key_header} is the client's own: give `key` instead")
        return call(request, target, self._keys, self._options.retries, key, operation)

    def _put_key(self, request: httpx.Request, step: Send) -> None:
        value = header_value(step.key, bare=self._options.bare_keys)
        request.headers[self._options.key_header] = value


def _payload(
    json: Any, content: bytes | None, headers: Mapping[str, str] | None
) -> tuple[bytes | None, dict[str, str]]:
    """The bytes, made once, as each attempt and each restart has to send the same ones."""
    all_headers = dict(headers or {})
    if json is None:
        return content, all_headers
    if content is not None:
        raise ValueError("either `json` or `content`")
    if not any(name.lower() == "content-type" for name in all_headers):
        all_headers["Content-Type"] = "application/json"
    return json_module.dumps(json, separators=(",", ":"), ensure_ascii=False).encode(), all_headers


class Client(_Base):
    """Thread-safe as httpx.Client is. It closes `http` only where it made it."""

    def __init__(
        self, base_url: str = "", options: Options = Options(), *, http: httpx.Client | None = None
    ) -> None:
        super().__init__(options)
        self._owned = http is None
        self._http = http or httpx.Client(base_url=base_url, timeout=options.timeout)

    def request(
        self,
        method: str,
        url: str,
        *,
        json: Any = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        key: str | None = None,
        operation: str | None = None,
    ) -> Answer:
        """One operation, over as many attempts as it takes; raises OncewardError.

        `operation`: its name in the store, the same after a restart, such as an order's number.
        """
        check_target(url)
        content, all_headers = _payload(json, content, headers)
        request = self._http.build_request(method, url, content=content, headers=all_headers)
        steps = self._steps(request, url, key, operation)
        outcome: httpx.Response | httpx.RequestError | None = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                answer: Answer = end.value
                return answer
            outcome = None
            if isinstance(step, Send):
                self._put_key(request, step)
                try:
                    outcome = self._http.send(request, follow_redirects=False)
                except httpx.UnsupportedProtocol:
                    raise
                except httpx.RequestError as error:
                    outcome = error
            else:
                time.sleep(step.seconds)

    def close(self) -> None:
        if self._owned:
            self._http.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(_Base):
    """The same for coroutines of one event loop. The store's syncs hold the loop for a moment."""

    def __init__(
        self,
        base_url: str = "",
        options: Options = Options(),
        *,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        super().__init__(options)
        self._owned = http is None
        self._http = http or httpx.AsyncClient(base_url=base_url, timeout=options.timeout)

    async def request(
        self,
        method: str,
        url: str,
        *,
        json: Any = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        key: str | None = None,
        operation: str | None = None,
    ) -> Answer:
        check_target(url)
        content, all_headers = _payload(json, content, headers)
        request = self._http.build_request(method, url, content=content, headers=all_headers)
        steps = self._steps(request, url, key, operation)
        outcome: httpx.Response | httpx.RequestError | None = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                answer: Answer = end.value
                return answer
            outcome = None
            if isinstance(step, Send):
                self._put_key(request, step)
                try:
                    outcome = await self._http.send(request, follow_redirects=False)
                except httpx.UnsupportedProtocol:
                    raise
                except httpx.RequestError as error:
                    outcome = error
            else:
                await asyncio.sleep(step.seconds)

    async def close(self) -> None:
        if self._owned:
            await self._http.aclose()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
