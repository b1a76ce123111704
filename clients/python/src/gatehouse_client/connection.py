"""One WebSocket connection over time: token, socket, renewal, heartbeat, and the way back after each loss."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from dataclasses import dataclass
from typing import Any, Protocol

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, WebSocketException
from websockets.typing import Subprotocol

from .errors import AuthError, GatehouseConnectionError, GatehouseError, problem_error, retry_after_of
from .http import Http, log
from .protocol import Message, State, StateChange, after_close, read_time_span
from .version import VERSION
from .waits import backoff

#: Opening, in seconds.
_OPEN = 15.0
#: How long the answer to a ping may take.
_ANSWER = 5.0
#: A connection that held this long has not failed in a row.
_STABLE = 5.0
_LARGEST_MESSAGE = 16 * 1024 * 1024
#: Transaction ids of the requests that the connection itself sends.
_AUTHENTICATE, _IDENTIFY = -1, -2

_quiet = logging.getLogger("gatehouse_client.websocket")
# At this level the library logs handshakes and messages, and so access tokens.
_quiet.addFilter(lambda record: record.levelno > logging.DEBUG)
_quiet.setLevel(logging.INFO)


class Listener(Protocol):
    """The events of a connection for the stream."""

    def on_state(self, change: StateChange) -> None: ...

    def on_online(self, is_new: bool) -> None: ...

    def on_message(self, message: Message) -> None: ...

    def on_lost(self, error: GatehouseError) -> None: ...

    def on_ended(self, error: GatehouseError) -> None: ...


@dataclass(frozen=True)
class _Lost:
    """How a socket ended."""

    code: int | str
    reason: str
    is_token_refused: bool = False
    retry_after: float = 0.0


class _Connect(connect):
    def process_redirect(self, exc: Exception) -> Exception:
        """A redirect would carry a token elsewhere."""
        return exc


class Connection:
    def __init__(self, http: Http, listener: Listener, heartbeat: float) -> None:
        self._http = http
        self._listener = listener
        self._heartbeat = heartbeat
        self.state: State = "ended"
        #: Of the state.
        self.reason = ""
        self._socket: ClientConnection | None = None
        self._token = ""
        self._run_task: asyncio.Task[None] | None = None
        #: Cancelled, and still closing its socket.
        self._ending: asyncio.Task[None] | None = None
        self._renewal: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Starts, unless it is running."""
        if self._run_task is None:
            self._run_task = asyncio.create_task(self._keep_open())

    async def send(self, message: Message) -> None:
        socket = self._socket
        if socket is None:
            raise GatehouseConnectionError("There is no connection")
        try:
            await socket.send(json.dumps(message, ensure_ascii=False, allow_nan=False))
        except ConnectionClosed as error:
            raise GatehouseConnectionError("The connection was lost") from error

    async def end(self, error: GatehouseError) -> None:
        """Permanently: what waits gets the error."""
        task, self._run_task = self._run_task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
            self._finish(error, error.code)
        if self._ending is not None:
            await asyncio.wait([self._ending])

    async def _keep_open(self) -> None:
        try:
            await self._run()
        except GatehouseError as error:
            self._finish(error, error.code)
        except Exception as error:
            # For example, a function of the program that should have returned a token.
            known = GatehouseError(f"{type(error).__name__}: {error}", code="client.fault")
            known.__cause__ = error
            self._finish(known, known.code)

    async def _run(self) -> None:
        """Until an error ends it."""
        failures = 0
        refused: str | None = None
        reason = "opening"
        while True:
            self._set_state("connecting", None, reason)
            online = 0.0
            try:
                self._token = await self._http.tokens.token(refused)
                lost, online = await self._session()
            except GatehouseError as error:
                if not error.retryable:
                    raise
                lost = _Lost(error.code, error.message, retry_after=error.retry_after or 0.0)
            after = after_close(lost.code)
            if after == "end":
                self._http.tokens.refuse(self._token)
                raise _end_error(lost)
            if lost.is_token_refused and refused is not None:
                message = f"The connection was refused: {lost.reason}"
                raise AuthError(message, code="invalid_token", status=401)
            if online > 0:
                refused = None
            if online >= _STABLE:
                failures = 0
            if lost.is_token_refused or after == "renew":
                refused = self._token
            details = {"code": lost.code}
            self._listener.on_lost(GatehouseConnectionError(f"The connection was lost: {lost.reason}", details=details))
            wait = 0.0 if lost.is_token_refused else lost.retry_after + backoff(failures)
            failures += 1
            reason = lost.reason
            self._set_state("offline", lost.code, reason, wait)
            await asyncio.sleep(wait)

    async def _session(self) -> tuple[_Lost, float]:
        """From opening a socket until it is closed, and the seconds that it was open."""
        try:
            socket = await self._open()
        except InvalidStatus as error:
            return self._refused(error), 0.0
        except (OSError, InvalidHandshake, WebSocketException, EOFError) as error:
            # A TimeoutError of the opening is an OSError.
            return _Lost("client.offline", f"{self._http.url} cannot be reached ({error or 'no answer'})"), 0.0
        started = time.monotonic()
        self._socket = socket
        try:
            # The reply is the authority, which says how long the token is valid.
            await self.send({"Controller": "Auth", "Topic": "Identify", "Action": "Sub", "TransactionID": _IDENTIFY})
            self._set_state("online", None, "connected")
            self._listener.on_online(True)
            async for text in socket:
                self._receive(json.loads(text))
        except (ConnectionClosed, GatehouseConnectionError):
            pass
        finally:
            self._socket = None
            self._cancel_renewal()
            try:
                await socket.close()
            except asyncio.CancelledError:
                socket.transport.abort()
                raise
        code = socket.close_code or 1006
        return _Lost(code, socket.close_reason or f"closed with {code}"), time.monotonic() - started

    async def _open(self) -> ClientConnection:
        tls: dict[str, Any] = {} if self._http.tls is None else {"ssl": self._http.tls}
        address = f"ws{self._http.url.removeprefix('http')}/Platform?version=2.0"
        return await _Connect(
            address,
            additional_headers={"Authorization": f"Bearer {self._token}"},
            subprotocols=[Subprotocol("PlatformJson")],
            user_agent_header=f"gatehouse-client-python/{VERSION}",
            open_timeout=_OPEN,
            ping_interval=self._heartbeat,
            ping_timeout=_ANSWER,
            close_timeout=1.0,
            max_size=_LARGEST_MESSAGE,
            logger=_quiet,
            # None would turn TLS off for wss:
            **tls,
        )

    def _refused(self, error: InvalidStatus) -> _Lost:
        """The upgrade was answered with a status."""
        status, headers = error.response.status_code, error.response.headers
        if status == 401:
            return _Lost(401, "the access token was refused", is_token_refused=True)
        try:
            document = json.loads(error.response.body or b"")
        except ValueError:
            document = None
        seconds = retry_after_of(headers.get("retry-after"))
        problem = problem_error(document, status=status, retry_after=seconds, docs_url=self._http.docs_url)
        if status < 500 and status != 429:
            raise problem
        return _Lost(problem.code, problem.message, retry_after=seconds or 0.0)

    def _receive(self, message: Any) -> None:
        identifier = message.get("TransactionID")
        if identifier == _AUTHENTICATE:
            self._on_authenticated(message)
        elif identifier != _IDENTIFY:
            is_push = message.get("Action") is None
            if message.get("Controller") == "Auth" and message.get("Topic") == "Identify" and is_push:
                self._on_identify(message.get("Data") or {})
            self._listener.on_message(message)

    def _on_identify(self, authority: Message) -> None:
        """The authority as it is, was renewed, is about to expire, has expired, was revoked or has changed."""
        if authority.get("Result") == "Success":
            self._schedule_renewal(authority)
            return
        self._set_state("lapsed", "invalid_token", "the token has expired or was revoked")
        self._renew_in(0.0, is_refused=True)

    def _on_authenticated(self, reply: Message) -> None:
        authority = reply.get("Data")
        if reply.get("Action") == "Error" or not isinstance(authority, dict):
            self._renew_in(backoff(3, 1.0))
        elif authority.get("Result") != "Success":
            self._renew_in(backoff(2, 1.0), is_refused=True)
        else:
            self._schedule_renewal(authority)
            self._set_state("online", None, "renewed")
            self._listener.on_online(False)

    def _schedule_renewal(self, authority: Message) -> None:
        """By the clock of the server: ``ExpiresIn`` is what is left of the token."""
        left = read_time_span(authority.get("ExpiresIn"))
        if left is not None:
            self._renew_in(max(left - 55.0, left * 0.82, 0.5))

    def _renew_in(self, seconds: float, is_refused: bool = False) -> None:
        if self._renewal is asyncio.current_task():
            self._renewal = None
        self._cancel_renewal()
        self._renewal = asyncio.create_task(self._renew(seconds, is_refused))

    async def _renew(self, seconds: float, is_refused: bool) -> None:
        await asyncio.sleep(seconds)
        before = self._token
        try:
            token = await self._http.tokens.token(before if is_refused else None)
            if token == before:
                token = await self._http.tokens.token(before)
            self._token = token
            data = {"Provider": "Bearer", "AccessToken": token}
            request = {"Controller": "Auth", "Topic": "AuthToken", "TransactionID": _AUTHENTICATE, "Data": data}
            await self.send(request)
        except GatehouseError as error:
            if error.retryable:
                # The old token still works for a while; without one the server closes after a minute.
                self._renew_in((error.retry_after or 0.0) + backoff(3, 1.0), is_refused)
            elif self._run_task is not None:
                self._ending = self._run_task
                self._ending.cancel()
                self._finish(error, error.code)

    def _cancel_renewal(self) -> None:
        renewal, self._renewal = self._renewal, None
        if renewal is not None and renewal is not asyncio.current_task():
            renewal.cancel()

    def _finish(self, error: GatehouseError, code: int | str) -> None:
        self._run_task = None
        self._set_state("ended", code, error.message)
        self._listener.on_ended(error)

    def _set_state(self, state: State, code: int | str | None, reason: str, retry_in: float | None = None) -> None:
        if state == self.state and state != "offline":
            return
        self.state, self.reason = state, reason
        log.debug("stream: %s (%s)", state, reason)
        self._listener.on_state(StateChange(state, code, reason, retry_in))


def _end_error(lost: _Lost) -> GatehouseError:
    if lost.code == 4000:
        message = f"The session was ended: {lost.reason}. Sign in again"
        return AuthError(message, code="session_ended", details={"code": 4000})
    message = f"The connection was closed: {lost.reason}"
    return GatehouseConnectionError(message, code=f"close.{lost.code}", retryable=False, details={"code": lost.code})
