"""Licences of market data: what is delayed or left out says so, what is missing is an error, agreements and trials."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import httpx
import pytest

from conftest import ADMIN
from gatehouse_client import AsyncGate, Gate, GatehouseError, Licence, LicenceLabel, LicenceNeeded, Password
from gatehouse_client.errors import problem_error
from gatehouse_client.protocol import message_error
from support import Proxy, Server, eventually, tokens

ALICE = Password("demo-cli", "alice", "wonderland-1")
DELAY = 2
#: On a busy machine.
PATIENCE = 90
TICKS = "select id from py_ticks order by id"
PRODUCTS = [
    {
        "name": "PY.LATE",
        "delay": f"{DELAY} seconds",
        "default": "delayed",
        "covers": [{"table": "py_ticks", "column": "venue", "values": ["A"]}, {"feed": "PyLate"}],
    },
    {
        "name": "PY.PART",
        "covers": [{"table": "py_ticks", "column": "venue", "values": ["B"]}, {"feed": "PyClosed"}],
    },
    {"name": "PY.ASKS", "agreement": "py-terms", "covers": [{"table": "py_signed"}]},
    {"name": "PY.TRIED", "trial": "30 days", "covers": [{"feed": "PyTried"}]},
]
AGREEMENT = {"id": "py-terms", "version": "1", "title": "Terms", "text": {"en": "Read me."}, "asks_status": True}
SCOPES = {"read": "Platform/Market", "write": "Platform/Market"}
ENTITLED = [
    {"product": "PY.LATE", "client": "demo-service", "access": "realtime", "kind": "exempt"},
    {"product": "PY.PART", "client": "demo-service", "access": "realtime", "kind": "exempt"},
    {"product": "PY.ASKS", "user": "alice", "access": "realtime"},
]


def administer(server: Server, method: str, path: str, body: object = None) -> None:
    token = tokens(server, "admin", "admin-please-change")["access_token"]
    headers = {"authorization": f"Bearer {token}"}
    reply = httpx.request(method, f"{server.url}/admin{path}", json=body, headers=headers, timeout=30)
    assert reply.status_code in (201, 204), reply.text


def milliseconds() -> int:
    return int(time.time() * 1000)


def horizon() -> datetime:
    return datetime.now(timezone.utc) - timedelta(seconds=DELAY)


def has_time(late: Gate) -> bool:
    try:
        labels = late.query(TICKS).result().licences
    except GatehouseError as error:
        if error.code != "Licence.NotReady":
            raise
        return False
    return any(label.as_of is not None for label in labels)


@pytest.fixture(scope="module")
def market(server: Server) -> None:
    """Tables and feeds that products cover. A table that is created after its product has delayed readers at once."""
    administer(server, "POST", "/agreements", AGREEMENT)
    for product in PRODUCTS:
        administer(server, "POST", "/products", product)
    for entitlement in ENTITLED:
        administer(server, "POST", "/entitlements", entitlement)
    history = {"messages": 1000}
    administer(server, "POST", "/feeds", {"name": "PyLate", "keep": "all", "history": history, **SCOPES})
    administer(server, "POST", "/feeds", {"name": "PyClosed", **SCOPES})
    with Gate(server.url, auth=ADMIN) as admin:
        for table in ("py_ticks", "py_signed"):
            admin.execute(
                f"create table {table} (id Integer primary key, venue Text not null) "
                "read scope 'Platform/Market' write scope 'Platform/Market'"
            )
    with Gate(server.url, auth=ALICE) as late:
        eventually(lambda: has_time(late), PATIENCE)


@pytest.fixture
def late(server: Server, market: None) -> Iterator[Gate]:
    with Gate(server.url, auth=ALICE) as opened:
        yield opened


def test_results_say_what_is_delayed_and_left_out(late: Gate, gate: Gate) -> None:
    inserted = milliseconds()
    statement = "insert into py_ticks (id, venue) values (:a, 'A'), (:b, 'B')"
    gate.execute(statement, a=inserted, b=inserted + 1)
    page = late.query(TICKS).result()
    delayed, left_out = page.licences
    assert (delayed.product, delayed.table, delayed.access, delayed.delay) == ("PY.LATE", "py_ticks", "delayed", DELAY)
    assert (delayed.column, delayed.values) == ("venue", ("A",))
    assert delayed.as_of is not None
    assert delayed.as_of <= horizon()
    expected = LicenceLabel(product="PY.PART", access="none", table="py_ticks", column="venue", values=("B",))
    assert left_out == expected
    assert late.table("py_ticks").select().licences[1] == expected
    assert late.execute(TICKS).licences[1] == expected

    query = late.query(TICKS)
    assert query.licences == ()
    eventually(lambda: {"id": inserted} in query.rows(), PATIENCE)
    assert milliseconds() - inserted >= DELAY * 1000
    assert [label.access for label in query.licences] == ["delayed", "none"]

    assert {"id": inserted + 1} in gate.query(TICKS).rows()
    assert gate.query(TICKS).result().licences == ()


def test_arrow_has_the_labels_in_its_metadata(late: Gate) -> None:
    pytest.importorskip("pyarrow")
    labels = json.loads(late.query(TICKS).to_arrow().schema.metadata[b"licence"])
    assert [label["Access"] for label in labels] == ["delayed", "none"]


def test_live_queries_say_as_of_when(late: Gate, gate: Gate) -> None:
    with late.live("select id from py_ticks where id > :least", least=milliseconds()) as live:
        assert live.next(timeout=PATIENCE).snapshot
        assert [label.product for label in live.licences] == ["PY.LATE", "PY.PART"]
        first = live.as_of
        assert first is not None
        assert first <= horizon()
        time.sleep(0.01)
        inserted = milliseconds()
        gate.execute("insert into py_ticks (id, venue) values (:id, 'A')", id=inserted)
        assert live.next(timeout=PATIENCE).put == [{"id": inserted}]
        assert milliseconds() - inserted >= DELAY * 1000
        assert live.as_of is not None
        assert first < live.as_of <= horizon()
    with gate.live(TICKS) as live:
        live.next(timeout=PATIENCE)
        assert (live.licences, live.as_of) == ((), None)


def test_feeds_have_their_delay(late: Gate, gate: Gate, server: Server) -> None:
    published = gate.feed("PyLate")
    with late.feed("PyLate").subscribe("A") as prices, late.feed("PyLate").subscribe("*") as every:
        prices.ready(timeout=PATIENCE)
        every.ready(timeout=PATIENCE)
        changes: list[float | None] = []
        prices.on("licence", lambda: changes.append(prices.delay))
        sent = milliseconds()
        published.publish("A", sent)
        message = prices.next(timeout=PATIENCE)
        assert milliseconds() - sent >= DELAY * 1000
        assert (message.data, message.delay, prices.delay) == (sent, DELAY, DELAY)
        assert every.next(timeout=PATIENCE).delay == DELAY
        assert every.licences == (LicenceLabel(product="PY.LATE", access="delayed", delay=DELAY, feed="PyLate"),)
        kept = late.feed("PyLate").last("A", 1)
        assert [(each.data, each.delay) for each in kept] == [(sent, DELAY)]
        now = published.latest("A")
        assert now is not None
        assert now.delay is None
        assert changes == []

        def delay_of_the_next() -> float | None:
            published.publish("A", milliseconds())
            return prices.next(timeout=PATIENCE).delay

        administer(server, "POST", "/entitlements", {"product": "PY.LATE", "user": "alice", "access": "realtime"})
        eventually(lambda: delay_of_the_next() is None, PATIENCE)
        assert (prices.delay, changes) == (None, [None])
        administer(server, "DELETE", "/entitlements/PY.LATE:user:alice")
        eventually(lambda: delay_of_the_next() == DELAY, PATIENCE)
        assert (prices.delay, changes) == (DELAY, [None, DELAY])


def test_each_connection_says_what_is_delayed(server: Server, proxy: Proxy, gate: Gate, market: None) -> None:
    published = gate.feed("PyLate")
    with (
        Gate(proxy.url, issuer=server.url, auth=ALICE) as alice,
        alice.feed("PyLate").subscribe("B/*") as prices,
    ):
        changes: list[object] = []
        prices.on("licence", lambda: changes.append(prices.licences))

        def next_of() -> float | None:
            published.publish("B/1", milliseconds())
            return prices.next(timeout=PATIENCE).delay

        prices.ready(timeout=PATIENCE)
        assert next_of() == DELAY
        before = prices.licences
        assert [label.delay for label in before] == [DELAY]
        # The same as before is no news, also where nothing was missed.
        assert proxy.cut() > 0
        assert next_of() == DELAY
        assert (prices.licences, changes) == (before, [])
        # Nothing is said where all is real-time.
        assert proxy.cut() > 0
        administer(server, "POST", "/entitlements", {"product": "PY.LATE", "user": "alice", "access": "realtime"})
        try:
            eventually(lambda: next_of() is None, PATIENCE)
            assert (prices.delay, prices.licences, changes) == (None, (), [()])
        finally:
            administer(server, "DELETE", "/entitlements/PY.LATE:user:alice")


def what_is_needed(error: LicenceNeeded) -> tuple[str, tuple[str, ...], str | None]:
    return error.code, error.products, error.reason


def test_a_missing_licence_is_an_error_of_its_own(late: Gate) -> None:
    with pytest.raises(LicenceNeeded) as refused:
        late.feed("PyClosed").subscribe("A").ready(timeout=PATIENCE)
    assert what_is_needed(refused.value) == ("Licence.Needed", ("PY.PART",), "none")
    with pytest.raises(LicenceNeeded) as refused:
        late.stream.subscribe("PyClosed", "A").ready(timeout=PATIENCE)
    assert what_is_needed(refused.value) == ("Licence.Needed", ("PY.PART",), "none")
    with pytest.raises(LicenceNeeded) as refused:
        late.query("select id from py_signed").rows()
    assert what_is_needed(refused.value) == ("Licence.Needed", ("PY.ASKS",), "agreement")

    ended = message_error({"Action": "Error", "Data": "Authority licence=A,B reason=displaced"}, "/docs")
    assert isinstance(ended, LicenceNeeded)
    assert (ended.code, ended.products, ended.retryable) == ("Licence.Displaced", ("A", "B"), False)
    unready = message_error({"Action": "Error", "Data": "Authority licence=A reason=not_ready"}, "/docs")
    assert (unready.code, unready.retryable) == ("Licence.NotReady", True)
    full = problem_error({"Code": "Licence.Places", "detail": "…", "Products": ["A"], "Limit": 1}, status=403)
    assert isinstance(full, LicenceNeeded)
    assert (full.products, full.reason, full.details["Limit"]) == (("A",), None, 1)


def test_agreements_and_trials(late: Gate) -> None:
    def find(product: str) -> Licence:
        return next(licence for licence in late.licences.list() if licence.product == product)

    delayed = find("PY.LATE")
    assert (delayed.access, delayed.reason, delayed.delay, delayed.agreement) == ("delayed", "default", DELAY, None)
    asks = find("PY.ASKS")
    assert (asks.access, asks.reason) == ("none", "agreement")
    assert asks.agreement is not None
    assert (asks.agreement.id, asks.agreement.asks_status, asks.agreement.accepted) == ("py-terms", True, False)
    terms = late.licences.agreement(asks.agreement.id)
    assert (terms.title, terms.language, terms.text) == ("Terms", "en", "Read me.")
    with pytest.raises(GatehouseError) as refused:
        late.licences.accept(terms.id, terms.version)
    assert refused.value.status == 422
    late.licences.accept(terms.id, terms.version, professional=False)
    asks = find("PY.ASKS")
    assert asks.agreement is not None
    assert (asks.access, asks.agreement.accepted) == ("realtime", True)
    assert late.query("select id from py_signed").rows() == []

    trial = find("PY.TRIED").trial
    assert trial is not None
    assert (trial.days, trial.since) == (30, None)
    late.licences.begin_trial("PY.TRIED")
    tried = find("PY.TRIED")
    assert (tried.access, tried.reason) == ("realtime", "trial")
    assert tried.trial is not None
    assert tried.trial.until == tried.until
    with pytest.raises(GatehouseError) as refused:
        late.licences.begin_trial("PY.TRIED")
    assert refused.value.code == "licence.no_trial"


def test_with_asyncio(server: Server, market: None) -> None:
    async def run() -> None:
        async with AsyncGate(server.url, auth=ALICE) as gate:
            assert "PY.LATE" in [licence.product for licence in await gate.licences.list()]
            query = gate.query(TICKS)
            await query
            assert [label.product for label in query.licences] == ["PY.LATE", "PY.PART"]
            async with gate.live(TICKS) as live:
                await anext(live)
                assert live.as_of is not None

    asyncio.run(asyncio.wait_for(run(), PATIENCE))
