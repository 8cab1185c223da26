"""Sends requests. The package _sync is generated from this one."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import httpx

from .._io import AsyncToken, async_fresh, async_sleep, valid_token
from ..errors import HoldfastError, error_of, media_type_of, no_answer, unexpected
from ..retry import Attempts, Request
from ..streams import SILENCE_TIMEOUT, Messages, Reconnection

_USER_AGENT = f"holdfast-client-python/{version('holdfast-client')}"
_MAX_PAGE_SIZE = 500


@dataclass(frozen=True)
class Answer:
    content: bytes
    headers: httpx.Headers
    value: Any  # of JSON, an object; None if the answer has none


class AsyncTransport:
    def __init__(self, base_url: str, token: AsyncToken, http: httpx.AsyncClient, timeout: float, retry_timeout: float) -> None:
        self._base_url = base_url.rstrip("/")
        self._token = token if callable(token) else valid_token(token)
        self._http = http
        self._timeout = timeout
        self._retry_timeout = retry_timeout

    async def send(self, request: Request) -> Answer:
        """Sends a request, with retries."""
        attempts = Attempts(request, self._retry_timeout)
        while True:
            try:
                return await self._send_once(request)
            except HoldfastError as error:
                delay = attempts.delay_after(error)
            await async_sleep(delay)

    async def pages(self, request: Request) -> AsyncIterator[Any]:
        """Iterates over the items of a list, page after page."""
        token = ""
        while True:
            query = {"pageSize": _MAX_PAGE_SIZE, **request.query}
            if token:
                query["pageToken"] = token
            page = (await self.send(replace(request, query=query))).value
            for item in page["items"]:
                yield item
            previous, token = token, page.get("nextPageToken", "")
            if token in ("", previous):  # the last page of changes has a token too
                return

    async def stream(self, request: Request, last_id: str) -> AsyncGenerator[Any, None]:
        """Iterates over the messages of a stream, and connects again after the last one if the connection ends."""
        reconnection = Reconnection(callable(self._token))
        messages = Messages()
        while True:
            try:
                async with aclosing(self._connection(request, last_id)) as chunks:
                    messages = Messages()
                    async for chunk in chunks:
                        reconnection.connected()
                        for message in messages.feed(chunk):
                            # After a reset, which may have no ID, the state follows.
                            last_id = message.get("id", "" if message.get("event") == "reset" else last_id)
                            yield message
                error: HoldfastError = no_answer(EOFError("The stream has ended."))
            except HoldfastError as refusal:
                error = refusal
            await async_sleep(reconnection.delay_after(error, messages.retry))

    async def _connection(self, request: Request, last_id: str) -> AsyncGenerator[bytes, None]:
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last_id} if last_id else {})}
        http_request = await self._new_request(replace(request, headers=headers, timeout=SILENCE_TIMEOUT))
        try:
            response = await self._http.send(http_request, stream=True)
        except httpx.RequestError as error:
            raise no_answer(error) from error
        try:
            if response.status_code != 200:
                await response.aread()
                raise error_of(response)
            if media_type_of(response) != "text/event-stream":
                raise unexpected(response, "a stream of events")
            async for chunk in response.aiter_bytes():
                yield chunk
        except httpx.RequestError as error:
            raise no_answer(error) from error
        finally:
            await response.aclose()

    async def _send_once(self, request: Request) -> Answer:
        http_request = await self._new_request(request)
        try:
            response = await self._http.send(http_request)
        except httpx.RequestError as error:
            raise no_answer(error) from error
        is_unchanged = response.status_code == 304 and "If-None-Match" in request.headers
        if response.status_code >= 300 and not is_unchanged:
            raise error_of(response)
        is_removed = response.status_code == 204 and request.method == "DELETE"
        if request.is_raw or is_unchanged or is_removed:
            return Answer(response.content, response.headers, None)
        try:
            value = response.json()
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise unexpected(response, "a JSON object")
        return Answer(response.content, response.headers, value)

    async def _new_request(self, request: Request) -> httpx.Request:
        headers = {"Accept": "application/json", "User-Agent": _USER_AGENT}
        content = request.body
        if content is not None:
            headers["Content-Type"] = "application/json"
            if not isinstance(content, bytes):
                content = json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
        if token := await async_fresh(self._token):
            headers["Authorization"] = f"Bearer {token}"
        query = {name.rstrip("_"): value for name, value in request.query.items() if value is not None}
        return self._http.build_request(
            request.method,
            self._base_url + request.path,
            params=query,  # type: ignore[arg-type]  # values of the document's types
            content=content,
            headers={**headers, **request.headers},
            timeout=max(self._timeout, request.timeout),
        )
