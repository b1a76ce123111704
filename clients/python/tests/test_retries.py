"""Retries: Retry-After is obeyed where a repetition is safe; a redirect and Ctrl-C end a request."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from gatehouse_client import Gate, GatehouseError, QueryError, Token
from support import Server

OVERLOAD = b'{"status": 503, "Code": "Limit.Overload", "detail": "The service is busy"}'
ROWS = b'{"Columns": {"one": {"Ordinal": 0, "Type": "Integer", "Nullable": false}}}\n[1]\n'
WRITTEN = b'{"Columns": {}, "Rows": [], "RowsAffected": 1}'


class Busy(ThreadingHTTPServer):
    """A server that is busy for a number of requests."""

    def __init__(self, busy: int, status: int = 503) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.busy, self.status, self.requests = busy, status, 0
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    server: Busy

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.requests += 1
        is_busy = self.server.requests <= self.server.busy
        is_read = self.headers["accept"] == "application/x-ndjson"
        body = OVERLOAD if is_busy else ROWS if is_read else WRITTEN
        self.send_response(self.server.status if is_busy else 200)
        if is_busy:
            self.send_header("retry-after", "1")
            self.send_header("location", "http://localhost:9/")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def busy() -> Iterator[list[Busy]]:
    running: list[Busy] = []
    yield running
    for server in running:
        server.shutdown()
        server.server_close()


def test_a_read_waits_as_long_as_the_server_says(busy: list[Busy]) -> None:
    busy.append(Busy(2))
    with Gate(busy[0].url, auth=Token("x")) as gate:
        started = time.monotonic()
        assert gate.query("select 1 as one").rows() == [{"one": 1}]
        assert 2 <= time.monotonic() - started < 5
    assert busy[0].requests == 3


def test_the_number_of_attempts_is_limited(busy: list[Busy]) -> None:
    busy.append(Busy(9))
    with Gate(busy[0].url, auth=Token("x"), attempts=2) as gate, pytest.raises(QueryError) as refused:
        gate.query("select 1 as one").rows()
    assert (refused.value.code, refused.value.retryable, refused.value.retry_after) == ("Limit.Overload", True, 1.0)
    assert busy[0].requests == 2


def test_a_statement_that_writes_is_repeated_only_with_a_key(busy: list[Busy]) -> None:
    busy.append(Busy(1))
    with Gate(busy[0].url, auth=Token("x")) as gate:
        with pytest.raises(QueryError):
            gate.execute("update prices set size = 1 all")
        assert busy[0].requests == 1
        busy.append(Busy(1))
    with Gate(busy[1].url, auth=Token("x")) as gate:
        assert gate.execute("update prices set size = 1 all", idempotency_key="once").rows_affected == 1
    # A 429 was refused before anything was done.
    busy.append(Busy(1, status=429))
    with Gate(busy[2].url, auth=Token("x")) as gate:
        assert gate.execute("update prices set size = 1 all").rows_affected == 1


def test_a_redirect_is_not_followed(busy: list[Busy]) -> None:
    busy.append(Busy(9, status=307))
    with Gate(busy[0].url, auth=Token("x")) as gate, pytest.raises(GatehouseError) as refused:
        gate.query("select 1 as one").rows()
    assert refused.value.status == 307
    assert busy[0].requests == 1


PROGRAM = """
import sys
from gatehouse_client import ClientSecret, Gate
gate = Gate(sys.argv[1], auth=ClientSecret("demo-service", "demo-service-secret"))
live = gate.live("select count(*) as n from instruments")
next(live)
gate.stream.subscribe("Ticker", "Price/ACME").next()
print("ready", flush=True)
if "wait" in sys.argv:
    next(live)
"""


@pytest.mark.parametrize("how", ["wait", "leave"])
def test_a_program_ends_at_once_by_ctrl_c_or_without_close(server: Server, how: str) -> None:
    command = [sys.executable, "-c", PROGRAM, server.url, how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        if how == "wait":
            time.sleep(0.3)
            program.send_signal(signal.SIGINT)
        _, errors = program.communicate(timeout=5)
    if how == "wait":
        assert errors.rstrip().endswith("KeyboardInterrupt")
    else:
        assert (program.returncode, errors) == (0, "")
