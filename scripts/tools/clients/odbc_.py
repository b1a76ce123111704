"""psqlODBC by pyodbc: the catalogue functions of ODBC, which Tableau, Power BI and Excel call, and values both ways."""
import datetime
import decimal
import os

import pyodbc
from values import TABLES, done

DRIVER = os.environ["TOOLS_ODBC_DRIVER"]
ADDRESS = "Driver={driver};Server={PGHOST};Port={PGPORT};Database={PGDATABASE};Uid={PGUSER};Pwd={PGPASSWORD};"

for options in ["", "UseServerSidePrepare=0;", "BoolsAsChar=0;ByteaAsLongVarBinary=1;", "UseDeclareFetch=1;Fetch=100;"]:
    connection = pyodbc.connect(ADDRESS.format(driver=DRIVER, **os.environ) + options, autocommit=True)
    cursor = connection.cursor()
    assert TABLES <= {row.table_name for row in cursor.tables(tableType="TABLE")}
    cursor.tables().fetchall()
    cursor.tables(schema="public", table="trades").fetchall()
    cursor.tables(catalog="%", schema="", table="").fetchall()
    cursor.tables(catalog="", schema="%", table="").fetchall()
    cursor.tables(catalog="", schema="", table="", tableType="%").fetchall()
    assert [row.column_name for row in cursor.columns(table="trades", schema="public")][0] == "id"
    cursor.columns().fetchall()
    assert [row.column_name for row in cursor.primaryKeys("quotes", schema="public")] == ["symbol", "quoted_at"]
    cursor.foreignKeys("trades").fetchall()
    cursor.foreignKeys(foreignTable="trades").fetchall()
    cursor.statistics("trades").fetchall()
    cursor.statistics("quotes", unique=True).fetchall()
    cursor.rowIdColumns("trades").fetchall()
    cursor.rowVerColumns("trades").fetchall()
    cursor.procedures().fetchall()
    cursor.procedureColumns().fetchall()
    cursor.getTypeInfo().fetchall()
    for code in (pyodbc.SQL_DBMS_NAME, pyodbc.SQL_DBMS_VER, pyodbc.SQL_IDENTIFIER_QUOTE_CHAR, pyodbc.SQL_TXN_ISOLATION_OPTION):
        connection.getinfo(code)
    for kind, value in [
        ("text", "a'b \u20ac"),
        ("int8", 9223372036854775807),
        ("numeric(18,4)", decimal.Decimal("12345678901234.5678")),
        ("float8", 0.1),
        ("date", datetime.date(2024, 2, 29)),
        ("timestamp", datetime.datetime(2026, 3, 29, 2, 30, 0, 1)),
    ]:
        got = cursor.execute(f"SELECT ?::{kind}", [value]).fetchone()[0]
        assert got == value, f"{kind}: {got!r} instead of {value!r}"
    cursor.execute("SELECT id, symbol, price, executed_at FROM trades WHERE symbol = ? AND id < ?", ["ACME", 500])
    assert cursor.description[2][0] == "price" and len(cursor.fetchall()) > 0
    assert len(cursor.execute('SELECT * FROM "public"."trades"').fetchall()) == 4000
    cursor.execute("SELECT {fn UCASE(symbol)} FROM instruments WHERE listed > {d '2000-01-01'}").fetchall()
    connection.autocommit = False
    cursor.execute("SELECT count(*) FROM instruments").fetchone()
    connection.rollback()
    connection.close()
done("odbc")
