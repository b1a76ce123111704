"""psycopg 3: both formats, server-side parameters, portals, pipelines, COPY, cancel, metadata of the connection."""
import threading
import time

import psycopg
from psycopg.rows import dict_row
from values import LOCAL_VALUES, VALUES, done, same

with psycopg.connect("", autocommit=True) as connection:
    assert connection.info.dbname == "gatehouse"
    assert connection.info.parameter_status("TimeZone") == "UTC"
    for binary in (False, True):
        for kind, value in VALUES + LOCAL_VALUES:
            row = connection.execute(f"SELECT %s::{kind} AS value", [value], binary=binary).fetchone()
            same(row[0], value, f"{kind}, binary {binary}")
            assert connection.execute(f"SELECT %s::{kind} AS value", [None], binary=binary).fetchone()[0] is None
    cursor = connection.execute("SELECT * FROM trades ORDER BY id LIMIT 3")
    assert [column.name for column in cursor.description][:3] == ["id", "symbol", "side"]
    assert [(column.type_code, column.precision, column.scale) for column in cursor.description][4] == (1700, 18, 4)
    rows = connection.execute("SELECT symbol, price FROM trades WHERE symbol = %s AND quantity > %s", ["ACME", 10])
    assert rows.rowcount == len(rows.fetchall()) > 0
    assert connection.execute("SELECT count(*) FROM trades WHERE symbol = ANY(%s)", [["ACME", "BOLT"]]).fetchone()[0] > 0
    assert connection.execute("SELECT count(*) FROM trades WHERE id = ANY(%s)", [[1, 2, 3]]).fetchone()[0] == 3
    with connection.cursor(row_factory=dict_row) as cursor:
        for _ in range(8):  # The sixth run prepares the statement under a name.
            cursor.execute("SELECT id, executed_at FROM trades WHERE id = %s", [1])
            assert cursor.fetchone()["id"] == 1
    with connection.cursor() as cursor:
        assert len(list(cursor.stream("SELECT id FROM trades ORDER BY id LIMIT %s", [500]))) == 500
    with connection.cursor().copy("COPY (SELECT id, symbol, price FROM trades ORDER BY id LIMIT 5) TO STDOUT") as copy:
        assert len(list(copy.rows())) == 5
    with connection.cursor().copy("COPY (SELECT id FROM trades ORDER BY id LIMIT 5) TO STDOUT (FORMAT BINARY)") as copy:
        copy.set_types(["int8"])
        assert list(copy.rows()) == [(number,) for number in range(1, 6)]
    with connection.pipeline():
        cursors = [connection.execute("SELECT %s::int8", [number]) for number in range(20)]
    assert [cursor.fetchone()[0] for cursor in cursors] == list(range(20))
    try:
        connection.execute("SELECT nothing FROM trades")
        raise AssertionError("an unknown column was accepted")
    except psycopg.errors.UndefinedColumn:
        pass

with psycopg.connect("") as connection:  # Cursors on the server, by DECLARE and FETCH.
    for binary in (False, True):
        with connection.cursor(name="part", binary=binary) as cursor:
            cursor.execute("SELECT id, price FROM trades ORDER BY id")
            assert cursor.description[0].name == "id"
            assert [row[0] for row in cursor.fetchmany(3)] == [1, 2, 3]
            if not binary:
                cursor.scroll(10)
                assert cursor.fetchone()[0] == 14
        with connection.cursor(name="other", binary=binary) as cursor:
            cursor.itersize = 700
            cursor.execute("SELECT id FROM trades WHERE id > %s ORDER BY id", [0])
            assert [row[0] for row in cursor] == list(range(1, 4001))
    with connection.cursor(name="held", withhold=True) as cursor:
        cursor.execute("SELECT id FROM trades ORDER BY id")
        assert cursor.fetchone()[0] == 1
        connection.commit()
        assert [row[0] for row in cursor] == list(range(2, 4001))
    connection.execute("PREPARE by_id (int8) AS SELECT symbol FROM trades WHERE id = $1")
    assert connection.execute("EXECUTE by_id(5)").fetchone() is not None
    connection.execute("DEALLOCATE by_id")

with psycopg.connect("") as connection:  # A transaction block.
    with connection.transaction():
        connection.execute("SELECT count(*) FROM instruments")
        try:
            with connection.transaction():
                connection.execute("SELECT 1/0")
        except psycopg.errors.DivisionByZero:
            pass
        assert connection.execute("SELECT 1").fetchone() == (1,)

with psycopg.connect("", autocommit=True) as connection:
    threading.Timer(0.5, connection.cancel_safe).start()
    started = time.monotonic()
    try:
        connection.execute("SELECT count(*) FROM trades a, trades b, trades c WHERE a.price + b.price < c.price")
        raise AssertionError("the statement was not cancelled")
    except psycopg.errors.QueryCanceled:
        assert time.monotonic() - started < 5
done("psycopg")
