"""SQLAlchemy: reflection by its inspector with three drivers, and statements of its expression language."""
import datetime
import os
from decimal import Decimal

import sqlalchemy as sa
from values import ON_POSTGRES, TABLES, done

ADDRESS = "{PGUSER}:{PGPASSWORD}@{PGHOST}:{PGPORT}/{PGDATABASE}".format(**os.environ)


def reflect(connection):
    inspector = sa.inspect(connection)
    assert inspector.default_schema_name == "public"
    assert "public" in inspector.get_schema_names()
    assert TABLES <= set(inspector.get_table_names())
    assert TABLES <= set(inspector.get_table_names(schema="public"))
    inspector.get_view_names()
    inspector.get_materialized_view_names()
    inspector.get_sequence_names()
    inspector.get_temp_table_names()
    inspector.get_foreign_table_names()
    inspector.get_enums()
    inspector.get_domains()
    columns = {column["name"]: column for column in inspector.get_columns("trades")}
    assert isinstance(columns["id"]["type"], sa.BIGINT) and not columns["id"]["nullable"]
    assert (columns["price"]["type"].precision, columns["price"]["type"].scale) == (18, 4)
    assert columns["executed_at"]["type"].timezone and columns["venue"]["nullable"]
    assert inspector.get_pk_constraint("quotes")["constrained_columns"] == ["symbol", "quoted_at"]
    assert inspector.get_table_comment("trades")["text"] == "The latest trades (demonstration data)"
    for table in TABLES:
        assert inspector.has_table(table)
        inspector.get_foreign_keys(table)
        inspector.get_indexes(table)
        inspector.get_unique_constraints(table)
        inspector.get_check_constraints(table)
        inspector.get_table_options(table)
    assert not inspector.has_table("nothing_of_this_name")
    inspector.get_multi_columns()
    metadata = sa.MetaData()
    metadata.reflect(connection, views=True)
    return metadata.tables["trades"], metadata.tables["instruments"]


def read(connection, trades, instruments):
    volume = sa.func.sum(trades.c.quantity).label("volume")
    statement = (
        sa.select(instruments.c.sector, volume, sa.func.max(trades.c.price))
        .join(instruments, instruments.c.symbol == trades.c.symbol)
        .where(trades.c.executed_at >= datetime.datetime(2026, 1, 6, tzinfo=datetime.timezone.utc))
        .where(trades.c.side.in_(["Buy", "Sell", "buy", "sell"]))
        .group_by(instruments.c.sector)
        .order_by(volume.desc())
        .limit(5)
        .offset(0)
    )
    rows = connection.execute(statement).all()
    assert len(rows) > 0 and isinstance(rows[0][2], Decimal)
    # A unit must be a literal for Gatehouse; psycopg and asyncpg would send a parameter.
    hour = "hour" if ON_POSTGRES else sa.literal_column("'hour'")
    bucket = sa.func.date_trunc(hour, trades.c.executed_at).label("hour")
    connection.execute(sa.select(bucket, sa.func.count()).group_by(bucket).order_by(bucket)).all()
    connection.execute(sa.select(sa.cast(trades.c.price, sa.Float), sa.cast(trades.c.id, sa.String)).limit(2)).all()
    connection.execute(sa.select(trades.c.id).where(trades.c.symbol.ilike("ac%")).limit(2)).all()
    connection.execute(sa.select(sa.extract("year", trades.c.executed_at)).limit(1)).scalar()
    connection.execute(sa.select(sa.func.coalesce(trades.c.venue, "none")).distinct()).all()
    connection.execute(sa.text("SELECT * FROM trades WHERE id = :id"), {"id": 1}).one()
    connection.execute(sa.select(sa.func.now(), sa.func.current_date())).one()


def stream(connection, trades):
    streamed = connection.execution_options(stream_results=True, yield_per=500)
    parts = [len(part) for part in streamed.execute(sa.select(trades).order_by(trades.c.id)).partitions()]
    assert parts == [500] * 8, parts


for driver in ("psycopg2", "psycopg"):
    engine = sa.create_engine(f"postgresql+{driver}://{ADDRESS}")
    with engine.connect() as connection:
        trades, instruments = reflect(connection)
        read(connection, trades, instruments)
        stream(connection, trades)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("SELECT count(*) FROM trades")).scalar()
    engine.dispose()


async def asynchronous():
    from sqlalchemy.ext.asyncio import create_async_engine

    engine = create_async_engine(f"postgresql+asyncpg://{ADDRESS}")
    async with engine.connect() as connection:
        tables = await connection.run_sync(reflect)
        await connection.run_sync(lambda inner: read(inner, *tables))
        streamed = await connection.stream(sa.select(tables[0]).order_by(tables[0].c.id))
        assert len([row async for row in streamed]) == 4000
    await engine.dispose()


import asyncio  # noqa: E402

asyncio.run(asynchronous())
done("sqlalchemy")
