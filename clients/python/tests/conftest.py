"""One server for all tests that leave it running."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gatehouse_client import ClientSecret, Gate, Password
from support import Proxy, Server

SERVICE = ClientSecret("demo-service", "demo-service-secret")
ADMIN = Password("demo-cli", "admin", "admin-please-change")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("data"))
    yield running
    running.stop()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """One that the test may stop."""
    running = Server(tmp_path / "data")
    yield running
    running.stop()


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    running = Proxy(server.url)
    yield running
    running.close()


@pytest.fixture
def gate(server: Server) -> Iterator[Gate]:
    with Gate(server.url, auth=SERVICE) as opened:
        yield opened


@pytest.fixture
def prices(server: Server) -> Iterator[str]:
    """A table of its own for a test."""
    with Gate(server.url, auth=ADMIN) as gate:
        gate.execute("create table prices (symbol Text primary key, price Decimal(38, 10) not null, size Integer)")
        yield "prices"
        gate.execute("drop table prices")
