"""Writes the Parquet files in fixtures/, by pyarrow and DuckDB: python3 -m venv .venv, .venv/bin/pip install pyarrow duckdb pytz,
then .venv/bin/python make_fixtures.py. Every file has the same rows in other encodings; read-parquet.test.ts knows them."""

import datetime as dt
import decimal
import json
import pathlib
import uuid

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = pathlib.Path(__file__).parent / "fixtures"
FOLDER.mkdir(exist_ok=True)
D = decimal.Decimal
decimal.getcontext().prec = 60
UTC = dt.timezone.utc

ROWS = 120


def column(values):
    """The odd values first, then usual ones with a NULL now and then."""
    return [values[i] if i < len(values) else (None if i % 7 == 3 else values[i % len(values)]) for i in range(ROWS)]


COLUMNS = [
    ("id", pa.int64(), [i - 5 for i in range(ROWS)]),
    ("i", pa.int64(), column([0, -1, 2**63 - 1, -(2**63), 2**53 + 1])),
    ("i32", pa.int32(), column([0, -1, 2**31 - 1, -(2**31)])),
    ("u32", pa.uint32(), column([0, 1, 2**32 - 1])),
    ("d9", pa.decimal128(9, 2), column([D("0.00"), D("-0.01"), D("9999999.99")])),
    ("d18", pa.decimal128(18, 4), column([D("0.0000"), D("-12345678901234.5678"), D("99999999999999.9999")])),
    ("d38", pa.decimal128(38, 18), column([D("-12345678901234567890.123456789012345678"), D("0.000000000000000001")])),
    ("f", pa.float64(), column([0.1, -0.0, float("inf"), float("-inf"), 5e-324, 1.7976931348623157e308])),
    ("f32", pa.float32(), column([0.5, -1.25, 16777216.0])),
    ("o", pa.bool_(), column([True, False, False, True, True])),
    ("t", pa.string(), column(["", "a,\"b\"\r\n", "é\u2028😀", "BHP", "x" * 300])),
    ("s", pa.timestamp("us", tz="UTC"), column([
        dt.datetime(2026, 1, 2, 3, 4, 5, 1, UTC), dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), dt.datetime(1, 1, 1, tzinfo=UTC)])),
    ("l", pa.timestamp("us"), column([dt.datetime(2026, 3, 8, 2, 30), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)])),
    ("a", pa.date32(), column([dt.date(1969, 12, 31), dt.date(2024, 2, 29), dt.date(9999, 12, 31)])),
    ("m", pa.time64("us"), column([dt.time(23, 59, 59, 999999), dt.time(0)])),
    ("b", pa.binary(), column([b"", b"\x00\xff", b"\x80" * 20])),
]


def shown(value):
    if isinstance(value, dt.datetime):
        return value.strftime("%Y").zfill(4) + value.strftime("-%m-%dT%H:%M:%S.%f")
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, bool) or value is None else str(value)


names = [name for name, _, _ in COLUMNS]
table = pa.table({name: pa.array(values, kind) for name, kind, values in COLUMNS})
(FOLDER / "rows.json").write_text(
    json.dumps({name: [shown(value) for value in values] for name, _, values in COLUMNS}, ensure_ascii=False) + "\n")

for codec in ["none", "snappy", "gzip", "zstd"]:
    pq.write_table(table, FOLDER / f"pyarrow-{codec}.parquet", compression=codec, row_group_size=50, store_schema=False)
pq.write_table(table, FOLDER / "pyarrow-v2-pages.parquet", compression="zstd", data_page_version="2.0",
               data_page_size=512, write_batch_size=16, store_schema=False)
pq.write_table(table, FOLDER / "pyarrow-plain.parquet", compression="zstd", use_dictionary=False, store_schema=False)
ENCODINGS = {
    **{name: "DELTA_BINARY_PACKED" for name in ["id", "i", "i32", "s", "l", "a", "m"]},
    "t": "DELTA_BYTE_ARRAY", "b": "DELTA_LENGTH_BYTE_ARRAY", "f": "BYTE_STREAM_SPLIT", "f32": "BYTE_STREAM_SPLIT",
    "d38": "BYTE_STREAM_SPLIT", "o": "RLE",
}
pq.write_table(table, FOLDER / "pyarrow-delta.parquet", compression="zstd", use_dictionary=False,
               column_encoding=ENCODINGS, data_page_version="2.0", store_schema=False)

# Types that pyarrow's table above does not have, and those that are refused.
pq.write_table(pa.table({
    "ns": pa.array([1_500_000_000_000_000_000, None], pa.timestamp("ns", tz="UTC")),
    "ms": pa.array([1_500_000_000_123, None], pa.timestamp("ms")),
    "tns": pa.array([86_399_999_999_000, None], pa.time64("ns")),
    "tms": pa.array([86_399_999, None], pa.time32("ms")),
    "half": pa.array([1.5, None], pa.float16()),
    "nothing": pa.nulls(2),
    "fixed": pa.array([b"abcd", None], pa.binary(4)),
}), FOLDER / "pyarrow-more-types.parquet", version="2.6", store_schema=False)
pq.write_table(pa.table({"int96": pa.array([dt.datetime(2026, 1, 2, 3, 4, 5, 6)], pa.timestamp("us"))}),
               FOLDER / "pyarrow-int96.parquet", use_deprecated_int96_timestamps=True, store_schema=False)
pq.write_table(pa.table({"ns": pa.array([1], pa.timestamp("ns"))}), FOLDER / "refused-nanoseconds.parquet", version="2.6", store_schema=False)
pq.write_table(pa.table({"id": [1], "tags": [["a", "b"]]}), FOLDER / "refused-list.parquet", store_schema=False)
pq.write_table(pa.table({"id": [1], "place": [{"x": 1}]}), FOLDER / "refused-struct.parquet", store_schema=False)
pq.write_table(pa.table({"d": pa.array([D(1)], pa.decimal256(60, 0))}), FOLDER / "refused-decimal.parquet", store_schema=False)
pq.write_table(pa.table({"u": pa.array([2**64 - 1], pa.uint64())}), FOLDER / "refused-uint64.parquet", store_schema=False)

# Smaller: what DuckDB writes has statistics and bloom filters for every column.
connection = duckdb.connect()
connection.execute("SET timezone = 'UTC'")
connection.register("rows", table.slice(0, 60))
for codec in ["uncompressed", "snappy", "gzip", "zstd"]:
    connection.execute(f"COPY (SELECT * FROM rows) TO '{FOLDER}/duckdb-{codec}.parquet' (FORMAT parquet, COMPRESSION {codec})")
connection.execute(f"""COPY (SELECT * FROM rows) TO '{FOLDER}/duckdb-v2.parquet' (FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd)""")
ids = [uuid.UUID("123e4567-e89b-12d3-a456-426614174000"), uuid.UUID(int=2**128 - 1)]
connection.execute(f"""COPY (SELECT * FROM (VALUES ('{ids[0]}'::UUID, '{{"k": [1, null]}}'::JSON, 'on'::ENUM ('on', 'off')),
  ('{ids[1]}', '"x"', 'off'), (NULL, NULL, NULL)) v (u, j, e)) TO '{FOLDER}/duckdb-more-types.parquet' (FORMAT parquet, COMPRESSION zstd)""")
connection.execute(f"COPY (SELECT INTERVAL 1 MONTH AS v) TO '{FOLDER}/refused-interval.parquet' (FORMAT parquet)")
