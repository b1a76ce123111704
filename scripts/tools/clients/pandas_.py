"""pandas: read_sql with a statement, with parameters, by chunks, and read_sql_table."""
import os

import pandas as pd
import sqlalchemy as sa
from values import done

ADDRESS = "{PGUSER}:{PGPASSWORD}@{PGHOST}:{PGPORT}/{PGDATABASE}".format(**os.environ)
engine = sa.create_engine(f"postgresql+psycopg2://{ADDRESS}")
with engine.connect() as connection:
    trades = pd.read_sql("SELECT * FROM trades ORDER BY id", connection)
    assert len(trades) == 4000 and str(trades.dtypes["id"]) == "int64"
    assert str(trades.dtypes["executed_at"]).startswith("datetime64") and str(trades["executed_at"].dt.tz) == "UTC"
    some = pd.read_sql(sa.text("SELECT id, price FROM trades WHERE symbol = :symbol"), connection, params={"symbol": "ACME"})
    assert len(some) > 0
    table = pd.read_sql_table("instruments", connection, schema="public", index_col="symbol")
    assert table.loc["ACME"]["name"] == "Acme Engineering"
    table = pd.read_sql_table("quotes", connection, columns=["symbol", "quoted_at", "bid"])
    assert list(table.columns) == ["symbol", "quoted_at", "bid"]
    pieces = list(pd.read_sql("SELECT id, symbol FROM trades ORDER BY id", connection, chunksize=1500))
    assert [len(piece) for piece in pieces] == [1500, 1500, 1000]
    streamed = connection.execution_options(stream_results=True)  # By a cursor on the server.
    pieces = list(pd.read_sql("SELECT id, symbol FROM trades ORDER BY id", streamed, chunksize=1500))
    assert [len(piece) for piece in pieces] == [1500, 1500, 1000]
    bars = pd.read_sql(
        """SELECT symbol, date_trunc('hour', executed_at) AS hour, sum(quantity) AS volume,
                  sum(price * quantity) / sum(quantity) AS vwap
           FROM trades GROUP BY symbol, date_trunc('hour', executed_at) ORDER BY 1, 2""",
        connection,
        parse_dates=["hour"],
    )
    assert len(bars) > 0
engine.dispose()
done("pandas")
