"""Writes the Arrow files in a folder, by Polars and pyarrow: python3 -m venv .venv, .venv/bin/pip install -r requirements.txt, then
.venv/bin/python make_fixtures.py fixtures. The tests know their rows."""

import datetime as dt
import decimal
import pathlib
import sys
import uuid

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = pathlib.Path(sys.argv[1])
FOLDER.mkdir(exist_ok=True)
D = decimal.Decimal
U = uuid.UUID("123e4567-e89b-12d3-a456-426614174000")

FRAME = pl.DataFrame(
    {
        "id": [1, 2, 3, 4],
        "t": ["short", None, "a text of more than twelve bytes: é😀", ""],
        "c": pl.Series(["buy", "sell", None, "a category of more than twelve bytes"], dtype=pl.Categorical),
        "b": [b"\x00\xff", None, b"y" * 20, b""],
        "f": [0.5, None, -1e300, float("inf")],
        "o": [True, False, None, True],
        "s": pl.Series(
            [dt.datetime(2026, 1, 2, 3, 4, 5, 6), None, dt.datetime(1, 1, 1), dt.datetime(2026, 1, 1)],
            dtype=pl.Datetime("us", "UTC"),
        ),
        "a": [dt.date(2026, 2, 28), None, dt.date(1969, 12, 31), dt.date(1970, 1, 1)],
        "m": [dt.time(23, 59, 59, 999999), None, dt.time(0), dt.time(1, 2, 3)],
        "d": pl.Series([D("12.50"), None, D("-0.01"), D("99999999.99")], dtype=pl.Decimal(10, 2)),
    }
)
FRAME.write_ipc(FOLDER / "polars.arrow")
FRAME.write_ipc_stream(FOLDER / "polars.arrows")
FRAME.write_ipc(FOLDER / "polars-oldest.arrow", compat_level=pl.CompatLevel.oldest())
# Several record batches, and texts of several buffers.
pl.concat([FRAME, FRAME.with_columns(pl.col("id") + 4, pl.col("t") + "!")], rechunk=False).write_ipc(
    FOLDER / "polars-chunks.arrow"
)


def write(name, columns, make=pa.ipc.new_stream, **options):
    table = pa.table(dict(columns))
    with make(FOLDER / name, table.schema, **options) as writer:
        writer.write_table(table)


NUMBERS = {
    "id": pa.array([1, 2]),
    "h": pa.array([0.5, None], pa.float16()),
    "d32": pa.array([D("-1234.56"), None], pa.decimal32(6, 2)),
    "d64": pa.array([D("12345678901234.5678"), None], pa.decimal64(18, 4)),
    "d256": pa.array([D("-12345678901234567890.123456789012345678"), None], pa.decimal256(50, 18)),
}
write("pyarrow-numbers.arrows", NUMBERS)
write("pyarrow-numbers.arrow", NUMBERS, pa.ipc.new_file)
UUIDS = {"id": pa.array([1, 2]), "u": pa.array([U.bytes, None], pa.binary(16))}
write("pyarrow-uuid.arrows", UUIDS)
pq.write_table(pa.table(UUIDS), FOLDER / "pyarrow-uuid.parquet")
write("refused-uuid.arrows", {"id": pa.array([1]), "u": pa.array([b"seven b"], pa.binary(7))})
pq.write_table(pa.table({"id": pa.array([1]), "u": pa.array([b"seven b"], pa.binary(7))}), FOLDER / "refused-uuid.parquet")
NANOS = {"id": pa.array([1]), "s": pa.array([1767323045000006789], pa.timestamp("ns"))}
write("refused-nanoseconds.arrows", NANOS)
write("refused-time.arrows", {"id": pa.array([1]), "m": pa.array([3723000000007], pa.time64("ns"))})
write("refused-list.arrows", {"id": pa.array([1]), "t": pa.array([["a"]])})
write("refused-duration.arrows", {"id": pa.array([1]), "t": pa.array([5], pa.duration("s"))})
write("refused-too-wide.arrows", {"id": pa.array([1]), "d256": pa.array([D(10**45)], pa.decimal256(50, 4))})

# Each batch has a dictionary of its own, which replaces the one before it.
schema = pa.schema({"id": pa.int64(), "t": pa.dictionary(pa.int32(), pa.string())})
with pa.ipc.new_stream(FOLDER / "pyarrow-dictionaries.arrows", schema) as writer:
    for start in (1, 3):
        words = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int32()), [f"word {start}", f"word {start + 1}"])
        writer.write_batch(pa.record_batch([pa.array([start, start + 1]), words], schema=schema))
