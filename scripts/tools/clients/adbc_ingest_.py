"""ADBC: Arrow tables written by binary COPY, into a new table and into one that exists."""
import os
from datetime import datetime, timezone

import adbc_driver_postgresql.dbapi as dbapi
import pyarrow as pa
from values import done

address = "postgresql://{PGUSER}:{PGPASSWORD}@{PGHOST}:{PGPORT}/{PGDATABASE}".format(**os.environ)
at = datetime(2026, 1, 15, 9, 30, tzinfo=timezone.utc)
rows = pa.table(
    {
        "id": pa.array([1, 2], pa.int64()),
        "note": ["a", None],
        "ratio": [1.5, -2.5],
        "at": pa.array([at, None], pa.timestamp("us", "UTC")),
    }
)
with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
    assert cursor.adbc_ingest("ingested", rows, mode="create") == 2
    assert cursor.adbc_ingest("ingested", rows, mode="append") == 2
    assert cursor.adbc_ingest("ingested", rows, mode="append", db_schema_name="public") == 2
    cursor.execute("SELECT id, note, ratio, at FROM ingested ORDER BY id")
    assert cursor.fetchall() == [(1, "a", 1.5, at)] * 3 + [(2, None, -2.5, None)] * 3
    cursor.execute("DROP TABLE ingested")
done("adbc_ingest")
