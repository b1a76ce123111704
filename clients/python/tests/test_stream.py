"""The stream: requests, subscriptions that survive lost connections, bounded queues and revocation."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from itertools import islice
from typing import Any

import pytest

from conftest import ADMIN, SERVICE
from gatehouse_client import (
    AsyncGate,
    AuthError,
    Gate,
    GatehouseConnectionError,
    GatehouseError,
    Password,
    QueryError,
    StateChange,
    Subscription,
    Token,
)
from support import Proxy, Server, eventually, no_threads_left, revoke, tokens

ALICE = Password("demo-cli", "alice", "wonderland-1")


def drain(subscription: Subscription) -> None:
    while True:
        subscription.next(timeout=10)


def test_requests_and_their_errors(gate: Gate) -> None:
    assert gate.stream.state == "ended"
    assert gate.stream.request("Platform", "QueryServerInfo")["Name"] == "Gatehouse"
    assert gate.stream.state == "online"
    assert gate.stream.request("Platform", "QueryServerInfo")["Class"] == "Gatehouse"
    with pytest.raises(GatehouseError) as refused:
        gate.stream.request("Nobody", "Here")
    assert refused.value.code == "Controller"
    with pytest.raises(GatehouseError) as refused:
        gate.stream.subscribe("Platform", "Nothing").ready(timeout=10)
    assert refused.value.code == "Operation.Unknown"
    assert gate.stream.request("Platform", "QueryServerInfo")["Name"] == "Gatehouse"


def test_subscriptions_of_one_topic_share_it(gate: Gate) -> None:
    with gate.stream.subscribe("Ticker", "Price/ACME") as one, gate.stream.subscribe("Ticker", "Price/ACME") as two:
        first = [price["Symbol"] for price in islice(one, 3)]
        assert first == ["ACME"] * 3
        assert two.next(timeout=10)["Symbol"] == "ACME"
    with gate.stream.subscribe("Ticker", "Price/ACME", slow="latest") as again:
        assert again.ready(timeout=10).next(timeout=10)["Symbol"] == "ACME"


def test_a_loop_that_is_left_ends_the_subscription(gate: Gate) -> None:
    for _ in gate.stream.subscribe("Ticker", "Price/ACME"):
        break

    def is_forgotten() -> bool:
        gc.collect()
        return not gate._gate.stream._topics

    eventually(is_forgotten)


def test_a_live_statement_on_the_stream(server: Server, prices: str) -> None:
    with Gate(server.url, auth=ADMIN) as gate:
        data = {"Statement": "select symbol, price from prices"}
        with gate.stream.subscribe("Query", "Live/all", data) as live:
            assert live.next(timeout=10)["Kind"] == "Snapshot"
            gate.table(prices).insert({"symbol": "ACME", "price": "1.5"})
            assert live.next(timeout=10)["Put"][0]["Row"]["price"] == "1.5000000000"
        with pytest.raises(QueryError) as refused:
            gate.stream.subscribe("Query", "Live/bad", {"Statement": "select pric from prices"}).ready(timeout=10)
        assert refused.value.hint == "did you mean price?"


def test_subscriptions_survive_cut_connections(server: Server, proxy: Proxy) -> None:
    with Gate(proxy.url, issuer=server.url, auth=SERVICE) as gate:
        changes: list[StateChange] = []
        gate.stream.on_state_change(changes.append)
        with gate.stream.subscribe("Ticker", "Price/ACME") as prices:
            for round_ in range(3):
                prices.next(timeout=10)
                proxy.cut()
                eventually(lambda expected=round_ + 1: prices.resumes == expected, 20)
            # The state of the topic comes again.
            assert prices.next(timeout=10)["Symbol"] == "ACME"
        states = [change.state for change in changes]
        assert states[:2] == ["connecting", "online"]
        assert states.count("offline") >= 3
        assert gate.stream.request("Platform", "QueryServerInfo")["Name"] == "Gatehouse"


def test_subscriptions_survive_a_restart_of_the_server(own_server: Server) -> None:
    with Gate(own_server.url, auth=SERVICE) as gate, gate.stream.subscribe("Ticker", "Price/ACME") as prices:
        prices.next(timeout=10)
        own_server.restart()
        eventually(lambda: prices.resumes == 1, 30)
        assert prices.next(timeout=20)["Symbol"] == "ACME"


def test_a_request_that_is_cut_is_an_error(server: Server, proxy: Proxy) -> None:
    with Gate(proxy.url, issuer=server.url, auth=SERVICE) as gate:
        gate.stream.connect(timeout=10)
        proxy.flowing.clear()
        threading.Timer(0.3, proxy.cut).start()
        with pytest.raises(GatehouseConnectionError) as lost:
            gate.stream.request("Platform", "QueryServerInfo")
        assert lost.value.code == "client.offline"
        assert lost.value.retryable


def test_a_dead_connection_is_noticed(server: Server, proxy: Proxy) -> None:
    with Gate(proxy.url, issuer=server.url, auth=SERVICE, heartbeat=0.5) as gate:
        states: list[str] = []
        gate.stream.on_state_change(lambda change: states.append(change.state))
        gate.stream.connect(timeout=10)
        proxy.flowing.clear()
        eventually(lambda: "offline" in states, 12)


def test_a_reader_that_is_too_slow_is_told(gate: Gate) -> None:
    subscription = gate.stream.subscribe("Ticker", "Price/ACME")
    subscription.next(timeout=10)
    topic = gate._gate.stream._topics["Ticker", "Price/ACME"]
    latest = gate.stream.subscribe("Ticker", "Price/ACME", slow="latest")
    for number in range(1001):
        gate._portal.call(topic.take, number)
    assert latest.next(timeout=10) == 1000
    read: list[Any] = []
    with pytest.raises(GatehouseError) as slow:
        read.extend(iter(subscription.next, None))
    assert slow.value.code == "client.slow"


def test_revoking_the_grant_ends_the_stream_within_a_second(server: Server) -> None:
    granted = tokens(server)
    with Gate(server.url, auth=Token(granted["access_token"])) as gate:
        prices = gate.stream.subscribe("Ticker", "Price/ACME", slow="latest")
        prices.next(timeout=10)
        threading.Timer(0.2, revoke, (server, granted["refresh_token"])).start()
        started = time.monotonic()
        with pytest.raises(AuthError) as ended:
            drain(prices)
        assert time.monotonic() - started < 1.5
        assert ended.value.code == "session_ended"
        assert "Sign in again" in str(ended.value)
        assert gate.stream.state == "ended"


def test_revoking_the_token_ends_the_stream_without_another_and_not_with_one(server: Server) -> None:
    token = tokens(server)["access_token"]
    with Gate(server.url, auth=Token(token)) as gate, gate.stream.subscribe("Ticker", "Price/ACME") as prices:
        prices.next(timeout=10)
        threading.Timer(0.2, revoke, (server, token)).start()
        started = time.monotonic()
        with pytest.raises(AuthError, match="expired or was revoked"):
            drain(prices)
        assert time.monotonic() - started < 1.5
    with Gate(server.url, auth=ALICE) as gate, gate.stream.subscribe("Ticker", "Price/ACME") as prices:
        prices.next(timeout=10)
        states: list[str] = []
        gate.stream.on_state_change(lambda change: states.append(change.state))
        revoke(server, gate.token())
        eventually(lambda: states == ["lapsed", "online"])
        eventually(lambda: prices.resumes == 1)
        assert prices.next(timeout=10)["Symbol"] == "ACME"


def test_a_refused_token_is_an_error(server: Server) -> None:
    with Gate(server.url, auth=Token("not-a-token")) as gate, pytest.raises(AuthError):
        gate.stream.connect(timeout=10)


def test_a_server_that_is_away_is_named_in_the_error() -> None:
    with Gate("http://localhost:9", auth=Token("x")) as gate:
        with pytest.raises(GatehouseConnectionError, match="cannot be reached") as away:
            gate.stream.request("Platform", "QueryServerInfo", timeout=1)
        assert away.value.code == "client.timeout"


def test_a_listener_cannot_wait_for_its_own_gate(gate: Gate) -> None:
    errors: list[BaseException] = []

    def listener(_: StateChange) -> None:
        try:
            gate.token()
        except BaseException as error:
            errors.append(error)

    gate.stream.on_state_change(listener)
    gate.stream.connect(timeout=10)
    assert isinstance(errors[0], RuntimeError)


def test_with_asyncio(server: Server, proxy: Proxy) -> None:
    async def run() -> None:
        async with AsyncGate(proxy.url, issuer=server.url, auth=SERVICE) as gate:
            info = await gate.stream.request("Platform", "QueryServerInfo")
            assert info["Name"] == "Gatehouse"
            async with gate.stream.subscribe("Ticker", "Price/ACME") as prices:
                await prices.ready()
                await anext(prices)
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(anext(prices), 0.001)
                proxy.cut()
                while prices.resumes == 0:
                    await asyncio.wait_for(anext(prices), 20)
            replies = await asyncio.gather(*(gate.stream.request("Platform", "QueryServerInfo") for _ in range(50)))
            assert len(replies) == 50
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == 1

    with no_threads_left():
        asyncio.run(run())
