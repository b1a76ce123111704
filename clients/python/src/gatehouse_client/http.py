"""Requests with the access token: repeated where that is safe, with errors that say what went wrong."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import time
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import httpx

from .auth import Auth
from .errors import AuthError, GatehouseConnectionError, GatehouseError, closed_error, problem_error, retry_after_of
from .tokens import TokenSource, token_source
from .values import to_json
from .version import VERSION
from .waits import backoff

log = logging.getLogger("gatehouse_client")

#: A wait that is longer than this is left to the caller.
_LONGEST_WAIT = 60.0
_TOKEN_ATTEMPTS = 3
_LONGEST_TOKEN_WAIT = 10.0
#: The server sends a comment every 15 seconds: a longer silence is a lost connection.
_SILENCE = 45.0


class Http:
    """The server, its tokens and its requests."""

    def __init__(
        self,
        url: str,
        *,
        auth: Auth | None,
        issuer: str | None,
        timeout: float,
        attempts: int,
        tls: ssl.SSLContext | None,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"Not http: or https: {url!r}")
        self.url = url.rstrip("/")
        self.issuer = (issuer or url).rstrip("/")
        self.tls = tls
        self.closed = False
        self._attempts = attempts
        self._timeout = httpx.Timeout(timeout, connect=min(timeout, 10.0), pool=None)
        self._client: httpx.AsyncClient | None = None
        self._metadata: Mapping[str, Any] | None = None
        self.tokens: TokenSource = token_source(auth, self)

    async def request(
        self,
        path: str,
        body: Any = None,
        *,
        method: str = "POST",
        headers: Mapping[str, str] | None = None,
        search: Mapping[str, str | int] | None = None,
        idempotent: bool = True,
        attempts: int | None = None,
        statement: str | None = None,
    ) -> httpx.Response:
        """Sends a request and returns its open reply if that is a success. The caller closes it."""
        content = body if body is None or isinstance(body, bytes) else to_json(body)
        refused: str | None = None
        attempt = 0
        while True:
            is_sent = False
            try:
                token = await self.tokens.token(refused)
                is_sent = True
                response = await self._send(method, path, content, headers, search, token)
                if response.is_success:
                    return response
                error = await self._error_of(response, statement)
                # Nothing was done yet, so anything may be repeated; once, and only with another token.
                if response.status_code == 401 and refused is None:
                    refused = token
                    continue
            except GatehouseError as failure:
                error = failure
            attempt += 1
            wait = _wait_before(error, attempt, idempotent or not is_sent)
            if wait is None or attempt >= (self._attempts if attempts is None else attempts):
                raise error
            await asyncio.sleep(wait)

    async def json(self, path: str, body: Any = None, **options: Any) -> Any:
        """The reply as JSON, None if it has no body."""
        content = await self.read(await self.request(path, body, **options))
        return json.loads(content) if content else None

    async def read(self, response: httpx.Response) -> bytearray:
        """The whole body."""
        content = bytearray()
        async for chunk in self.chunks(response):
            content += chunk
        return content

    async def chunks(self, response: httpx.Response) -> AsyncGenerator[bytes, None]:
        """The body in pieces. Leaving the loop ends the request, and the query on the server."""
        try:
            async for chunk in response.aiter_bytes():
                yield chunk
        except httpx.HTTPError as error:
            raise GatehouseConnectionError(
                f"The reply broke off{_reason(error)}: the connection was lost, or the server ended the result early",
                request_id=response.headers.get("request-id"),
            ) from error
        except httpx.StreamError as error:
            raise closed_error("reply") from error
        finally:
            await response.aclose()

    async def lines(self, response: httpx.Response) -> AsyncGenerator[list[bytes], None]:
        """The lines of a body, as many at a time as have arrived."""
        rest = b""
        chunks = self.chunks(response)
        try:
            async for chunk in chunks:
                *lines, rest = (rest + chunk).split(b"\n")
                if lines:
                    yield lines
            if rest:
                yield [rest]
        finally:
            await chunks.aclose()

    async def post_form(self, endpoint: str, form: Mapping[str, str | None]) -> Mapping[str, Any]:
        """Repeated when the server is busy; not when the reply was lost, as a refresh token may have been used up."""
        address = (await self._discovered()).get(f"{endpoint}_endpoint")
        data = {name: value for name, value in form.items() if value is not None}
        attempt = 0
        while True:
            request = self._http().build_request(
                "POST", str(address), data=data, headers={"accept": "application/json"}
            )
            response = await self._reach(request)
            if response.is_success:
                return _members(await self.read(response))
            error = await self._error_of(response)
            attempt += 1
            wait = error.retry_after or 0.0
            if not error.retryable or attempt >= _TOKEN_ATTEMPTS or wait > _LONGEST_TOKEN_WAIT:
                raise error
            await asyncio.sleep(wait + backoff(attempt))

    async def user(self) -> Mapping[str, Any]:
        """Who is signed in, as the server says now."""
        address = str((await self._discovered()).get("userinfo_endpoint"))
        headers = {"authorization": f"Bearer {await self.tokens.token()}"}
        response = await self._reach(self._http().build_request("GET", address, headers=headers))
        if not response.is_success:
            raise await self._error_of(response)
        return _members(await self.read(response))

    async def aclose(self) -> None:
        self.closed = True
        await self.tokens.aclose()
        if self._client is not None:
            await self._client.aclose()

    @property
    def docs_url(self) -> str:
        return f"{self.url}/docs/errors"

    def _http(self) -> httpx.AsyncClient:
        if self.closed:
            raise closed_error("gate")
        if self._client is None:
            self._client = httpx.AsyncClient(
                timeout=self._timeout,
                verify=True if self.tls is None else self.tls,
                # A redirect would carry a password or a token elsewhere.
                follow_redirects=False,
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
                headers={"user-agent": f"gatehouse-client-python/{VERSION}"},
            )
        return self._client

    async def _send(
        self,
        method: str,
        path: str,
        content: bytes | None,
        headers: Mapping[str, str] | None,
        search: Mapping[str, str | int] | None,
        token: str,
    ) -> httpx.Response:
        sent = {"accept": "application/json", "authorization": f"Bearer {token}", **(headers or {})}
        if content is not None:
            sent["content-type"] = "application/json"
        is_live = sent["accept"] == "text/event-stream"
        timeout = httpx.Timeout(_SILENCE, connect=10.0, pool=None) if is_live else self._timeout
        request = self._http().build_request(
            method, self.url + path, content=content, headers=sent, params=search, timeout=timeout
        )
        started = time.monotonic()
        response = await self._reach(request)
        milliseconds = (time.monotonic() - started) * 1000
        request_id = response.headers.get("request-id")
        log.debug("%s %s: %s in %.0f ms, request %s", method, path, response.status_code, milliseconds, request_id)
        return response

    async def _reach(self, request: httpx.Request) -> httpx.Response:
        try:
            return await self._http().send(request, stream=True)
        except httpx.HTTPError as error:
            origin = f"{request.url.scheme}://{request.url.netloc.decode()}"
            if isinstance(error, httpx.ReadTimeout):
                raise GatehouseConnectionError(f"{origin} did not answer in time", code="client.timeout") from error
            raise GatehouseConnectionError(f"{origin} cannot be reached{_reason(error)}") from error
        except RuntimeError as error:
            # The client was closed while the request waited.
            raise closed_error("gate") from error

    async def _error_of(self, response: httpx.Response, statement: str | None = None) -> GatehouseError:
        document = _members(await self.read(response))
        return problem_error(
            document,
            status=response.status_code,
            request_id=response.headers.get("request-id"),
            retry_after=retry_after_of(response.headers.get("retry-after")),
            statement=statement,
            docs_url=self.docs_url,
        )

    async def _discovered(self) -> Mapping[str, Any]:
        """RFC 8414: the issuer is checked before a password or a token is sent anywhere."""
        if self._metadata is None:
            address = f"{self.issuer}/.well-known/openid-configuration"
            response = await self._reach(self._http().build_request("GET", address))
            if not response.is_success:
                raise await self._error_of(response)
            document = _members(await self.read(response))
            issuer = document.get("issuer")
            if issuer != self.issuer:
                found = "not an issuer" if issuer is None else f"the issuer {issuer}: use that, if you trust it"
                raise AuthError(f"{self.issuer} is {found}", code="client.issuer")
            self._metadata = document
        return self._metadata


def _wait_before(error: GatehouseError, attempt: int, idempotent: bool) -> float | None:
    """Seconds to wait; None if the request should not be repeated. A 429 was refused before it did anything."""
    seconds = error.retry_after or 0.0
    if not error.retryable or seconds > _LONGEST_WAIT or (not idempotent and error.status != 429):
        return None
    return seconds + backoff(attempt - 1, 0.25)


def _members(content: bytes | bytearray) -> Mapping[str, Any]:
    """The members of a JSON object; of anything else, none."""
    try:
        document = json.loads(content)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _reason(error: Exception) -> str:
    return f" ({error})" if str(error) else ""
