"""Alerts: made, changed, silenced and deleted, with what happens to them and what is delivered, on a real server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from standardwebhooks import Webhook

from conftest import ADMIN
from gatehouse_client import AlertChannel, AlertDelivery, AsyncGate, Gate, GatehouseError
from support import Server, eventually, tokens


class Receiver:
    """Takes webhooks, and answers with ``status``."""

    def __init__(self) -> None:
        self.received: list[tuple[dict[str, str], bytes]] = []
        self.status = 204
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.received.append(({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(receiver.status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    running = Receiver()
    yield running
    running.close()


def declare(server: Server, name: str, url: str) -> str:
    token = tokens(server, "admin", "admin-please-change")["access_token"]
    body = {"name": name, "kind": "webhook", "url": url, "private": True, "use": "Platform/Market"}
    headers = {"authorization": f"Bearer {token}"}
    reply = httpx.post(f"{server.url}/admin/channels", json=body, headers=headers, timeout=30)
    assert reply.status_code == 201, reply.text
    secret: str = reply.json()["secret"]
    return secret


def test_the_life_of_an_alert(server: Server, prices: str, receiver: Receiver) -> None:
    secret = declare(server, "python-hook", receiver.url)
    with Gate(server.url, auth=ADMIN) as gate:
        alerts = gate.alerts
        assert AlertChannel("python-hook", "webhook", False) in alerts.channels()
        made = alerts.create(
            {"for": "0 seconds", "group": "0 seconds"},
            name="Dear",
            statement=f"select symbol, price from {prices} where price > :least",
            parameters={"least": Decimal("1")},
            when="price > 100.5",
            channels=["python-hook"],
        )
        assert (made.state, made.mode, made.version, made.instances) == ("ok", "state", 1, [])
        assert made.watched is not None
        assert made.watched.tzinfo is timezone.utc
        gate.execute(f"insert into {prices} values ('ACME', 101.25, 1)")
        eventually(lambda: len(receiver.received) == 1)
        headers, body = receiver.received[0]
        data = Webhook(secret).verify(body, headers)["data"]
        assert (data["alert"], data["instances"][0]["key"]) == (made.id, ["ACME"])
        firing = alerts.get(made.id)
        assert (firing.state, firing.instances[0].key, firing.instances[0].state) == ("firing", ["ACME"], "firing")
        assert [event.type for event in alerts.history(made.id)] == ["firing"]
        with alerts.follow(made.id) as keys:
            keys.next(timeout=30)
            assert [(row["key"], row["state"]) for row in keys.rows] == [('["ACME"]', "firing")]
        eventually(lambda: next(alerts.deliveries(made.id)).state == "sent")
        assert next(alerts.deliveries(made.id)).status == 204
        assert made.id in [alert.id for alert in alerts.list()]

        silent = alerts.silence(made.id, "2 hours", key=["ACME"])
        assert silent.silences[0].key == ["ACME"]
        until = datetime.now(timezone.utc) + timedelta(hours=1)
        assert len(alerts.silence(made.id, until).silences) == 2
        alerts.unsilence(made.id, key=["ACME"])
        alerts.unsilence(made.id)
        assert alerts.get(made.id).silences == []

        changed = alerts.update(made.id, {"for": "1 minute"}, version=firing.version, when="price > 200")
        assert (changed.version, changed.members["for"], changed.members["when"]) == (2, "1 minute", "price > 200")
        with pytest.raises(GatehouseError) as refused:
            alerts.update(made.id, version=firing.version, name="Other")
        assert refused.value.code == "Alert.Changed"
        assert alerts.update(made.id, until=None, paused=True).state == "paused"
        with pytest.raises(GatehouseError) as refused:
            alerts.create(name="Computed", statement=f"select symbol, price from {prices}", when="price * 2 > 1")
        assert refused.value.code == "Alert.Invalid"
        alerts.delete(made.id)
        with pytest.raises(GatehouseError) as refused:
            alerts.get(made.id)
        assert refused.value.code == "Alert.NotFound"


def test_a_test_and_a_delivery_that_is_tried_again(server: Server, prices: str, receiver: Receiver) -> None:
    declare(server, "async-hook", receiver.url)

    async def run() -> None:
        async with AsyncGate(server.url, auth=ADMIN) as gate:
            made = await gate.alerts.create(
                name="Tested", statement=f"select symbol from {prices}", channels=["async-hook"]
            )
            receiver.status = 503
            (test,) = await gate.alerts.test(made.id)
            assert (test.channel, test.state) == ("async-hook", "waiting")
            await asyncio.to_thread(eventually, lambda: len(receiver.received) >= 1)
            with pytest.raises(GatehouseError) as refused:
                await gate.alerts.retry(made.id, test.id)
            assert refused.value.code == "Alert.NotFound"

    asyncio.run(asyncio.wait_for(run(), 60))
    with Gate(server.url, auth=ADMIN) as gate:
        alert = next(each for each in gate.alerts.list() if each.name == "Tested")

        def delivery() -> AlertDelivery:
            return next(gate.alerts.deliveries(alert.id))

        eventually(lambda: delivery().attempts == 1)
        assert delivery().error == "The receiver answered 503"
        gate.alerts.delete(alert.id)
