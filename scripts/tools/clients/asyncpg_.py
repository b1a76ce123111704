"""asyncpg: everything in binary, prepared statements, portals as cursors, COPY, cancel by timeout."""
import asyncio

import asyncpg
from values import LOCAL_VALUES, ON_POSTGRES, VALUES, done, same


async def main():
    connection = await asyncpg.connect()
    assert connection.get_server_version().major == 15
    for kind, value in VALUES + LOCAL_VALUES:
        same(await connection.fetchval(f"SELECT $1::{kind}", value), value, kind)
        assert await connection.fetchval(f"SELECT $1::{kind}", None) is None
    assert await connection.fetchval("SELECT $1::json", '{"a": [1, 2.50]}') == '{"a": [1, 2.50]}'
    statement = await connection.prepare("SELECT id, symbol, price FROM trades WHERE symbol = $1 AND id < $2 ORDER BY id")
    assert [attribute.name for attribute in statement.get_attributes()] == ["id", "symbol", "price"]
    assert [parameter.name for parameter in statement.get_parameters()] == ["text", "int8"]
    assert len(await statement.fetch("ACME", 100)) > 0
    assert await connection.fetchval("SELECT count(*) FROM trades WHERE symbol = ANY($1)", ["ACME", "BOLT"]) > 0
    async with connection.transaction():
        seen = 0
        async for _ in connection.cursor("SELECT * FROM trades ORDER BY id", prefetch=100):
            seen += 1
            if seen == 1000:
                break
        cursor = await connection.cursor("SELECT id FROM trades ORDER BY id")
        assert len(await cursor.fetch(10)) == 10
        await cursor.forward(5)
        assert (await cursor.fetchrow())["id"] == 16
    copied = bytearray()

    async def keep(data):
        copied.extend(data)

    await connection.copy_from_table("instruments", output=keep, format="csv", header=True)
    assert copied.startswith(b"symbol,name,")
    if ON_POSTGRES:  # It writes the number as a text, which Gatehouse does not compare with an Integer.
        await connection.copy_from_query("SELECT id FROM trades WHERE id < $1", 10, output=keep)
    await connection.copy_from_query("SELECT id FROM trades WHERE symbol = $1", "ACME", output=keep)
    try:
        heavy = "SELECT count(*) FROM trades a, trades b, trades c WHERE a.price + b.price < c.price"
        await connection.fetchval(heavy, timeout=0.5)
        raise AssertionError("the statement was not cancelled")
    except asyncio.TimeoutError:
        pass
    assert await connection.fetchval("SELECT 1") == 1
    await connection.close()
    pool = await asyncpg.create_pool(min_size=1, max_size=3)
    assert await asyncio.gather(*[pool.fetchval("SELECT $1::int8", number) for number in range(10)]) == list(range(10))
    await pool.close()


asyncio.run(main())
done("asyncpg")
