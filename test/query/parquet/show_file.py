"""python show_file.py FILE: the columns of a Parquet file as pyarrow and as DuckDB read them, as JSON with values as texts."""

import json
import sys

import duckdb
import pyarrow.parquet as pq

table = pq.read_table(sys.argv[1])
pyarrow = {field.name: [str(field.type), field.nullable, [None if value is None else str(value) for value in table[field.name].to_pylist()]]
           for field in table.schema}
connection = duckdb.connect()
connection.execute("SET timezone = 'UTC'")
types = {row[0]: row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM '{sys.argv[1]}'").fetchall()}
names = ", ".join(f'CAST("{name}" AS VARCHAR)' for name in types)
rows = connection.execute(f"SELECT {names} FROM '{sys.argv[1]}'").fetchall()
ours = {name: [kind, [row[index] for row in rows]] for index, (name, kind) in enumerate(types.items())}
print(json.dumps({"pyarrow": pyarrow, "duckdb": ours}))
