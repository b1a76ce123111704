"""Reads a delayed table with pyarrow, DuckDB and the client for Python: values, and what is said of the licence, as JSON."""

import json
import sys
import tempfile
import time
import urllib.request

import duckdb
import pyarrow
from gatehouse_client import ClientSecret, Gate

url, token, client, secret, statement = sys.argv[1:]


def fetch(accept: str) -> bytes:
    head = {"authorization": f"Bearer {token}", "content-type": "text/plain", "accept": accept}
    request = urllib.request.Request(f"{url}/query", statement.encode(), head)
    with urllib.request.urlopen(request) as response:
        return response.read()


def with_pyarrow():
    table = pyarrow.ipc.open_stream(fetch("application/vnd.apache.arrow.stream")).read_all()
    return table.column(0).to_pylist(), table.schema.metadata[b"licence"].decode()


def with_duckdb():
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        file.write(fetch("application/vnd.apache.parquet"))
        file.flush()
        rows = duckdb.sql(f"select * from read_parquet('{file.name}')").fetchall()
        metadata = duckdb.sql(f"select key, value from parquet_kv_metadata('{file.name}')").fetchall()
    return [row[0] for row in rows], dict(metadata)[b"licence"].decode()


def with_client():
    with Gate(url, auth=ClientSecret(client, secret)) as gate:
        table = gate.query(statement).to_arrow()
    return table.column(0).to_pylist(), table.schema.metadata[b"licence"].decode()


found = {}
for name, read in (("pyarrow", with_pyarrow), ("duckdb", with_duckdb), ("client", with_client)):
    values, licence = read()
    found[name] = {"values": [str(value) for value in values], "licence": json.loads(licence), "at": time.time() * 1000}
print(json.dumps(found))
