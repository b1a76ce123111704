"""ADBC: results by binary COPY into Arrow tables, metadata of the connection."""
import os

import adbc_driver_postgresql.dbapi as dbapi
from values import TABLES, done

address = "postgresql://{PGUSER}:{PGPASSWORD}@{PGHOST}:{PGPORT}/{PGDATABASE}".format(**os.environ)
with dbapi.connect(address, autocommit=True) as connection:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, symbol, quantity, price, venue, executed_at FROM trades ORDER BY id")
        table = cursor.fetch_arrow_table()
        assert table.num_rows == 4000 and str(table.schema.field("id").type) == "int64"
        assert str(table.schema.field("executed_at").type) == "timestamp[us, tz=UTC]"
        cursor.execute("SELECT symbol, price FROM trades WHERE symbol = $1 AND quantity > $2", ["ACME", 10])
        assert len(cursor.fetchall()) > 0
        cursor.execute("SELECT * FROM instruments")
        assert cursor.fetch_arrow_table().num_rows == 60
    assert {"table", "view"} <= set(connection.adbc_get_table_types())
    schema = connection.adbc_get_table_schema("trades")
    assert schema.names[:2] == ["id", "symbol"]
    connection.adbc_get_table_schema("quotes", db_schema_filter="public")
    connection.adbc_get_info()
    for depth in ("catalogs", "db_schemas", "tables", "columns", "all"):
        objects = connection.adbc_get_objects(depth=depth).read_all().to_pylist()
    found = {
        table["table_name"]
        for catalog in objects
        for schema in catalog["catalog_db_schemas"]
        if schema["db_schema_name"] == "public"
        for table in schema["db_schema_tables"]
    }
    assert TABLES <= found, found
    connection.adbc_get_objects(depth="all", db_schema_filter="public", table_name_filter="trades").read_all()
with dbapi.connect(address) as connection:  # With a transaction block.
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM quotes")
        cursor.fetchone()
    connection.rollback()
done("adbc")
