"""The client for programs with asyncio."""

from __future__ import annotations

import ssl
import weakref
from collections.abc import Mapping
from typing import Any

from .alerts import AsyncAlerts
from .auth import Auth
from .errors import closed_error
from .feed import AsyncFeed, AsyncFeedSubscription
from .http import Http
from .licences import AsyncLicences
from .live import AsyncLive
from .query import AsyncQuery, Result, is_reading, read_result
from .stream import AsyncStream
from .table import AsyncTable
from .values import Parameters, encode_parameters


class AsyncGate:
    """A Gatehouse server as one caller sees it::

    async with AsyncGate("http://localhost:5080", auth=ClientSecret("demo-service", secret)) as gate:
        rows = await gate.query("select symbol, price from trades where symbol = :symbol", symbol="ACME")
    """

    def __init__(
        self,
        url: str,
        *,
        auth: Auth | None = None,
        issuer: str | None = None,
        timeout: float = 90.0,
        attempts: int = 4,
        heartbeat: float = 10.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """``issuer`` is the identity server, where it is not at ``url``. ``timeout`` is how many seconds the server may
        be silent during a request, ``attempts`` how often a request is sent at most, ``heartbeat`` after how many
        seconds an idle stream is tested, and ``tls`` replaces the trust of the system in certificates."""
        self._http = Http(url, auth=auth, issuer=issuer, timeout=timeout, attempts=attempts, tls=tls)
        self._stream = AsyncStream(self._http, heartbeat)
        self._lives: weakref.WeakSet[AsyncLive | AsyncFeedSubscription] = weakref.WeakSet()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._http.url}>"

    @property
    def url(self) -> str:
        return self._http.url

    def query(self, statement: str, parameters: Parameters | None = None, /, **named: Any) -> AsyncQuery:
        """A statement that reads, with its parameters: ``:symbol`` by name, or ``$1`` from a list. It is sent when it
        is awaited, looped over, or asked for in a form such as ``to_pandas()``."""
        return AsyncQuery(self._http, statement, parameters, named)

    async def execute(
        self,
        statement: str,
        parameters: Parameters | None = None,
        /,
        *,
        idempotency_key: str | None = None,
        **named: Any,
    ) -> Result:
        """Runs any statement at once. One that writes is repeated after a lost reply only with an idempotency key, by
        which the server recognises it."""
        body = {"Statement": statement, "Parameters": encode_parameters(parameters, named)}
        response = await self._http.request(
            "/query",
            body,
            headers={} if idempotency_key is None else {"idempotency-key": idempotency_key},
            idempotent=idempotency_key is not None or is_reading(statement),
            statement=statement,
        )
        return read_result(await self._http.read(response), self._http, statement)

    def table(self, name: str) -> AsyncTable:
        """A table by name, for calls that need no statement."""
        return AsyncTable(self._http, name)

    def live(
        self, statement: str, parameters: Parameters | None = None, /, *, max_rate: int | None = None, **named: Any
    ) -> AsyncLive:
        """The result of a statement, kept up to date, with at most ``max_rate`` changes per second (1 to 50)."""
        live = AsyncLive(self._http, statement, parameters, named, max_rate)
        self._lives.add(live)
        return live

    def feed(self, name: str) -> AsyncFeed:
        """A feed by name: publish messages, subscribe to them, read what is kept."""
        return AsyncFeed(self._http, name, self._lives.add)

    @property
    def licences(self) -> AsyncLicences:
        """What the caller may see of market data, and how to get more."""
        return AsyncLicences(self._http)

    @property
    def alerts(self) -> AsyncAlerts:
        """The alerts of the caller."""
        return AsyncAlerts(self._http, self.live)

    @property
    def stream(self) -> AsyncStream:
        """Requests and subscriptions on one WebSocket."""
        return self._stream

    async def token(self) -> str:
        """A valid access token, for other libraries."""
        return await self._http.tokens.token()

    async def user(self) -> Mapping[str, Any]:
        """Who is signed in, as the server says now."""
        return await self._http.user()

    async def sign_out(self) -> None:
        """Forgets the tokens, and revokes them."""
        await self._http.tokens.sign_out()

    async def aclose(self) -> None:
        """Ends everything that is open. What waits raises ``client.closed``."""
        await self._stream.aclose()
        for live in list(self._lives):
            await live.end(closed_error("gate"))
        await self._http.aclose()

    async def __aenter__(self) -> AsyncGate:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
