"""DuckDB with its postgres extension: the tables attached and scanned by binary COPY, filters passed on."""
import duckdb
import duckdb_extension_postgres  # noqa: F401, the extension as a package; nothing is fetched at run time
from duckdb_extensions import import_extension
from values import TABLES, done

import_extension("postgres")
database = duckdb.connect()
database.load_extension("postgres")
database.execute("ATTACH '' AS market (TYPE postgres, READ_ONLY, ISOLATION_LEVEL 'READ COMMITTED')")
assert TABLES <= {row[2] for row in database.execute("SHOW ALL TABLES").fetchall()}
assert database.execute("SELECT count(*) FROM market.trades").fetchone() == (4000,)
assert len(database.execute("SELECT * FROM market.public.instruments").fetchall()) == 60
rows = database.execute("SELECT symbol, max(price) FROM market.trades WHERE symbol = 'ACME' GROUP BY 1").fetchall()
assert len(rows) == 1
database.execute("DESCRIBE market.quotes").fetchall()
joined = """SELECT i.sector, sum(t.quantity) FROM market.trades t JOIN market.instruments i USING (symbol)
            WHERE t.executed_at >= '2026-01-06' GROUP BY 1 ORDER BY 2 DESC"""
assert len(database.execute(joined).fetchall()) > 0
asked = "SELECT symbol, count(*) AS n FROM trades GROUP BY symbol ORDER BY symbol LIMIT 3"
assert len(database.execute(f"SELECT * FROM postgres_query('market', '{asked}')").fetchall()) == 3
done("duckdb")
