"""Alerts: live queries that notify when something begins and ends, under ``/alerts``."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import quote

from .http import Http
from .live import AsyncLive
from .values import encode, encode_members, read_timestamp

AlertState = Literal["ok", "pending", "firing", "paused", "suspended", "error"]
"""The worst state of the keys, or why none is evaluated."""

Key = Sequence[Any]
"""The values of the key of a row, in its order."""


@dataclass(frozen=True)
class AlertInstance:
    """A key of the result that is pending or firing."""

    key: list[Any] | None
    """None: no row matches (``absent``)."""
    state: Literal["pending", "firing"]
    since: datetime
    row: Any


@dataclass(frozen=True)
class AlertSilence:
    """Until when no notices are sent: of a key, or of all."""

    until: datetime
    key: list[Any] | None


@dataclass(frozen=True)
class Alert:
    """An alert of the caller."""

    id: str
    name: str
    statement: str
    mode: Literal["state", "event"]
    channels: list[str]
    paused: bool
    state: AlertState
    error: str | None
    """Why it is suspended, or cannot be evaluated."""
    watched: datetime | None
    """When it was evaluated first. None: not yet."""
    created: datetime
    updated: datetime
    owner: str
    username: str | None
    version: int
    """For ``update``, which then overwrites no change of another program."""
    instances: list[AlertInstance]
    """The keys that are pending or firing. Empty in lists."""
    silences: list[AlertSilence]
    members: Mapping[str, Any]
    """All members as the server sends them, with ``when``, ``until``, ``for`` and the others of the definition."""


@dataclass(frozen=True)
class AlertEvent:
    """Something that has happened to an alert."""

    seq: int
    at: datetime
    type: Literal["firing", "resolved", "event", "error", "recovered"]
    key: list[Any] | None
    row: Any


@dataclass(frozen=True)
class AlertDelivery:
    """A delivery, and what came of it."""

    id: str
    channel: str
    sequence: int
    state: Literal["waiting", "sent", "dead", "dropped"]
    attempts: int
    status: int | None
    """The HTTP status of the last attempt."""
    error: str | None
    joined: int
    """How many others were joined to it."""
    created: datetime
    next: datetime | None
    """When it is tried next."""
    ended: datetime | None


@dataclass(frozen=True)
class AlertChannel:
    """Where notices of alerts go."""

    name: str
    kind: str
    disabled: bool


class AsyncAlerts:
    """The alerts of the caller. Each is called by its id."""

    def __init__(self, http: Http, live: Callable[..., AsyncLive]) -> None:
        self._http = http
        self._live = live

    async def list(self) -> AsyncIterator[Alert]:
        """All, by name, page by page as they are read."""
        async for item in self._pages("/alerts"):
            yield _alert(item)

    async def get(self, alert: str) -> Alert:
        return _alert(await self._http.json(_path(alert), method="GET"))

    async def create(self, members: Mapping[str, Any] | None = None, /, **named: Any) -> Alert:
        """``name``, ``statement``, ``when``, ``channels`` and the others, by name or in a mapping, which also takes
        ``for``. Returns when the alert was evaluated first, or after five seconds."""
        body = encode_members({**(members or {}), **named})
        return _alert(await self._http.json("/alerts", body, idempotent=False))

    async def update(
        self, alert: str, members: Mapping[str, Any] | None = None, /, *, version: int | None = None, **named: Any
    ) -> Alert:
        """Changes these members; None removes one. With the ``version`` that was read it overwrites no change of
        another program, and raises ``Alert.Changed`` instead."""
        body = encode_members({**(members or {}), **named})
        headers = {"if-match": "*" if version is None else f'"{version}"'}
        reply = await self._http.json(_path(alert), body, method="PATCH", headers=headers, idempotent=version is None)
        return _alert(reply)

    async def delete(self, alert: str) -> None:
        await self._http.json(_path(alert), method="DELETE", idempotent=False)

    async def history(self, alert: str) -> AsyncIterator[AlertEvent]:
        """What has happened, newest first."""
        async for item in self._pages(f"{_path(alert)}/history"):
            yield AlertEvent(item["seq"], read_timestamp(item["at"]), item["type"], item["key"], item["row"])

    async def deliveries(self, alert: str) -> AsyncIterator[AlertDelivery]:
        """The deliveries, newest first."""
        async for item in self._pages(f"{_path(alert)}/deliveries"):
            yield _delivery(item)

    async def retry(self, alert: str, delivery: str) -> AlertDelivery:
        """Tries a delivery again that could not be made."""
        path = f"{_path(alert)}/deliveries/{quote(delivery, safe='')}/retry"
        return _delivery(await self._http.json(path, {}, idempotent=False))

    async def silence(self, alert: str, time: str | datetime, *, key: Key | None = None) -> Alert:
        """Sends nothing for a time such as ``2 hours``, or until a moment: of one key, or of all. What still fires at
        the end is sent then."""
        body: dict[str, Any] = {"for": time} if isinstance(time, str) else {"until": encode(time)}
        if key is not None:
            body["key"] = encode(list(key))
        return _alert(await self._http.json(f"{_path(alert)}/silence", body))

    async def unsilence(self, alert: str, *, key: Key | None = None) -> None:
        """Ends the silence of a key, or all."""
        search = {} if key is None else {"key": json.dumps(encode(list(key)), ensure_ascii=False)}
        await self._http.json(f"{_path(alert)}/silence", method="DELETE", search=search or None)

    async def test(self, alert: str) -> Sequence[AlertDelivery]:
        """Sends a test to each channel of an alert."""
        reply = await self._http.json(f"{_path(alert)}/test", {}, idempotent=False)
        return [_delivery(item) for item in reply["items"]]

    async def channels(self) -> Sequence[AlertChannel]:
        """The channels that the caller may use."""
        reply = await self._http.json("/alerts/channels", method="GET")
        return [AlertChannel(item["name"], item["kind"], item.get("disabled") is True) for item in reply["items"]]

    async def webhook(self, url: str) -> str:
        """The key with which notices to an address of yours are signed, where alerts may name such addresses."""
        secret: str = (await self._http.json("/alerts/webhooks", {"url": url}))["secret"]
        return secret

    def follow(self, alert: str | None = None, *, max_rate: int | None = None) -> AsyncLive:
        """The keys that are pending or firing, of one alert or of all, kept up to date: a live query on
        ``alertstates``. ``key`` is the JSON text of the values of the key."""
        if alert is None:
            return self._live("select * from alertstates", max_rate=max_rate)
        return self._live("select * from alertstates where alert = :alert", max_rate=max_rate, alert=alert)

    async def _pages(self, first: str) -> AsyncIterator[Mapping[str, Any]]:
        path: str | None = first
        while path is not None:
            page = await self._http.json(path, method="GET")
            for item in page["items"]:
                yield item
            path = page.get("next")


def _path(alert: str) -> str:
    return f"/alerts/{quote(alert, safe='')}"


def _alert(item: Mapping[str, Any]) -> Alert:
    return Alert(
        id=item["id"],
        name=item["name"],
        statement=item["statement"],
        mode=item["mode"],
        channels=item["channels"],
        paused=item["paused"],
        state=item["state"],
        error=item["error"],
        watched=_time(item["watched"]),
        created=read_timestamp(item["created"]),
        updated=read_timestamp(item["updated"]),
        owner=item["owner"],
        username=item["username"],
        version=item["version"],
        instances=[
            AlertInstance(each["key"], each["state"], read_timestamp(each["since"]), each["row"])
            for each in item.get("instances", ())
        ],
        silences=[AlertSilence(read_timestamp(each["until"]), each.get("key")) for each in item.get("silences", ())],
        members=item,
    )


def _delivery(item: Mapping[str, Any]) -> AlertDelivery:
    return AlertDelivery(
        id=item["id"],
        channel=item["channel"],
        sequence=item["sequence"],
        state=item["state"],
        attempts=item["attempts"],
        status=item["status"],
        error=item["error"],
        joined=item["joined"],
        created=read_timestamp(item["created"]),
        next=_time(item["next"]),
        ended=_time(item["ended"]),
    )


def _time(text: str | None) -> datetime | None:
    return None if text is None else read_timestamp(text)
