"""Licensed market data: the demonstration shows its market to dinah half a minute late."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest

from gatehouse_client import Gate, GatehouseError, LicenceNeeded, Password
from gatehouse_client.errors import problem_error
from gatehouse_client.protocol import message_error
from support import Server

DELAY = 30
#: Of a busy machine.
PATIENCE = 180


@pytest.fixture
def late(server: Server) -> Iterator[Gate]:
    with Gate(server.url, auth=Password("demo-cli", "dinah", "looking-glass-1")) as gate:
        # Rows are copied when the server starts, and shown when the copy is old enough.
        end = time.monotonic() + PATIENCE
        while True:
            try:
                if gate.query("select symbol from quotes limit 1").rows():
                    break
            except GatehouseError as error:
                assert error.code == "Licence.NotReady"
            assert time.monotonic() < end
            time.sleep(0.5)
        yield gate


def test_results_and_live_queries_say_what_is_delayed(late: Gate, gate: Gate) -> None:
    page = late.query("select max(quoted_at) as newest from quotes").result()
    (label,) = page.licences
    assert (label.product, label.table, label.access, label.delay) == ("DEMO.L1", "quotes", "delayed", DELAY)
    horizon = datetime.now(timezone.utc) - timedelta(seconds=DELAY)
    assert label.as_of is not None
    assert label.as_of <= horizon
    assert page.rows[0]["newest"] <= horizon
    query = late.query("select symbol from quotes limit 1")
    assert query.rows()
    assert [each.delay for each in query.licences] == [DELAY]
    with late.live("select count(*) as n from quotes") as live:
        live.next(timeout=PATIENCE)
        assert [each.access for each in live.licences] == ["delayed"]
        assert live.as_of is not None
        assert live.as_of <= datetime.now(timezone.utc) - timedelta(seconds=DELAY)
    assert gate.query("select max(quoted_at) as newest from quotes").result().licences == ()


def test_feeds_have_their_delay(late: Gate, gate: Gate) -> None:
    with late.feed("Ticker").subscribe("Price/ACME") as prices:
        message = prices.next(timeout=PATIENCE)
        assert (message.delay, prices.delay) == (DELAY, DELAY)
    with late.feed("Ticker").subscribe("Price/*") as prices:
        prices.ready(timeout=PATIENCE)
        assert [(label.feed, label.delay) for label in prices.licences] == [("Ticker", DELAY)]
    with gate.feed("Ticker").subscribe("Price/ACME") as prices:
        assert prices.next(timeout=PATIENCE).delay is None
        assert prices.delay is None


def test_what_the_caller_has(late: Gate) -> None:
    (licence,) = late.licences()
    assert (licence.product, licence.access, licence.reason, licence.delay) == ("DEMO.L1", "delayed", "role", DELAY)


def test_a_missing_licence_is_an_error_of_its_own() -> None:
    document = {"Code": "Licence.Needed", "detail": "…", "Products": ["A", "B"], "Reason": "agreement"}
    refused = problem_error(document, status=403)
    assert isinstance(refused, LicenceNeeded)
    assert (refused.products, refused.reason) == (("A", "B"), "agreement")
    ended = message_error({"Action": "Error", "Data": "Authority licence=A reason=displaced"}, "/docs")
    assert isinstance(ended, LicenceNeeded)
    assert (ended.code, ended.products, ended.retryable) == ("Licence.Displaced", ("A",), False)
