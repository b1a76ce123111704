"""Reads a delayed table and feed with pyarrow, DuckDB and the client for Python. Prints as JSON what each has read, what
it says of licences, and when that was."""

import json
import sys
import tempfile
import time
import urllib.request

import duckdb
import pyarrow.ipc
from gatehouse_client import ClientSecret, Gate

url, token, client, secret, statement, feed, topic = sys.argv[1:]
PATIENCE = 60


def fetch(accept):
    head = {"authorization": f"Bearer {token}", "content-type": "text/plain", "accept": accept}
    request = urllib.request.Request(f"{url}/query", statement.encode(), head)
    with urllib.request.urlopen(request) as response:
        return response.read(), response.headers["Licence"]


def with_pyarrow():
    content, header = fetch("application/vnd.apache.arrow.stream")
    table = pyarrow.ipc.open_stream(content).read_all()
    return table.column(0).to_pylist(), json.loads(table.schema.metadata[b"licence"]), header


def with_duckdb():
    content, header = fetch("application/vnd.apache.parquet")
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        file.write(content)
        file.flush()
        rows = duckdb.sql(f"select * from read_parquet('{file.name}')").fetchall()
        metadata = dict(duckdb.sql(f"select key, value from parquet_kv_metadata('{file.name}')").fetchall())
    return [row[0] for row in rows], json.loads(metadata[b"licence"]), header


def written(labels):
    return [{"Product": label.product, "Access": label.access, "Delay": label.delay} for label in labels]


def with_rows(gate):
    query = gate.query(statement)
    return [row["id"] for row in query], written(query.licences)


def with_arrow(gate):
    table = gate.query(statement).to_arrow()
    return table.column(0).to_pylist(), json.loads(table.schema.metadata[b"licence"])


def with_live(gate):
    with gate.live(statement) as live:
        live.next(timeout=PATIENCE)
        assert live.as_of is not None
        return [row["id"] for row in live.rows], written(live.licences)


def with_feed(gate):
    with gate.feed(feed).subscribe("*") as messages:
        message = messages.next(timeout=PATIENCE)
        assert message.delay == messages.delay
        return [message.data], written(messages.licences)


def with_state(gate):
    message = gate.feed(feed).latest(topic)
    return [message.data], [{"Delay": message.delay}]


found = {}


def report(name, values, labels, header=None):
    found[name] = {"values": values, "labels": labels, "header": header, "at": time.time() * 1000}


report("pyarrow", *with_pyarrow())
report("DuckDB", *with_duckdb())
with Gate(url, auth=ClientSecret(client, secret)) as opened:
    for name, read in (
        ("rows", with_rows),
        ("Arrow", with_arrow),
        ("live", with_live),
        ("feed", with_feed),
        ("state", with_state),
    ):
        report(name, *read(opened))
print(json.dumps(found))
