"""Live queries: exact states, over restarts, cut connections, ended tokens and revocation; with and without asyncio."""

from __future__ import annotations

import asyncio
import threading
import time
from decimal import Decimal

import pytest

from conftest import ADMIN, SERVICE
from gatehouse_client import AsyncGate, AuthError, ClientSecret, Gate, Live, Password, QueryError, Token
from support import Proxy, Server, no_threads_left, revoke, tokens

ORDERED = "select symbol, price from prices where size > :least order by price desc"


def put(gate: Gate, symbol: str, price: str, size: int = 10) -> None:
    gate.execute(
        "insert into prices (symbol, price, size) values (:symbol, :price, :size) "
        "on conflict (symbol) do update set price = :price, size = :size",
        symbol=symbol,
        price=Decimal(price),
        size=size,
    )


def until(live: Live, expected: list[dict[str, object]], seconds: float = 20.0) -> list[object]:
    """Reads changes until the result is as expected, and returns them."""
    changes: list[object] = []
    end = time.monotonic() + seconds
    while live.rows != expected or not changes:
        changes.append(live.next(timeout=max(0.1, end - time.monotonic())))
    return changes


def row(symbol: str, price: str) -> dict[str, object]:
    return {"symbol": symbol, "price": Decimal(price)}


def test_the_result_follows_the_table_in_order_and_exactly(server: Server, prices: str) -> None:
    with Gate(server.url, auth=ADMIN) as gate, gate.live(ORDERED, least=5) as live:
        first = live.next(timeout=10)
        assert (first.put, first.snapshot, first.recovered) == ([], True, None)
        put(gate, "ACME", "1.0000000001")
        change = live.next(timeout=10)
        assert change.put == [row("ACME", "1.0000000001")]
        assert not change.snapshot
        put(gate, "BOLT", "12345678901234567890.0000000001")
        put(gate, "CORN", "2")
        until(live, [row("BOLT", "12345678901234567890.0000000001"), row("CORN", "2"), row("ACME", "1.0000000001")])
        put(gate, "ACME", "3")
        change = live.next(timeout=10)
        assert [(each.before["price"], each.after["price"]) for each in change.replaced] == [
            (Decimal("1.0000000001"), Decimal("3"))
        ]
        assert [each["symbol"] for each in live.rows] == ["BOLT", "ACME", "CORN"]
        gate.table(prices).delete({"symbol": "BOLT"})
        change = live.next(timeout=10)
        assert [each["symbol"] for each in change.remove] == ["BOLT"]
        assert [column.name for column in live.columns] == ["symbol", "price"]
        assert live.method == "rerun"


def test_states_are_the_whole_result(server: Server, prices: str) -> None:
    with Gate(server.url, auth=ADMIN) as gate, gate.live("select symbol from prices", max_rate=50) as live:
        states = live.states()
        assert next(states) == []
        put(gate, "ACME", "1")
        assert next(states) == [{"symbol": "ACME"}]


def test_a_large_result_comes_in_pieces(server: Server, prices: str) -> None:
    with Gate(server.url, auth=ADMIN) as gate:
        gate.table(prices).upload({"symbol": f"{number:0>50}", "price": number, "size": 9} for number in range(20_000))
        with gate.live("select * from prices") as live:
            assert len(live.next(timeout=20).put) == 20_000
            gate.execute("update prices set size = 10 all")
            changed = 0
            while changed < 20_000:
                changed += len(live.next(timeout=20).put)
            assert len(live.rows) == 20_000
            assert {each["size"] for each in live.rows} == {10}


def test_it_resumes_after_a_cut_connection(server: Server, proxy: Proxy, prices: str) -> None:
    with (
        Gate(server.url, auth=ADMIN) as writer,
        Gate(proxy.url, issuer=server.url, auth=SERVICE) as gate,
        gate.live("select symbol, price from prices") as live,
    ):
        live.next(timeout=10)
        for round_ in range(5):
            assert proxy.cut() > 0
            put(writer, f"S{round_}", "1.5")
            change = live.next(timeout=20)
            # What was missed was sent, not the whole result again.
            assert (change.recovered, change.snapshot) == (True, False)
            if not change.put:
                change = live.next(timeout=20)
            assert change.put == [row(f"S{round_}", "1.5")]
        assert len(live.rows) == 5


def test_it_resumes_after_a_restart_of_the_server(own_server: Server) -> None:
    with Gate(own_server.url, auth=ADMIN) as gate:
        gate.execute("create table prices (symbol Text primary key, price Decimal(38, 10) not null, size Integer)")
        put(gate, "ACME", "1")
        with gate.live("select symbol, price from prices") as live:
            live.next(timeout=10)
            own_server.restart()
            put(gate, "BOLT", "2")
            changes = until(live, [row("ACME", "1"), row("BOLT", "2")])
            assert not any(change.snapshot for change in changes)  # type: ignore[attr-defined]
            assert any(change.recovered for change in changes)  # type: ignore[attr-defined]


def test_waiting_in_vain_loses_nothing(server: Server, proxy: Proxy, prices: str) -> None:
    with (
        Gate(server.url, auth=ADMIN) as writer,
        Gate(proxy.url, issuer=server.url, auth=SERVICE) as gate,
        gate.live("select symbol, price from prices") as live,
    ):
        live.next(timeout=10)
        before = proxy.connections
        for _ in range(3):
            with pytest.raises(TimeoutError):
                live.next(timeout=0.2)
        put(writer, "ACME", "1")
        assert live.next(timeout=10).put == [row("ACME", "1")]
        assert proxy.connections == before


def test_a_revoked_token_is_replaced_and_the_result_goes_on(server: Server, prices: str) -> None:
    auth = Password("demo-cli", "alice", "wonderland-1")
    with (
        Gate(server.url, auth=ADMIN) as writer,
        Gate(server.url, auth=auth) as gate,
        gate.live("select symbol, price from prices") as live,
    ):
        live.next(timeout=10)
        revoke(server, gate.token())
        put(writer, "ACME", "1")
        changes = until(live, [row("ACME", "1")])
        assert not any(change.snapshot for change in changes)  # type: ignore[attr-defined]


def test_without_another_token_revocation_ends_it_within_a_second(server: Server) -> None:
    token = tokens(server)["access_token"]
    with Gate(server.url, auth=Token(token)) as gate, gate.live("select count(*) as n from instruments") as live:
        live.next(timeout=10)
        threading.Timer(0.2, revoke, (server, token)).start()
        started = time.monotonic()
        with pytest.raises(AuthError, match="expired or was revoked"):
            live.next(timeout=10)
        assert time.monotonic() - started < 1.5
        # It stays ended.
        with pytest.raises(AuthError):
            live.next(timeout=10)


def test_a_refused_statement_is_an_error_with_its_position(gate: Gate) -> None:
    with pytest.raises(QueryError) as refused:
        gate.live("select pric from trades").next(timeout=10)
    assert refused.value.code == "IQL.UnknownColumn"
    assert refused.value.caret is not None
    with pytest.raises(QueryError, match="ORDER BY"):
        gate.live("select price from trades limit 3").next(timeout=10)


def test_a_dropped_table_ends_it(server: Server) -> None:
    with Gate(server.url, auth=ADMIN) as gate:
        gate.execute("create table brief (id Integer primary key)")
        with gate.live("select * from brief") as live:
            live.next(timeout=10)
            gate.execute("drop table brief")
            with pytest.raises(QueryError):
                until(live, [{"id": 1}], 10)


def test_a_wrong_secret_ends_it(server: Server) -> None:
    with Gate(server.url, auth=ClientSecret("demo-service", "wrong")) as gate, pytest.raises(AuthError):
        gate.live("select count(*) as n from trades").next(timeout=10)


def test_closing_ends_the_loop_of_another_thread(gate: Gate) -> None:
    live = gate.live("select count(*) as n from instruments")
    live.next(timeout=10)
    seen: list[str] = []

    def follow() -> None:
        for _ in live:
            seen.append("change")
        seen.append("end")

    thread = threading.Thread(target=follow)
    thread.start()
    time.sleep(0.2)
    live.close()
    thread.join(10)
    assert seen == ["end"]


def test_with_asyncio_over_cuts_and_cancellation(server: Server, proxy: Proxy, prices: str) -> None:
    async def run() -> None:
        async with (
            AsyncGate(server.url, auth=ADMIN) as writer,
            AsyncGate(proxy.url, issuer=server.url, auth=SERVICE) as gate,
            gate.live("select symbol from prices order by symbol") as live,
        ):
            assert (await anext(live)).snapshot
            for number in range(3):
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(anext(live), 0.1)
                proxy.cut()
                await writer.table(prices).insert({"symbol": f"S{number}", "price": 1})
                while len(live.rows) <= number:
                    change = await asyncio.wait_for(anext(live), 20)
                    assert not change.snapshot
            assert live.rows == [{"symbol": "S0"}, {"symbol": "S1"}, {"symbol": "S2"}]
            async for rows in gate.live("select count(*) as n from prices").states():
                assert rows == [{"n": 3}]
                break
        await asyncio.sleep(0.2)
        assert len(asyncio.all_tasks()) == 1

    with no_threads_left():
        asyncio.run(run())
