"""The messages of a live query by server-sent events, over lost connections and expired tokens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from .errors import GatehouseConnectionError, GatehouseError, problem_error
from .http import Http, log
from .waits import backoff

#: What the server says when it ends a reply because its token has ended.
_TOKEN_ENDED = frozenset({"Auth.InvalidToken", "Auth.Required"})


async def live_messages(http: Http, request: Mapping[str, Any]) -> AsyncGenerator[Mapping[str, Any], None]:
    """Yields the messages; ``{"Kind": "Lost"}`` after a lost connection, when the pieces of a message come again."""
    position: str | None = None
    failures = 0
    while True:
        retry = 0.0
        try:
            events = _events(http, request, position)
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


Event = tuple[str, str | None, float, Any]


async def _events(http: Http, request: Mapping[str, Any], position: str | None) -> AsyncGenerator[Event, None]:
    """Name, id, seconds until a retry, and data as JSON, of each event of one reply."""
    headers = {"accept": "text/event-stream"}
    if position is not None:
        headers["last-event-id"] = position
    # It is repeated by the caller, who tells a loss apart.
    response = await http.request("/query", request, headers=headers, attempts=1, statement=request["Statement"])
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        await response.aclose()
        raise GatehouseError("The server has no live queries", code="client.no_events")
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
                elif not line and data:
                    event = json.loads(data)
                    if name == "end" and event.get("Code") in _TOKEN_ENDED:
                        http.tokens.refuse(response.request.headers["authorization"].removeprefix("Bearer "))
                    yield name, identifier, retry, event
                    name, identifier, data = "message", None, b""
    finally:
        await lines.aclose()
