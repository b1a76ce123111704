"""Messages by server-sent events, of live queries and feeds, over lost connections and expired tokens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import httpx

from .errors import GatehouseConnectionError, GatehouseError, problem_error
from .http import Http, log
from .waits import backoff

#: What the server says when it ends a reply because its token has ended.
_TOKEN_ENDED = frozenset({"Auth.InvalidToken", "Auth.Required", "access.invalid_token"})


async def live_messages(http: Http, request: Mapping[str, Any]) -> AsyncGenerator[Mapping[str, Any], None]:
    """Yields the messages; ``{"Kind": "Lost"}`` after a lost connection, when the pieces of a message come again."""
    position: str | None = None
    failures = 0
    while True:
        retry = 0.0
        try:
            events = _live_events(http, request, position)
            try:
                async for name, identifier, pause, data in events:
                    retry = pause
                    if name == "end":
                        raise problem_error(data, statement=request["Statement"], docs_url=http.docs_url)
                    failures = 0
                    yield data
                    if identifier is not None:  # a reset clears it
                        position = identifier or None
            finally:
                await events.aclose()
            raise GatehouseConnectionError("The server closed the connection")
        except GatehouseError as error:
            # If the server no longer knows the position, the whole result follows.
            if error.code == "Request.BadPosition" and position is not None:
                position = None
                continue
            wait = max(error.retry_after or 0.0, retry) + backoff(failures)
            if error.code in _TOKEN_ENDED and error.status == 401 and failures == 0:
                # A fresh token continues it; without one, this is the end, and the error says so.
                wait = 0.0
            elif not error.retryable:
                raise
            failures += 1
            log.info("live query: %s; next attempt in %.1f s", error.message, wait)
            yield {"Kind": "Lost"}
            await asyncio.sleep(wait)


async def feed_messages(
    http: Http, path: str, search: Mapping[str, str | int], resume: str | None
) -> AsyncGenerator[Mapping[str, Any], None]:
    """Yields ``{"Opened": True}`` when the server has accepted a request, then the messages, each with its
    ``Position``. After a lost connection that cannot be resumed, it has ``Recovered`` too."""
    position, was_open, failures = resume, False, 0
    while True:
        retry = 0.0
        try:
            headers = {} if position is None else {"last-event-id": position}
            # What the subscription began with is not asked for again.
            wanted = {name: value for name, value in search.items() if name != "last" or position is None}
            response = await _open(http, path, None, headers, method="GET", search=wanted)
            is_gap = was_open and position is None
            was_open = True
            events = _events(http, response)
            try:
                yield {"Opened": True, "Recovered": False} if is_gap else {"Opened": True}
                async for name, identifier, pause, data in events:
                    retry = pause
                    if name == "end":
                        raise problem_error(data, docs_url=http.docs_url)
                    failures = 0
                    position = identifier or position
                    yield data if identifier is None else {**(data or {}), "Position": identifier}
            finally:
                await events.aclose()
            raise GatehouseConnectionError("The server closed the connection")
        except GatehouseError as error:
            # If the server no longer knows the position, it begins again. One of the program may be wrong.
            if error.code == "feed.bad_position" and was_open and position is not None:
                position = None
                continue
            wait = max(error.retry_after or 0.0, retry) + backoff(failures)
            if error.code in _TOKEN_ENDED and error.status == 401 and failures == 0:
                wait = 0.0
            elif not error.retryable:
                raise
            failures += 1
            log.info("feed: %s; next attempt in %.1f s", error.message, wait)
            await asyncio.sleep(wait)


Event = tuple[str, str | None, float, Any]


async def _live_events(http: Http, request: Mapping[str, Any], position: str | None) -> AsyncGenerator[Event, None]:
    headers = {} if position is None else {"last-event-id": position}
    response = await _open(http, "/query", request, headers, statement=request["Statement"])
    async for event in _events(http, response):
        yield event


async def _open(http: Http, path: str, body: Any, headers: Mapping[str, str], **options: Any) -> httpx.Response:
    # It is repeated by the caller, who tells a loss apart.
    accepting = {"accept": "text/event-stream", **headers}
    response = await http.request(path, body, headers=accepting, attempts=1, **options)
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        await response.aclose()
        raise GatehouseError("The server has no server-sent events here", code="client.no_events")
    return response


async def _events(http: Http, response: httpx.Response) -> AsyncGenerator[Event, None]:
    """Name, id, seconds until a retry, and data as JSON, of each event of one reply. An id without data is one too."""
    lines = http.lines(response)
    name, identifier, retry, data = "message", None, 0.0, b""
    try:
        async for arrived in lines:
            for line in arrived:
                key, _, value = line.partition(b":")
                value = value.removeprefix(b" ")
                if key == b"event":
                    name = value.decode()
                elif key == b"data":
                    data += value
                elif key == b"id":
                    identifier = value.decode()
                elif key == b"retry" and value.isdigit():
                    retry = int(value) / 1000
                elif not line and (data or identifier):
                    event = json.loads(data) if data else None
                    if name == "end" and event is not None and event.get("Code") in _TOKEN_ENDED:
                        http.tokens.refuse(response.request.headers["authorization"].removeprefix("Bearer "))
                    yield name, identifier, retry, event
                    name, identifier, data = "message", None, b""
    finally:
        await lines.aclose()


class MessageReader:
    """Reads messages one by one for a loop that can be cancelled."""

    def __init__(self, messages: AsyncGenerator[Mapping[str, Any], None]) -> None:
        self._messages = messages
        self._reading: asyncio.Task[Mapping[str, Any]] | None = None
        self._error: Exception | None = None
        self._is_closed = False

    async def next(self) -> Mapping[str, Any]:
        if self._error is not None:
            raise self._error
        if self._is_closed:
            raise StopAsyncIteration
        # A generator that is cancelled ends: the read goes on, and the next call gets what it brings.
        if self._reading is None:
            self._reading = asyncio.create_task(_first(self._messages))
            self._reading.add_done_callback(_retrieve)
        try:
            message = await asyncio.shield(self._reading)
        except asyncio.CancelledError:
            if self._is_closed:
                raise self._error or StopAsyncIteration from None
            raise
        except Exception as error:
            self._error = error
            self._reading = None
            raise
        self._reading = None
        return message

    async def end(self, error: Exception | None) -> None:
        """With an error for those who wait, or without one: then their loops end."""
        self._is_closed = True
        self._error = self._error or error
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])
        await self._messages.aclose()


async def _first(messages: AsyncGenerator[Mapping[str, Any], None]) -> Mapping[str, Any]:
    return await anext(messages)


def _retrieve(task: asyncio.Task[Any]) -> None:
    # Whoever waits gets the error; if nobody does, it is not reported.
    if not task.cancelled():
        task.exception()
