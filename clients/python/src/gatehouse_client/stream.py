"""The stream: requests and subscriptions on one connection that reconnects by itself."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, Literal

from .connection import Connection
from .errors import GatehouseConnectionError, GatehouseError, closed_error
from .http import Http, log
from .protocol import Message, State, StateChange, message_error
from .values import encode
from .waits import backoff

#: Messages that wait for a reader with ``slow="error"``.
_MOST_UNREAD = 1000
Slow = Literal["error", "latest"]


class AsyncSubscription:
    """The messages of a topic, for ``async for``. It survives reconnects.

    Messages that were published in between are not sent later; a topic that has a state sends it again. ``resumes``
    counts the reconnects.
    """

    def __init__(self, topic: _Topic, slow: Slow) -> None:
        self._topic = topic
        self._unread: deque[Any] = deque(maxlen=1 if slow == "latest" else None)
        self._slow = slow
        self._error: GatehouseError | None = None
        self._changed = asyncio.Event()
        self._is_closed = False
        self._opened = False
        self._loop = asyncio.get_running_loop()
        self.resumes = 0
        topic.members.add(self)

    def __del__(self) -> None:
        # A loop that was left ends the subscription, in whichever thread this is noticed.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._topic.prune)

    @property
    def controller(self) -> str:
        return self._topic.controller

    @property
    def topic(self) -> str:
        return self._topic.name

    async def ready(self) -> AsyncSubscription:
        """Returns when the server has confirmed; raises when it has refused."""
        while not self._opened:
            await self._wait()
        return self

    def __aiter__(self) -> AsyncSubscription:
        return self

    async def __anext__(self) -> Any:
        """The ``Data`` of the next message. It can be cancelled and asked for again; nothing is lost."""
        while not self._unread:
            if self._is_closed:
                raise StopAsyncIteration
            await self._wait()
        return self._unread.popleft()

    async def aclose(self) -> None:
        """Ends the subscription, and the loop over it."""
        self._is_closed = True
        self._unread.clear()
        self._topic.leave(self)
        self._changed.set()

    async def __aenter__(self) -> AsyncSubscription:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _wait(self) -> None:
        if self._error is not None:
            raise self._error
        self._changed.clear()
        await self._changed.wait()

    def _open(self, is_resumed: bool) -> None:
        self._opened = True
        self.resumes += is_resumed
        self._changed.set()

    def _take(self, data: Any) -> None:
        if self._error is not None:
            return
        if self._slow == "error" and len(self._unread) >= _MOST_UNREAD:
            self._topic.leave(self)
            message = f"{_MOST_UNREAD} messages of {self.controller}/{self.topic} were not read in time"
            self._fail(GatehouseError(message, code="client.slow", hint='read faster, or subscribe with slow="latest"'))
            return
        self._unread.append(data)
        self._changed.set()

    def _fail(self, error: GatehouseError) -> None:
        self._error = self._error or error
        self._changed.set()


class _Topic:
    """One subscription on the server, for all that ask for the same topic."""

    def __init__(self, stream: AsyncStream, controller: str, name: str, data: Any) -> None:
        self.stream = stream
        self.controller = controller
        self.name = name
        self.data = data
        self.members: weakref.WeakSet[AsyncSubscription] = weakref.WeakSet()
        self.is_waiting = True
        self.was_open = False
        self.failures = 0
        #: Precedes an Unsub of the server.
        self.error: GatehouseError | None = None
        self.last: list[Any] = []

    def leave(self, member: AsyncSubscription) -> None:
        self.members.discard(member)
        self.prune()

    def prune(self) -> None:
        if not self.members:
            self.stream._detach(self)

    def opened(self) -> None:
        for member in list(self.members):
            member._open(self.was_open)
        self.is_waiting, self.was_open, self.failures = False, True, 0

    def take(self, data: Any) -> None:
        self.last = [data]
        for member in list(self.members):
            member._take(data)

    def fail(self, error: GatehouseError) -> None:
        for member in list(self.members):
            member._fail(error)


class AsyncStream:
    """The stream of a server. Every call connects by itself."""

    def __init__(self, http: Http, heartbeat: float) -> None:
        self._http = http
        self._connection = Connection(http, self, heartbeat)
        self._topics: dict[tuple[str, str], _Topic] = {}
        self._pending: dict[int, asyncio.Future[Message]] = {}
        self._ids = itertools.count(1)
        self._listeners: list[Callable[[StateChange], object]] = []
        self._online: asyncio.Future[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def state(self) -> State:
        return self._connection.state

    def on_state_change(self, listener: Callable[[StateChange], object]) -> Callable[[], None]:
        """Calls the listener after each change of state. The returned function removes it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def connect(self) -> None:
        """Returns once the connection is online."""
        self._check_open()
        if self.state == "online":
            return
        if self._online is None:
            self._online = asyncio.get_running_loop().create_future()
        self._connection.open()
        await asyncio.shield(self._online)

    async def request(self, controller: str, topic: str, data: Any = None, *, timeout: float = 40.0) -> Any:
        """Sends a request and returns the ``Data`` of its reply. If the connection breaks, it may or may not have been
        executed, and a GatehouseConnectionError says so."""
        message = {"Controller": controller, "Topic": topic, **({} if data is None else {"Data": encode(data)})}
        try:
            return (await asyncio.wait_for(self._exchange(message), timeout)).get("Data")
        except asyncio.TimeoutError:
            text = f"{controller}/{topic} was not answered within {timeout:g} seconds"
            if self.state != "online":
                text += f"; the stream is {self.state}: {self._connection.reason}"
            raise GatehouseConnectionError(text, code="client.timeout") from None

    def subscribe(self, controller: str, topic: str, data: Any = None, *, slow: Slow = "error") -> AsyncSubscription:
        """Subscribes to a topic. With ``slow="error"`` up to 1,000 messages wait for the loop, and then it raises
        ``client.slow``; with ``slow="latest"`` only the newest waits."""
        if slow not in ("error", "latest"):
            raise ValueError(f'slow is "error" or "latest", not {slow!r}')
        self._check_open()
        key = (controller, topic)
        found = self._topics.get(key)
        if found is None:
            found = self._topics[key] = _Topic(self, controller, topic, None if data is None else encode(data))
            member = AsyncSubscription(found, slow)
            if self.state == "online":
                self._spawn(found)
            else:
                self._connection.open()
            return member
        member = AsyncSubscription(found, slow)
        if found.was_open:
            member._open(False)
        # The server sends the state of a topic only to the first.
        for last in found.last:
            member._take(last)
        return member

    async def aclose(self) -> None:
        """Ends the connection; another request or subscription opens a new one."""
        await self._connection.end(closed_error("stream"))
        for task in list(self._tasks):
            task.cancel()

    def _check_open(self) -> None:
        if self._http.closed:
            raise closed_error("gate")

    async def _exchange(self, message: Message) -> Message:
        await self.connect()
        return await self._send(message)

    async def _send(self, message: Message) -> Message:
        identifier = next(self._ids)
        reply: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._pending[identifier] = reply
        try:
            await self._connection.send({**message, "TransactionID": identifier})
            return await reply
        except asyncio.CancelledError:
            if self._pending.pop(identifier, None) is not None:
                self._tell({"Action": "Cancel", "TransactionID": identifier})
            raise
        finally:
            self._pending.pop(identifier, None)

    def _tell(self, message: Message) -> None:
        """Sends what needs no reply; without a connection there is nobody to tell."""

        async def tell() -> None:
            with contextlib.suppress(GatehouseConnectionError):
                await self._connection.send(message)

        self._keep(asyncio.create_task(tell()))

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _spawn(self, topic: _Topic, wait: float = 0.0) -> None:
        self._keep(asyncio.create_task(self._subscribe(topic, wait)))

    async def _subscribe(self, topic: _Topic, wait: float) -> None:
        if wait > 0:
            await asyncio.sleep(wait)
        if self.state != "online" or not topic.is_waiting or not self._is_current(topic):
            return
        topic.is_waiting = False
        message = {"Controller": topic.controller, "Topic": topic.name, "Action": "Sub", "Confirm": True}
        try:
            await self._send(message if topic.data is None else {**message, "Data": topic.data})
        except GatehouseConnectionError:
            topic.is_waiting = True  # it is subscribed to again after the reconnect
        except GatehouseError as error:
            if self._is_current(topic):
                self._on_end_of(topic, error)

    def _is_current(self, topic: _Topic) -> bool:
        return self._topics.get((topic.controller, topic.name)) is topic

    def _detach(self, topic: _Topic) -> None:
        if self._is_current(topic):
            del self._topics[topic.controller, topic.name]
            if not topic.is_waiting:
                self._tell({"Controller": topic.controller, "Topic": topic.name, "Action": "Unsub"})

    def _on_end_of(self, topic: _Topic, error: GatehouseError) -> None:
        """A subscription was refused, or ended by the server: it is opened again if that can help."""
        topic.is_waiting = True
        # With a fresh token it is opened again.
        if error.code == "Authority" and self.state != "online":
            return
        if error.retryable and topic.was_open:
            self._spawn(topic, backoff(topic.failures, 1.0))
            topic.failures += 1
            return
        del self._topics[topic.controller, topic.name]
        topic.fail(error)

    # The events of the connection.

    def on_state(self, change: StateChange) -> None:
        for listener in list(self._listeners):
            try:
                listener(change)
            except Exception:
                log.exception("a listener of the stream failed")

    def on_online(self, is_new: bool) -> None:
        if self._online is not None and not self._online.done():
            self._online.set_result(None)
        self._online = None
        for topic in list(self._topics.values()):
            topic.is_waiting = topic.is_waiting or is_new
            if topic.is_waiting:
                self._spawn(topic)

    def on_lost(self, error: GatehouseError) -> None:
        for topic in self._topics.values():
            topic.is_waiting = True
        pending, self._pending = self._pending, {}
        for reply in pending.values():
            if not reply.done():
                reply.set_exception(error)

    def on_ended(self, error: GatehouseError) -> None:
        self.on_lost(error)
        if self._online is not None and not self._online.done():
            self._online.set_exception(error)
            self._online.exception()  # those who wait get it
        self._online = None
        topics, self._topics = self._topics, {}
        for topic in topics.values():
            topic.fail(error)

    def on_message(self, message: Message) -> None:
        identifier, action = message.get("TransactionID"), message.get("Action")
        topic = self._topics.get((message.get("Controller", "Platform"), message.get("Topic", "")))
        if identifier is not None:
            reply = self._pending.pop(identifier, None)
            if reply is None or reply.done():
                return
            if action == "Error":
                reply.set_exception(message_error(message, self._http.docs_url))
                return
            # Before the next message, which may be the first of the subscription.
            if action == "Sub" and topic is not None:
                topic.opened()
            reply.set_result(message)
        elif topic is None:
            return
        elif action == "Error":
            topic.error = message_error(message, self._http.docs_url)
        elif action == "Unsub":
            ended = GatehouseError("The server ended the subscription", code="client.ended")
            error, topic.error = topic.error or ended, None
            self._on_end_of(topic, error)
        elif action is None:
            topic.take(message.get("Data"))
