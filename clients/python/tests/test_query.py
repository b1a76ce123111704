"""Queries: exact values in every form, bounded memory, writes, and errors that say what to do."""

from __future__ import annotations

import asyncio
import time
import uuid
from datetime import date, datetime, timedelta, timezone
from datetime import time as clock
from decimal import Decimal

import httpx
import pytest

from conftest import ADMIN, SERVICE
from gatehouse_client import (
    AsyncGate,
    AuthError,
    ClientSecret,
    Gate,
    GatehouseConnectionError,
    QueryError,
    Row,
    StepUpNeeded,
    UploadProgress,
)
from support import Proxy, Server, no_threads_left

EXACT: Row = {
    "id": 9007199254740993,
    "t": 'naïve "text"\n☃',
    "d": Decimal("-1234567890123456789012345678.0123456789"),
    "f": 0.1,
    "b": True,
    "ts": datetime(2026, 1, 2, 3, 4, 5, 123456, tzinfo=timezone.utc),
    "da": date(2026, 1, 2),
    "ti": clock(3, 4, 5, 120000),
    "u": uuid.UUID("0b2f5f7e-1111-4222-8333-123456789abc"),
    "j": {"a": [1, 1.5, "x", None]},
    "bi": b"\x00\x01\xff",
}
TABLE = """create table exact (id Integer primary key, t Text, d Decimal(38, 10), f Double, b Boolean, ts Timestamp,
  da Date, ti Time, u Uuid, j Json, bi Binary)"""


@pytest.fixture
def exact(server: Server) -> object:
    with Gate(server.url, auth=ADMIN) as gate:
        gate.execute(TABLE)
        gate.table("exact").insert([EXACT, {"id": 2}])
        yield gate
        gate.execute("drop table exact")


def test_rows_have_exact_values_of_every_type(exact: Gate) -> None:
    nothing = {**dict.fromkeys(EXACT), "id": 2}
    assert exact.query("select * from exact order by id desc").rows() == [EXACT, nothing]
    assert list(exact.query("select * from exact order by id desc")) == [EXACT, nothing]
    assert exact.query("select * from exact order by id desc").first() == EXACT
    assert exact.query("select * from exact order by id desc").result().rows == [EXACT, nothing]
    assert exact.table("exact").select(order_by="-id").rows == [EXACT, nothing]
    columns = exact.query("select d, id from exact").result().columns
    assert [(column.name, column.type, column.nullable) for column in columns] == [
        ("d", "Decimal(38, 10)", True),
        ("id", "Integer", False),
    ]


def test_parameters_keep_their_values(exact: Gate) -> None:
    for name, value in EXACT.items():
        if name != "j":
            found = exact.query(f"select id from exact where {name} = :value", value=value).rows()
            assert found == [{"id": EXACT["id"]}], name
    statement = "select id from exact where d = $1 and id = $2"
    assert exact.query(statement, [EXACT["d"], EXACT["id"]]).rows() == [{"id": EXACT["id"]}]
    # A name that Python does not allow as an argument.
    assert exact.query("select id from exact where t = :from", {"from": EXACT["t"]}).rows() == [{"id": EXACT["id"]}]
    paris = timezone(timedelta(hours=1))
    assert len(exact.query("select id from exact where ts = :ts", ts=EXACT["ts"].astimezone(paris)).rows()) == 1


def test_values_that_would_be_ambiguous_are_refused(gate: Gate) -> None:
    with pytest.raises(ValueError, match="no time zone"):
        gate.query("select 1 as one where :at > now()", at=datetime(2026, 1, 1))
    with pytest.raises(TypeError, match="cannot be sent"):
        gate.query("select :x as x", x=object())
    with pytest.raises(TypeError, match="in a list or a mapping"):
        gate.query("select $1 as x", "ACME")
    with pytest.raises(TypeError, match="not both"):
        gate.query("select $1 as x", ["ACME"], y=1)


def test_arrow_has_exact_types(exact: Gate) -> None:
    pa = pytest.importorskip("pyarrow")
    table = exact.query("select * from exact order by id desc").to_arrow()
    types = {field.name: str(field.type) for field in table.schema}
    assert types["d"] == "decimal128(38, 10)"
    assert types["ts"] == "timestamp[us, tz=UTC]"
    assert types["id"] == "int64"
    assert table["d"].to_pylist() == [EXACT["d"], None]
    assert table["ts"].to_pylist() == [EXACT["ts"], None]
    assert exact.query("select * from exact where id < 0").to_arrow().num_rows == 0
    with pa.ipc.open_stream(exact.query("select id from exact").arrow_bytes()) as reader:
        assert reader.read_all().num_rows == 2


def test_pandas_has_exact_values(exact: Gate) -> None:
    frame = exact.query("select * from exact order by id desc").to_pandas()
    assert str(frame["d"].dtype) == "decimal128(38, 10)[pyarrow]"
    assert str(frame["id"].dtype) == "int64[pyarrow]"
    assert frame["d"][0] == EXACT["d"]
    assert frame["id"][0] == EXACT["id"]
    assert frame["ts"][0].to_pydatetime() == EXACT["ts"]
    (row,) = exact.query("select id from exact where id = :id", id=frame["id"].max()).rows()
    assert row["id"] == EXACT["id"]
    assert exact.query("select d from exact").to_pandas(types_mapper=None)["d"].dtype == object


def test_polars_has_exact_values(exact: Gate) -> None:
    pl = pytest.importorskip("polars")
    frame = exact.query("select * from exact order by id desc").to_polars()
    assert frame.schema["d"] == pl.Decimal(38, 10)
    assert frame.schema["ts"] == pl.Datetime("us", "UTC")
    assert frame["d"].to_list() == [EXACT["d"], None]
    assert frame["id"].to_list() == [EXACT["id"], 2]


def test_the_sum_of_a_frame_is_the_sum_of_the_server(gate: Gate) -> None:
    frame = gate.query("select id, price, quantity from trades").to_pandas()
    statement = "select sum(price * quantity) as turnover from trades where id <= :last"
    row = gate.query(statement, last=frame["id"].max()).first()
    assert row is not None
    assert (frame["price"] * frame["quantity"]).sum() == row["turnover"]


BIG = "select a.id as id, b.price as price from trades a cross join trades b where a.id <= 200"


def test_rows_and_batches_arrive_in_pieces(gate: Gate) -> None:
    sizes = [batch.num_rows for batch in gate.query(BIG).batches()]
    assert sum(sizes) > 500_000
    assert max(sizes) < sum(sizes) / 10
    rows = iter(gate.query(BIG))
    assert next(rows)["id"] > 0
    assert sum(1 for _ in rows) > 500_000


def test_leaving_a_loop_ends_the_query(server: Server, gate: Gate) -> None:
    for loop in (iter(gate.query(BIG)), gate.query(BIG).batches()):
        next(loop)
        loop.close()  # type: ignore[attr-defined]
    for _ in gate.query(BIG):
        break
    for _ in gate.query(BIG).batches():
        break
    # The queries of a user are limited: others would wait for them.
    started = time.monotonic()
    gate.query("select count(*) as n from trades").rows()
    assert time.monotonic() - started < 5


def test_async_forms(server: Server, exact: Gate) -> None:
    async def run() -> None:
        async with AsyncGate(server.url, auth=ADMIN) as gate:
            statement = "select * from exact where id = :id"
            assert await gate.query(statement, id=EXACT["id"]) == [EXACT]
            assert [row async for row in gate.query(statement, id=EXACT["id"])] == [EXACT]
            assert await gate.query(statement, id=EXACT["id"]).first() == EXACT
            assert (await gate.query(statement, id=EXACT["id"]).to_pandas())["d"][0] == EXACT["d"]
            assert (await gate.query(statement, id=EXACT["id"]).to_polars())["d"][0] == EXACT["d"]
            assert (await gate.query(statement, id=EXACT["id"]).to_arrow())["d"].to_pylist() == [EXACT["d"]]
            assert sum([batch.num_rows async for batch in gate.query(statement, id=EXACT["id"]).batches()]) == 1
            async for batch in gate.query(BIG).batches():
                assert batch.num_rows > 0
                break
            async for row in gate.query(BIG):
                assert row["id"] > 0
                break
            # A cancelled query ends, and the gate goes on.
            began = asyncio.Event()

            async def read() -> None:
                async for _ in gate.query(BIG):
                    began.set()

            task = asyncio.create_task(read())
            await began.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            many = await asyncio.gather(*(gate.query("select 1 as one").rows() for _ in range(10)))
            assert many == [[{"one": 1}]] * 10

    with no_threads_left():
        asyncio.run(run())


def test_pages_csv_and_explain(gate: Gate) -> None:
    # The market goes on: only trades that stay as they are.
    pages = gate.query(
        "select a.id as a, b.id as b from trades a cross join trades b where a.id <= 30 and b.id <= 3500 order by a, b"
    )
    first = pages.result()
    assert (len(first.rows), first.truncated) == (100_000, True)
    second = pages.result(after=first.next)
    assert second.next is None
    last = first.rows[-1]
    assert second.rows[0] == {"a": last["a"], "b": last["b"] + 1}
    select = gate.table("trades").select(order_by="id", limit=2)
    assert [row["id"] for row in select.rows] == [1, 2]
    select = gate.table("trades").select(order_by="id", limit=2, after=select.next)
    assert [row["id"] for row in select.rows] == [3, 4]
    assert gate.query("select id, symbol from trades where id < 0").first() is None
    assert gate.query("select id from trades where id = 1").to_csv().split() == ["id", "1"]
    assert pages.explain() != []
    assert len(list(gate.table("instruments").rows(limit=10))) > 20


def test_tables_are_written(server: Server, prices: str) -> None:
    with Gate(server.url, auth=ADMIN) as gate:
        table = gate.table(prices)
        row = {"symbol": "ACME", "price": Decimal("1.10"), "size": 5}
        assert table.insert(row, idempotency_key="one").rows_affected == 1
        # A repetition by the program changes nothing.
        assert table.insert(row, idempotency_key="one").rows_affected == 1
        with pytest.raises(QueryError) as refused:
            table.insert(row)
        assert refused.value.code == "Data.UniqueViolation"
        assert refused.value.status == 409
        assert table.update({"symbol": "ACME"}, {"price": Decimal("1.20")}).rows_affected == 1
        assert table.select({"price": {">=": Decimal("1.20")}}, columns=["price"]).rows == [{"price": Decimal("1.20")}]
        assert table.select({"symbol": ["BOLT", "CORN"]}).rows == []
        assert table.select([{"Or": [{"ColumnName": "size", "Operator": "=", "Value": 5}]}]).rows[0]["symbol"] == "ACME"
        assert table.delete({"symbol": "ACME"}).rows_affected == 1
        seen: list[UploadProgress] = []
        many = ({"symbol": f"S{number}", "price": number} for number in range(2500))
        assert table.upload(many, on_progress=seen.append) == UploadProgress(2500, 3)
        assert [progress.rows for progress in seen] == [1000, 2000, 2500]
        result = gate.execute("update prices set size = :size where symbol = 'S1' returning symbol, size", size=7)
        assert result.rows == [{"symbol": "S1", "size": 7}]
        with pytest.raises(QueryError):
            table.delete({})


def test_a_statement_that_writes_is_not_a_query(gate: Gate) -> None:
    with pytest.raises(ValueError, match=r"execute\(\)"):
        gate.query("-- a comment\n/* another */ delete from trades where id = 1")


def test_errors_say_what_is_wrong_and_where(server: Server, gate: Gate) -> None:
    with pytest.raises(QueryError) as refused:
        gate.query("select symbol,\n  pric from trades").rows()
    error = refused.value
    assert error.code == "IQL.UnknownColumn"
    assert error.message == "There is no column pric"
    assert error.hint == "did you mean price?"
    assert error.status == 400
    assert error.request_id
    assert error.position is not None
    assert (error.position.line, error.position.column) == (2, 3)
    assert error.caret == "2 |   pric from trades\n      ^"
    assert str(error) == f"IQL.UnknownColumn: There is no column pric (did you mean price?)\n{error.caret}"
    assert error.docs_url is not None
    assert "IQL.UnknownColumn" in httpx.get(error.docs_url).text
    with pytest.raises(QueryError) as late:
        list(gate.query("select 10 / (3000 - id) as x from trades order by id"))
    assert late.value.code == "IQL.DivisionByZero"


def test_a_missing_right_is_named(server: Server) -> None:
    auth = ClientSecret("demo-service", "demo-service-secret", scope="Platform/Market")
    with Gate(server.url, auth=auth) as gate, pytest.raises(QueryError, match="Platform/Admin") as refused:
        gate.table("instruments").delete({"symbol": "ACME"})
    assert (refused.value.code, refused.value.status) == ("IQL.Forbidden", 403)
    auth = ClientSecret("demo-service", "demo-service-secret", scope="Identity/Admin")
    with Gate(server.url, auth=auth) as gate, pytest.raises(AuthError):
        gate.query("select symbol from trades").rows()


def test_a_server_that_is_away_is_a_connection_error() -> None:
    with Gate("http://localhost:9", auth=SERVICE, attempts=2) as gate, pytest.raises(GatehouseConnectionError) as lost:
        gate.query("select 1 as one").rows()
    assert lost.value.code == "client.offline"
    assert lost.value.retryable
    with pytest.raises(ValueError, match="Not http"):
        Gate("localhost:5080")


def test_a_read_is_repeated_after_a_lost_connection(server: Server, proxy: Proxy) -> None:
    with Gate(proxy.url, issuer=server.url, auth=SERVICE) as gate:
        for _ in range(5):
            assert gate.query("select 1 as one").rows() == [{"one": 1}]
            proxy.cut()


def test_a_result_that_breaks_off_is_an_error(server: Server, proxy: Proxy) -> None:
    with Gate(proxy.url, issuer=server.url, auth=SERVICE) as gate:
        batches = gate.query(BIG).batches()
        next(batches)
        proxy.cut()
        with pytest.raises(GatehouseConnectionError, match="broke off"):
            list(batches)
        rows = iter(gate.query(BIG))
        next(rows)
        proxy.cut()
        with pytest.raises(GatehouseConnectionError, match="broke off"):
            list(rows)


def test_a_sign_in_that_is_too_weak_says_what_is_needed(server: Server) -> None:
    with Gate(server.url, auth=ADMIN) as gate:
        gate.execute("create table guarded (id Integer primary key) require (acr = 2, age = 300)")
        with pytest.raises(StepUpNeeded) as refused:
            gate.query("select id from guarded").rows()
    assert (refused.value.code, refused.value.acr_values, refused.value.max_age) == ("Auth.StepUp", "2", 300)
