"""Feeds for scripts, notebooks and threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .feed import (
    AsyncFeed,
    AsyncFeedSubscription,
    Batches,
    FeedEvent,
    FeedMessage,
    FeedTopic,
    KeptMessage,
    PublishProgress,
)
from .licence_labels import LicenceLabel
from .portal import Portal, within


class FeedSubscription:
    """The messages of a topic, or of the topics of a pattern such as ``NYSE/*``, for a loop.

    It survives lost connections: where the feed has a history, what was published meanwhile is sent, each message once.
    Nothing is read ahead of the loop. A feed that keeps the latest message leaves out older ones for a slow loop.
    """

    def __init__(self, subscription: AsyncFeedSubscription, portal: Portal) -> None:
        self._subscription = subscription
        self._portal = portal

    @property
    def topic(self) -> str:
        """The topic or pattern."""
        return self._subscription.topic

    @property
    def value(self) -> Any:
        """The newest data, as of the last message that was read; None before it, and of a removed topic."""
        return self._subscription.value

    @property
    def values(self) -> Mapping[str, Any]:
        """The newest data by topic, as of the last message that was read."""
        return self._subscription.values

    @property
    def position(self) -> str | None:
        """Where a later subscription can resume; None if the feed has no history."""
        return self._subscription.position

    @property
    def delay(self) -> float | None:
        """Seconds after which the licence shows messages, once the first has been read; None: they are real-time. Those
        of a pattern may differ."""
        return self._subscription.delay

    @property
    def licences(self) -> tuple[LicenceLabel, ...]:
        """Of a pattern, once the first message has been read: which topics are delayed, or left out."""
        return self._subscription.licences

    def on(self, event: FeedEvent, listener: Callable[[], object]) -> Callable[[], None]:
        """Calls the listener after each lost connection, in the thread of the gate: ``recovered`` if all that was
        missed follows, ``gap`` if messages are missing; and with ``licence`` when ``delay`` or ``licences`` have
        changed. The returned function removes it."""
        return self._subscription.on(event, listener)

    def ready(self, timeout: float | None = None) -> FeedSubscription:
        """Returns when the server has accepted it; raises when it has refused."""
        self._portal.run(within(self._subscription.ready, timeout))
        return self

    def __iter__(self) -> FeedSubscription:
        return self

    def __next__(self) -> FeedMessage:
        try:
            return self.next()
        except StopAsyncIteration:
            raise StopIteration from None

    def next(self, timeout: float | None = None) -> FeedMessage:
        """The next message. Raises TimeoutError if none arrives within ``timeout`` seconds, and can be called
        again."""
        return self._portal.run(within(self._subscription.__anext__, timeout))

    def close(self) -> None:
        """Ends it, here and on the server."""
        self._portal.release(self._subscription.aclose())

    def __enter__(self) -> FeedSubscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Feed:
    """A feed by name."""

    def __init__(self, feed: AsyncFeed, portal: Portal) -> None:
        self._feed = feed
        self._portal = portal

    @property
    def name(self) -> str:
        return self._feed.name

    def subscribe(
        self, topic: str, *, max_rate: float | None = None, last: int | None = None, resume: str | None = None
    ) -> FeedSubscription:
        """Messages of a topic, or of a pattern: ``*``, or a prefix such as ``NYSE/*``. ``max_rate`` is how many come
        per second and topic at most (0.01 to 50), where the feed keeps the latest. ``last`` is how many of the
        newest messages come first; ``resume`` is the position of a message, after which to begin."""
        options = {"max_rate": max_rate, "last": last, "resume": resume}
        return FeedSubscription(self._portal.call(self._feed.subscribe, topic, **options), self._portal)

    def publish(self, topic: str, data: Any, *, idempotency_key: str | None = None) -> str | None:
        """Publishes one message. Returns its position, or None if the feed has no history."""
        return self._portal.run(self._feed.publish(topic, data, idempotency_key=idempotency_key))

    def publish_all(
        self,
        messages: Iterable[tuple[str, Any]],
        *,
        idempotency_key: str | None = None,
        on_progress: Callable[[PublishProgress], object] | None = None,
    ) -> PublishProgress:
        """Publishes any number of messages, each a topic and its data, in their order, in requests of at most 10,000
        messages and 8 MiB. Each request is published or not as a whole. Repeated with the same messages and the same
        key it continues where it ended."""
        batches = Batches(idempotency_key)
        # The messages are read in this thread: they may come from a query of the same gate.
        for topic, data in messages:
            if (full := batches.add(topic, data)) is not None:
                self._portal.run(self._feed.send(*full))
                batches.sent(on_progress)
        if (rest := batches.rest()) is not None:
            self._portal.run(self._feed.send(*rest))
            batches.sent(on_progress)
        return batches.progress

    def topics(self, prefix: str = "") -> Iterator[FeedTopic]:
        """The topics that hold messages, by name."""
        return self._portal.iterate(lambda: self._feed.topics(prefix))

    def last(self, topic: str, count: int) -> list[KeptMessage]:
        """The newest messages of a topic or pattern, at most ``count`` (up to 1,000), the newest last. The feed needs a
        history."""
        return self._portal.run(self._feed.last(topic, count))

    def latest(self, topic: str) -> KeptMessage | None:
        """The newest message of a topic; None if it holds none."""
        return self._portal.run(self._feed.latest(topic))

    def remove(self, topic: str) -> None:
        """Forgets the messages of a topic, and tells its subscribers."""
        self._portal.run(self._feed.remove(topic))
