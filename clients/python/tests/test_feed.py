"""Feeds: publish, subscribe, resume over a restart, and what is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import islice

import httpx
import pytest

from conftest import ADMIN
from gatehouse_client import AsyncGate, AuthError, Gate, GatehouseError, Password, PublishProgress
from support import Server, tokens

ALICE = Password("demo-cli", "alice", "wonderland-1")


def declare(server: Server, name: str, **members: object) -> None:
    token = tokens(server, "admin", "admin-please-change")["access_token"]
    headers = {"authorization": f"Bearer {token}"}
    reply = httpx.post(f"{server.url}/admin/feeds", json={"name": name, **members}, headers=headers, timeout=30)
    assert reply.status_code == 201, reply.text


HISTORY = {"messages": 100_000, "time": "1 hour"}


@pytest.fixture(scope="module")
def feeds(server: Server) -> Iterator[Gate]:
    declare(server, "Quotes", keep="latest")
    declare(server, "Desks", keep="all", history=HISTORY)
    with Gate(server.url, auth=ADMIN) as gate:
        yield gate


def test_the_newest_first_then_each_message(feeds: Gate, server: Server) -> None:
    quotes = feeds.feed("Quotes")
    assert quotes.publish("NYSE/ACME", {"last": "1"}) is None
    with Gate(server.url, auth=ALICE) as gate, gate.feed("Quotes").subscribe("NYSE/*") as every:
        first = every.next(timeout=10)
        assert (first.topic, first.data, first.removed, first.position) == ("NYSE/ACME", {"last": "1"}, False, None)
        quotes.publish("NYSE/BOLT", 2**70)
        assert every.next(timeout=10).data == 2**70
        assert every.values == {"NYSE/ACME": {"last": "1"}, "NYSE/BOLT": 2**70}
        quotes.remove("NYSE/BOLT")
        assert every.next(timeout=10).removed
        assert (every.value, list(every.values)) == (None, ["NYSE/ACME"])
        with pytest.raises(AuthError):
            gate.feed("Quotes").publish("x", 1)
        with pytest.raises(GatehouseError) as refused:
            gate.feed("Nothing").subscribe("x").ready(timeout=10)
        assert refused.value.code == "feed.unknown"
        with pytest.raises(GatehouseError) as refused:
            gate.feed("Desks").subscribe("x", max_rate=0.5).ready(timeout=10)
        assert refused.value.code == "feed.no_rate"


def test_many_messages_once_and_in_order(feeds: Gate) -> None:
    desks = feeds.feed("Desks")
    position = desks.publish("once", 1, idempotency_key="python-1")
    assert desks.publish("once", 1, idempotency_key="python-1") == position
    assert len(desks.last("once", 10)) == 1
    steps: list[int] = []
    with desks.subscribe("many").ready(timeout=10) as many:
        done = desks.publish_all(
            (("many", number) for number in range(25_000)), on_progress=lambda step: steps.append(step.messages)
        )
        assert (done, steps) == (PublishProgress(25_000, 3), [10_000, 20_000, 25_000])
        # The server has closed the connection of this slow loop meanwhile, and it goes on where it was.
        assert [message.data for message in islice(many, 25_000)] == list(range(25_000))
    assert [(topic.topic, topic.messages) for topic in desks.topics("many")] == [("many", 25_000)]
    kept = desks.last("many", 2)
    assert [message.data for message in kept] == [24_998, 24_999]
    latest = desks.latest("many")
    assert latest is not None
    assert latest.data == 24_999
    assert desks.latest("none") is None
    with desks.subscribe("many", resume=kept[0].position) as resumed:
        message = resumed.next(timeout=10)
        assert (message.data, message.recovered) == (24_999, True)


def test_over_a_restart_nothing_is_lost_or_repeated(own_server: Server) -> None:
    declare(own_server, "Desks", keep="all", history=HISTORY)

    async def run() -> None:
        async with AsyncGate(own_server.url, auth=ADMIN) as gate:
            desks = gate.feed("Desks")
            events: list[str] = []
            async with desks.subscribe("busy") as busy, desks.subscribe("quiet") as quiet:
                busy.on("recovered", lambda: events.append("busy"))
                quiet.on("recovered", lambda: events.append("quiet"))
                quiet.on("gap", lambda: events.append("gap"))
                await busy.ready()
                await quiet.ready()
                reading = asyncio.create_task(anext(quiet))
                await desks.publish("busy", 0)
                assert (await anext(busy)).data == 0
                await asyncio.to_thread(own_server.restart)
                for number in range(1, 4):
                    await desks.publish("busy", number)
                await desks.publish("quiet", 9)
                assert [(await anext(busy)).data for _ in range(3)] == [1, 2, 3]
                assert (await reading).data == 9
                assert sorted(events) == ["busy", "quiet"]

    asyncio.run(asyncio.wait_for(run(), 60))
