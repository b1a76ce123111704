"""Feeds: publish messages, subscribe to them, read what is kept."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import quote

from .errors import GatehouseError
from .events import MessageReader, feed_messages
from .http import Http, log
from .licence_labels import LicenceLabel, read_labels
from .table import new_key
from .values import encode, to_json

#: Of one request.
MOST_MESSAGES = 10_000
MOST_BYTES = 8 * 1024 * 1024

FeedEvent = Literal["recovered", "gap", "licence"]


@dataclass(frozen=True)
class FeedMessage:
    """A message of a subscription."""

    topic: str
    data: Any
    """None for a removed topic."""
    position: str | None
    """To resume after it; None if the feed has no history."""
    removed: bool
    """The topic was removed or has expired; if ``topic`` is the pattern, all of its topics."""
    recovered: bool | None
    """Set on the first message after a lost connection: whether nothing is missing."""
    delay: float | None = None
    """Seconds after which the licence shows it; None: it is real-time."""


@dataclass(frozen=True)
class KeptMessage:
    """A message that the feed keeps."""

    topic: str
    data: Any
    position: str | None
    """None if the feed has no history."""
    time: datetime
    """When it was published."""
    delay: float | None = None
    """Seconds after which the licence shows it; None: it is real-time."""


@dataclass(frozen=True)
class FeedTopic:
    """A topic that holds messages."""

    topic: str
    time: datetime
    """When its newest message was published."""
    messages: int
    """How many are kept."""


@dataclass(frozen=True)
class PublishProgress:
    """How much ``publish_all`` has published."""

    messages: int
    requests: int


class AsyncFeedSubscription:
    """The messages of a topic, or of the topics of a pattern such as ``NYSE/*``, for ``async for``.

    It survives lost connections: where the feed has a history, what was published meanwhile is sent, each message once.
    Nothing is read ahead of the loop. A feed that keeps the latest message leaves out older ones for a slow loop.
    """

    def __init__(
        self,
        http: Http,
        path: str,
        topic: str,
        *,
        max_rate: float | None = None,
        last: int | None = None,
        resume: str | None = None,
    ) -> None:
        search: dict[str, str | int] = {}
        if max_rate is not None:
            # As the server reads it: digits, without an exponent.
            search["maxrate"] = f"{max_rate:.6f}".rstrip("0").rstrip(".")
        if last is not None:
            search["last"] = last
        self._topic = topic
        self._reader = MessageReader(feed_messages(http, path, search, resume))
        self._values: dict[str, Any] = {}
        self._value: Any = None
        self._position = resume
        self._is_open = False
        self._delay: float | None = None
        self._licences: tuple[LicenceLabel, ...] = ()
        #: Whether ``delay`` and ``licences`` are known, and whether the connection has yet to say them.
        self._has_label = False
        self._awaits_label = False
        self._listeners: list[tuple[FeedEvent, Callable[[], object]]] = []

    @property
    def topic(self) -> str:
        """The topic or pattern."""
        return self._topic

    @property
    def value(self) -> Any:
        """The newest data, as of the last message that was read; None before it, and of a removed topic."""
        return self._value

    @property
    def values(self) -> Mapping[str, Any]:
        """The newest data by topic, as of the last message that was read."""
        return dict(self._values)

    @property
    def position(self) -> str | None:
        """Where a later subscription can resume; None if the feed has no history."""
        return self._position

    @property
    def delay(self) -> float | None:
        """Seconds after which the licence shows messages, once the first has been read; None: they are real-time. Those
        of a pattern may differ."""
        return self._delay

    @property
    def licences(self) -> tuple[LicenceLabel, ...]:
        """Of a pattern, once the first message has been read: which topics are delayed, or left out."""
        return self._licences

    def on(self, event: FeedEvent, listener: Callable[[], object]) -> Callable[[], None]:
        """Calls the listener after each lost connection: ``recovered`` if all that was missed follows, ``gap`` if
        messages are missing; and with ``licence`` when ``delay`` or ``licences`` have changed. The returned function
        removes it."""
        entry = (event, listener)
        self._listeners.append(entry)
        return lambda: self._listeners.remove(entry)

    async def ready(self) -> AsyncFeedSubscription:
        """Returns when the server has accepted it; raises when it has refused."""
        while not self._is_open:
            # The first says that it is open; messages follow.
            self._take(await self._reader.next())
        return self

    def __aiter__(self) -> AsyncFeedSubscription:
        return self

    async def __anext__(self) -> FeedMessage:
        """The next message. It can be cancelled and asked for again; nothing is lost."""
        while True:
            if (message := self._take(await self._reader.next())) is not None:
                return message

    async def aclose(self) -> None:
        """Ends it, here and on the server."""
        await self._reader.end(None)

    async def end(self, error: Exception) -> None:
        await self._reader.end(error)

    async def __aenter__(self) -> AsyncFeedSubscription:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _take(self, message: Mapping[str, Any]) -> FeedMessage | None:
        self._is_open = True
        self._position = message.get("Position", self._position)
        recovered = message.get("Recovered")
        if recovered is not None:
            self._tell("recovered" if recovered else "gap")
        removed = message.get("Removed") is True
        self._label(message)
        if "Data" not in message and not removed:
            return None
        topic, data = message["Topic"], message.get("Data")
        self._value = data
        if not removed:
            self._values[topic] = data
        elif topic == self._topic:
            self._values.clear()
        else:
            self._values.pop(topic, None)
        return FeedMessage(topic, data, message.get("Position"), removed, recovered, message.get("Delay"))

    def _label(self, message: Mapping[str, Any]) -> None:
        """What is delayed is said first on each connection, if anything is, and again when it changes."""
        if "Opened" in message:
            self._awaits_label = True
        if "Topic" not in message:
            return
        is_label = message.keys().isdisjoint(("Data", "Removed", "Recovered"))
        if not is_label and not self._awaits_label:
            return
        before = (self._delay, self._licences)
        self._delay = (message.get("Delay") or None) if is_label else None
        self._licences = read_labels(message.get("Licence")) if is_label else ()
        if self._has_label and before != (self._delay, self._licences):
            self._tell("licence")
        self._has_label, self._awaits_label = True, False

    def _tell(self, event: FeedEvent) -> None:
        for wanted, listener in list(self._listeners):
            if wanted == event:
                try:
                    listener()
                except Exception:
                    log.exception("a listener of a feed failed")


class AsyncFeed:
    """A feed by name."""

    def __init__(self, http: Http, name: str, on_subscribe: Callable[[AsyncFeedSubscription], None]) -> None:
        self._http = http
        self._name = name
        self._path = f"/feeds/{quote(name, safe='')}"
        self._on_subscribe = on_subscribe

    @property
    def name(self) -> str:
        return self._name

    def subscribe(
        self, topic: str, *, max_rate: float | None = None, last: int | None = None, resume: str | None = None
    ) -> AsyncFeedSubscription:
        """Messages of a topic, or of a pattern: ``*``, or a prefix such as ``NYSE/*``. ``max_rate`` is how many come
        per second and topic at most (0.01 to 50), where the feed keeps the latest. ``last`` is how many of the
        newest messages come first; ``resume`` is the position of a message, after which to begin."""
        options: dict[str, Any] = {"max_rate": max_rate, "last": last, "resume": resume}
        subscription = AsyncFeedSubscription(self._http, self._of(topic), topic, **options)
        self._on_subscribe(subscription)
        return subscription

    async def publish(self, topic: str, data: Any, *, idempotency_key: str | None = None) -> str | None:
        """Publishes one message. Returns its position, or None if the feed has no history."""
        return await self.send([encode_message(topic, data)], idempotency_key or new_key())

    async def publish_all(
        self,
        messages: Iterable[tuple[str, Any]] | AsyncIterable[tuple[str, Any]],
        *,
        idempotency_key: str | None = None,
        on_progress: Callable[[PublishProgress], object] | None = None,
    ) -> PublishProgress:
        """Publishes any number of messages, each a topic and its data, in their order, in requests of at most 10,000
        messages and 8 MiB. Each request is published or not as a whole. Repeated with the same messages and the same
        key it continues where it ended."""
        batches = Batches(idempotency_key)
        async for topic, data in _each(messages):
            if (full := batches.add(topic, data)) is not None:
                await self.send(*full)
                batches.sent(on_progress)
        if (rest := batches.rest()) is not None:
            await self.send(*rest)
            batches.sent(on_progress)
        return batches.progress

    async def topics(self, prefix: str = "") -> AsyncIterator[FeedTopic]:
        """The topics that hold messages, by name."""
        search: dict[str, str | int] = {"prefix": prefix, "limit": 1000}
        while True:
            page = await self._http.json(self._path, method="GET", search=search)
            for item in page["items"]:
                yield FeedTopic(item["Topic"], _time(item["Time"]), item["Messages"])
            if "next" not in page:
                return
            search = {**search, "after": page["next"]}

    async def last(self, topic: str, count: int) -> list[KeptMessage]:
        """The newest messages of a topic or pattern, at most ``count`` (up to 1,000), the newest last. The feed needs a
        history."""
        reply = await self._http.json(self._of(topic), method="GET", search={"last": count})
        return [_kept(message) for message in reply["Messages"]]

    async def latest(self, topic: str) -> KeptMessage | None:
        """The newest message of a topic; None if it holds none."""
        try:
            return _kept(await self._http.json(self._of(topic), method="GET"))
        except GatehouseError as error:
            if error.code == "feed.no_topic":
                return None
            raise

    async def remove(self, topic: str) -> None:
        """Forgets the messages of a topic, and tells its subscribers."""
        await self._http.json(self._of(topic), method="DELETE", headers={"idempotency-key": new_key()})

    async def send(self, messages: list[bytes], key: str) -> str | None:
        """One request. Not by the path of a topic: ``.`` and ``..`` would be no topics there."""
        body = b"[" + b",".join(messages) + b"]"
        reply = await self._http.json(self._path, body, headers={"idempotency-key": key})
        position: str | None = reply.get("Position")
        return position

    def _of(self, topic: str) -> str:
        return f"{self._path}/{quote(topic, safe='')}"


class Batches:
    """Messages in requests, each with its idempotency key."""

    def __init__(self, key: str | None) -> None:
        self._key = key or new_key()
        self._messages: list[bytes] = []
        self._size = 0
        self._sending = 0
        self.progress = PublishProgress(0, 0)

    def add(self, topic: str, data: Any) -> tuple[list[bytes], str] | None:
        """The request to send before this message, if there is no room for it."""
        message = encode_message(topic, data)
        size = len(message) + 1
        is_full = len(self._messages) >= MOST_MESSAGES or self._size + size > MOST_BYTES - 2
        full = self.rest() if is_full else None
        self._messages.append(message)
        self._size += size
        return full

    def rest(self) -> tuple[list[bytes], str] | None:
        messages, self._messages, self._size = self._messages, [], 0
        self._sending = len(messages)
        return (messages, f"{self._key}:{self.progress.requests}") if messages else None

    def sent(self, on_progress: Callable[[PublishProgress], object] | None) -> None:
        self.progress = PublishProgress(self.progress.messages + self._sending, self.progress.requests + 1)
        if on_progress is not None:
            on_progress(self.progress)


def encode_message(topic: str, data: Any) -> bytes:
    return to_json({"Topic": topic, "Data": encode(data)})


def _kept(message: Mapping[str, Any]) -> KeptMessage:
    topic, data, position = message["Topic"], message["Data"], message.get("Position")
    return KeptMessage(topic, data, position, _time(message["Time"]), message.get("Delay"))


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


async def _each(
    messages: Iterable[tuple[str, Any]] | AsyncIterable[tuple[str, Any]],
) -> AsyncIterator[tuple[str, Any]]:
    if isinstance(messages, AsyncIterable):
        async for message in messages:
            yield message
    else:
        for message in messages:
            yield message
