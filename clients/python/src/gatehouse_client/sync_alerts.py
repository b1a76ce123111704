"""Alerts for scripts, notebooks and threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from .alerts import Alert, AlertChannel, AlertDelivery, AlertEvent, AsyncAlerts, Key
from .portal import Portal
from .sync_live import Live


class Alerts:
    """The alerts of the caller. Each is called by its id."""

    def __init__(self, alerts: AsyncAlerts, portal: Portal) -> None:
        self._alerts = alerts
        self._portal = portal

    def list(self) -> Iterator[Alert]:
        """All, by name, page by page as they are read."""
        return self._portal.iterate(self._alerts.list)

    def get(self, alert: str) -> Alert:
        return self._portal.run(self._alerts.get(alert))

    def create(self, members: Mapping[str, Any] | None = None, /, **named: Any) -> Alert:
        """``name``, ``statement``, ``when``, ``channels`` and the others, by name or in a mapping, which also takes
        ``for``. Returns when the alert was evaluated first, or after five seconds."""
        return self._portal.run(self._alerts.create(members, **named))

    def update(
        self, alert: str, members: Mapping[str, Any] | None = None, /, *, version: int | None = None, **named: Any
    ) -> Alert:
        """Changes these members; None removes one. With the ``version`` that was read it overwrites no change of
        another program, and raises ``Alert.Changed`` instead."""
        return self._portal.run(self._alerts.update(alert, members, version=version, **named))

    def delete(self, alert: str) -> None:
        self._portal.run(self._alerts.delete(alert))

    def history(self, alert: str) -> Iterator[AlertEvent]:
        """What has happened, newest first."""
        return self._portal.iterate(lambda: self._alerts.history(alert))

    def deliveries(self, alert: str) -> Iterator[AlertDelivery]:
        """The deliveries, newest first."""
        return self._portal.iterate(lambda: self._alerts.deliveries(alert))

    def retry(self, alert: str, delivery: str) -> AlertDelivery:
        """Tries a delivery again that could not be made."""
        return self._portal.run(self._alerts.retry(alert, delivery))

    def silence(self, alert: str, time: str | datetime, *, key: Key | None = None) -> Alert:
        """Sends nothing for a time such as ``2 hours``, or until a moment: of one key, or of all. What still fires at
        the end is sent then."""
        return self._portal.run(self._alerts.silence(alert, time, key=key))

    def unsilence(self, alert: str, *, key: Key | None = None) -> None:
        """Ends the silence of a key, or all."""
        self._portal.run(self._alerts.unsilence(alert, key=key))

    def test(self, alert: str) -> Sequence[AlertDelivery]:
        """Sends a test to each channel of an alert."""
        return self._portal.run(self._alerts.test(alert))

    def channels(self) -> Sequence[AlertChannel]:
        """The channels that the caller may use."""
        return self._portal.run(self._alerts.channels())

    def webhook(self, url: str) -> str:
        """The key with which notices to an address of yours are signed, where alerts may name such addresses."""
        return self._portal.run(self._alerts.webhook(url))

    def follow(self, alert: str | None = None, *, max_rate: int | None = None) -> Live:
        """The keys that are pending or firing, of one alert or of all, kept up to date: a live query on
        ``alertstates``. ``key`` is the JSON text of the values of the key."""
        return Live(self._alerts.follow(alert, max_rate=max_rate), self._portal)
