"""python random_files.py SEED FOLDER: writes Parquet files of random columns and settings by pyarrow and DuckDB, and their values as JSON."""

import datetime as dt
import decimal
import json
import pathlib
import random
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

seed, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
chance = random.Random(seed)
decimal.getcontext().prec = 60
UTC = dt.timezone.utc
FIRST, LAST = dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)
TEXTS = ["", "BHP", "é", "😀", "\u2028", 'a,"b"\r\n', "x" * 200]


def moment():
    return FIRST + dt.timedelta(microseconds=chance.randrange((LAST - FIRST) // dt.timedelta(microseconds=1)))


def text():
    return "".join(chance.choice(TEXTS) for _ in range(chance.randrange(4)))


def digits(precision, scale):
    kind = pa.decimal128(precision, scale)
    return kind, lambda: decimal.Decimal(chance.randrange(-10**precision + 1, 10**precision)).scaleb(-scale)


def kinds():
    precision = chance.randrange(1, 39)
    return [
        (pa.int64(), lambda: chance.choice([0, -1, 2**63 - 1, -(2**63), chance.randrange(-(2**63), 2**63), chance.randrange(100)])),
        (pa.int32(), lambda: chance.randrange(-(2**31), 2**31)),
        (pa.uint16(), lambda: chance.randrange(2**16)),
        digits(precision, chance.randrange(precision + 1)),
        (pa.float64(), lambda: chance.choice([chance.gauss(0, 1e9), 0.1, float("inf")])),
        (pa.bool_(), lambda: chance.random() < 0.5),
        (pa.string(), text),
        (pa.timestamp("us", tz="UTC"), lambda: moment().replace(tzinfo=UTC)),
        (pa.timestamp("us"), moment),
        (pa.date32(), lambda: moment().date()),
        (pa.time64("us"), lambda: moment().time()),
        (pa.binary(), lambda: chance.randbytes(chance.randrange(30))),
    ]


DELTA = {pa.int64(), pa.int32(), pa.timestamp("us"), pa.timestamp("us", tz="UTC"), pa.date32(), pa.time64("us")}


def encoding(kind):
    if kind in DELTA:
        return chance.choice(["PLAIN", "DELTA_BINARY_PACKED"])
    if kind == pa.string() or kind == pa.binary():
        return chance.choice(["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
    return "BYTE_STREAM_SPLIT" if kind == pa.float64() and chance.random() < 0.5 else "PLAIN"


def shown(value):
    if isinstance(value, dt.datetime):
        return value.strftime("%Y").zfill(4) + value.strftime("-%m-%dT%H:%M:%S.%f")
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    return value if isinstance(value, bool) or value is None else str(value)


for number in range(40):
    count = chance.choice([0, 1, 7, 100, 3000])
    columns = {}
    for index in range(chance.randrange(1, 8)):
        kind, make = chance.choice(kinds())
        nulls = chance.choice([0, 0, 0.02, 0.5, 1])
        pool = [make() for _ in range(chance.choice([1, 5, 300, count + 1]))]
        columns[f"c{index}"] = pa.array([None if chance.random() < nulls else chance.choice(pool) for _ in range(count)], kind)
    table = pa.table(columns)
    path = folder / f"{number}.parquet"
    if chance.random() < 0.3:
        connection = duckdb.connect()
        connection.execute("SET timezone = 'UTC'")
        connection.register("rows", table)
        codec, version = chance.choice(["uncompressed", "snappy", "gzip", "zstd"]), chance.choice(["v1", "v2"])
        connection.execute(f"COPY (SELECT * FROM rows) TO '{path}' (FORMAT parquet, COMPRESSION {codec}, PARQUET_VERSION {version}, ROW_GROUP_SIZE 2048)")
    else:
        has_dictionary = chance.random() < 0.5
        encodings = {} if has_dictionary else {"column_encoding": {name: encoding(array.type) for name, array in columns.items()}}
        pq.write_table(table, path, use_dictionary=has_dictionary, compression=chance.choice(["none", "snappy", "gzip", "zstd"]),
                       data_page_version=chance.choice(["1.0", "2.0"]), data_page_size=chance.choice([64, 1024, 2**20]), write_batch_size=32,
                       row_group_size=chance.choice([50, 1000, 2**20]), store_schema=False, **encodings)
    values = {name: [shown(value) for value in array.to_pylist()] for name, array in columns.items()}
    (folder / f"{number}.json").write_text(json.dumps(values))
