"""Superset's own rules for PostgreSQL: how it browses a schema, and the statements of a chart with each of its time grains."""
import datetime
import os
import sys
import tempfile

# Superset reads its settings from a module of this name.
folder = tempfile.mkdtemp()
with open(os.path.join(folder, "superset_config.py"), "w") as file:
    file.write('SECRET_KEY = "only-for-this-run-only-for-this-run-only"\n')
    for cache in ("FILTER_STATE_CACHE_CONFIG", "EXPLORE_FORM_DATA_CACHE_CONFIG", "CACHE_CONFIG", "DATA_CACHE_CONFIG"):
        file.write(f'{cache} = {{"CACHE_TYPE": "NullCache"}}\n')
sys.path.append(folder)
os.environ["SUPERSET_HOME"] = folder

import sqlalchemy as sa  # noqa: E402
from superset.app import create_app  # noqa: E402
from values import ON_POSTGRES, TABLES, done  # noqa: E402

# What Gatehouse need not have: time_bucket has any width.
MOST_REFUSED = 0 if ON_POSTGRES else 9

with create_app().app_context():
    from superset.db_engine_specs.postgres import PostgresEngineSpec as Spec

    engine = sa.create_engine("postgresql+psycopg2://{PGUSER}:{PGPASSWORD}@{PGHOST}:{PGPORT}/{PGDATABASE}".format(**os.environ))
    inspector = sa.inspect(engine)
    assert "public" in inspector.get_schema_names()
    assert TABLES <= set(Spec.get_table_names(None, inspector, "public"))
    Spec.get_view_names(None, inspector, "public")
    for table in TABLES:
        for column in inspector.get_columns(table, "public"):
            assert Spec.get_column_spec(str(column["type"])) is not None, column
        inspector.get_indexes(table, "public")
        inspector.get_table_comment(table, "public")
    start = Spec.convert_dttm("TIMESTAMP", datetime.datetime(2026, 1, 5))
    end = Spec.convert_dttm("TIMESTAMP", datetime.datetime(2026, 1, 8))
    refused = []
    with engine.connect() as connection:
        for grain, expression in Spec.get_time_grain_expressions().items():
            time = expression.format(col="executed_at")
            chart = f"""SELECT {time} AS __timestamp, symbol AS symbol, sum(quantity) AS "SUM(quantity)"
                        FROM public.trades WHERE executed_at >= {start} AND executed_at < {end}
                        GROUP BY {time}, symbol ORDER BY "SUM(quantity)" DESC LIMIT 1000"""
            try:
                assert len(connection.execute(sa.text(chart.replace(":", "\\:"))).fetchall()) > 0
            except sa.exc.DBAPIError as error:
                refused.append(f"{grain}: {time}: {error.orig}")
    for line in refused:
        print(line)
    print(f"{len(refused)} time grains are refused")
    assert len(refused) <= MOST_REFUSED
done("superset")
