"""The client for scripts, notebooks and threads: the asynchronous one, in a thread of its own."""

from __future__ import annotations

import itertools
import ssl
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import arrow
from .async_gate import AsyncGate
from .auth import Auth
from .licence_labels import LicenceLabel
from .portal import Portal, within
from .protocol import State, StateChange
from .query import AsyncQuery, Result
from .stream import AsyncStream, AsyncSubscription, Slow
from .sync_alerts import Alerts
from .sync_feed import Feed
from .sync_licences import Licences
from .sync_live import Live
from .table import AsyncTable, Rows, UploadProgress, Where, new_key
from .values import Parameters, Row

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Gate:
    """A Gatehouse server as one caller sees it::

        with Gate("http://localhost:5080", auth=ClientSecret("demo-service", secret)) as gate:
            frame = gate.query("select * from trades where symbol = :symbol", symbol="ACME").to_pandas()

    It may be used by several threads.
    """

    def __init__(
        self,
        url: str,
        *,
        auth: Auth | None = None,
        issuer: str | None = None,
        timeout: float = 90.0,
        attempts: int = 4,
        heartbeat: float = 10.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """``issuer`` is the identity server, where it is not at ``url``. ``timeout`` is how many seconds the server may
        be silent during a request, ``attempts`` how often a request is sent at most, ``heartbeat`` after how many
        seconds an idle stream is tested, and ``tls`` replaces the trust of the system in certificates."""
        self._gate = AsyncGate(
            url, auth=auth, issuer=issuer, timeout=timeout, attempts=attempts, heartbeat=heartbeat, tls=tls
        )
        self._portal = Portal()
        self._stream = Stream(self._gate.stream, self._portal)
        # A gate that is forgotten is closed, also when the program ends.
        weakref.finalize(self, self._portal.close, self._gate.aclose)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._gate.url}>"

    @property
    def url(self) -> str:
        return self._gate.url

    def query(self, statement: str, parameters: Parameters | None = None, /, **named: Any) -> Query:
        """A statement that reads, with its parameters: ``:symbol`` by name, or ``$1`` from a list. It is sent when it
        is looped over, or asked for in a form such as ``rows()`` or ``to_pandas()``."""
        return Query(self._gate.query(statement, parameters, **named), self._portal)

    def execute(
        self,
        statement: str,
        parameters: Parameters | None = None,
        /,
        *,
        idempotency_key: str | None = None,
        **named: Any,
    ) -> Result:
        """Runs any statement at once. One that writes is repeated after a lost reply only with an idempotency key, by
        which the server recognises it."""
        return self._portal.run(self._gate.execute(statement, parameters, idempotency_key=idempotency_key, **named))

    def table(self, name: str) -> Table:
        """A table by name, for calls that need no statement."""
        return Table(self._gate.table(name), self._portal)

    def live(
        self, statement: str, parameters: Parameters | None = None, /, *, max_rate: int | None = None, **named: Any
    ) -> Live:
        """The result of a statement, kept up to date, with at most ``max_rate`` changes per second (1 to 50)."""
        return Live(self._gate.live(statement, parameters, max_rate=max_rate, **named), self._portal)

    def feed(self, name: str) -> Feed:
        """A feed by name: publish messages, subscribe to them, read what is kept."""
        return Feed(self._gate.feed(name), self._portal)

    @property
    def licences(self) -> Licences:
        """What the caller may see of market data, and how to get more."""
        return Licences(self._gate.licences, self._portal)

    @property
    def alerts(self) -> Alerts:
        """The alerts of the caller."""
        return Alerts(self._gate.alerts, self._portal)

    @property
    def stream(self) -> Stream:
        """Requests and subscriptions on one WebSocket."""
        return self._stream

    def token(self) -> str:
        """A valid access token, for other libraries."""
        return self._portal.run(self._gate.token())

    def user(self) -> Mapping[str, Any]:
        """Who is signed in, as the server says now."""
        return self._portal.run(self._gate.user())

    def sign_out(self) -> None:
        """Forgets the tokens, and revokes them."""
        self._portal.run(self._gate.sign_out())

    def close(self) -> None:
        """Ends everything that is open, and the thread. What waits raises ``client.closed``."""
        self._portal.close(self._gate.aclose)

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Query:
    """A statement that reads and has not been sent yet. Loop over it, or ask for a form of its result."""

    def __init__(self, query: AsyncQuery, portal: Portal) -> None:
        self._query = query
        self._portal = portal

    def __repr__(self) -> str:
        return repr(self._query).replace("<AsyncQuery", "<Query")

    def __iter__(self) -> Iterator[Row]:
        """Row by row, as fast as they are read: of any number of rows only a few are in memory."""
        # Many at a time: a row costs no change of threads.
        for rows in self._portal.iterate(self._query.pieces):
            yield from rows

    @property
    def licences(self) -> tuple[LicenceLabel, ...]:
        """What is delayed, or left out: known when the first rows have been read."""
        return self._query.licences

    def rows(self) -> list[Row]:
        """All rows."""
        return self._portal.run(self._query.rows())

    def first(self) -> Row | None:
        """The first row, or None."""
        return self._portal.run(self._query.first())

    def result(self, *, after: str | None = None) -> Result:
        """One page, of at most as many rows as the server puts into one; ``after`` is ``next`` of the page before."""
        return self._portal.run(self._query.result(after=after))

    def to_arrow(self) -> pyarrow.Table:
        """A pyarrow.Table. Its Decimals are decimal128, its Integers int64, its Timestamps in UTC with microseconds."""
        arrow.arrow_module()
        return arrow.read_arrow(self.arrow_bytes())

    def to_pandas(self, **options: Any) -> pandas.DataFrame:
        """A DataFrame whose columns keep their exact types (ArrowDtype). The options are those of Table.to_pandas."""
        return arrow.read_pandas(self.arrow_bytes(), options)

    def to_polars(self) -> polars.DataFrame:
        """A DataFrame of polars, which reads Arrow by itself and keeps the exact types."""
        return arrow.read_polars(self.arrow_bytes())

    def to_csv(self) -> str:
        """A header line and one line per row; an empty field is NULL, ``""`` is the empty text."""
        return self._portal.run(self._query.to_csv())

    def arrow_bytes(self) -> bytearray:
        """The result as an Arrow stream (IPC), for other libraries or a file."""
        return self._portal.run(self._query.arrow_bytes())

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        """Record batches as they arrive: of any number of rows only one batch is in memory."""
        arrow.arrow_module()
        body = self._portal.run(self._query.arrow_body(self._portal.run))
        try:
            reader = arrow.open_batches(body)
            while (batch := arrow.next_batch(reader)) is not None:
                yield batch
        finally:
            self._portal.release(body.end())

    def explain(self) -> list[Row]:
        """How the statement would be run."""
        return self._portal.run(self._query.explain())


class Table:
    """A table by name."""

    def __init__(self, table: AsyncTable, portal: Portal) -> None:
        self._table = table
        self._portal = portal

    def select(
        self,
        where: Where = (),
        *,
        columns: Sequence[str] | None = None,
        order_by: str | Sequence[str] | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> Result:
        """Rows by criteria, page by page if there are many: pass ``next`` as ``after``."""
        return self._portal.run(self._table.select(where, columns=columns, order_by=order_by, limit=limit, after=after))

    def rows(self, where: Where = (), **options: Any) -> Iterator[Row]:
        """All rows of all pages. The options are those of ``select``."""
        return self._portal.iterate(lambda: self._table.rows(where, **options))

    def insert(self, rows: Rows, *, idempotency_key: str | None = None) -> Result:
        """One row or several, all or none. The result has the rows with their defaults."""
        given = rows if isinstance(rows, Mapping) else list(rows)
        return self._portal.run(self._table.insert(given, idempotency_key=idempotency_key))

    def update(self, where: Where, assignments: Mapping[str, Any], *, idempotency_key: str | None = None) -> Result:
        """Changes the rows that match."""
        return self._portal.run(self._table.update(where, assignments, idempotency_key=idempotency_key))

    def delete(self, where: Where, *, idempotency_key: str | None = None) -> Result:
        """Deletes the rows that match."""
        return self._portal.run(self._table.delete(where, idempotency_key=idempotency_key))

    def upload(
        self,
        rows: Iterable[Mapping[str, Any]],
        *,
        piece_rows: int = 1000,
        idempotency_key: str | None = None,
        on_progress: Callable[[UploadProgress], object] | None = None,
    ) -> UploadProgress:
        """Inserts any number of rows in pieces, each of which is inserted or not as a whole. Repeated with the same
        rows and the same key it continues where it ended."""
        key = idempotency_key or new_key()
        progress = UploadProgress(0, 0)
        given = iter(rows)
        # The rows are read in this thread: they may come from another query of the same gate.
        while piece := list(itertools.islice(given, piece_rows)):
            self.insert(piece, idempotency_key=f"{key}:{progress.pieces}")
            progress = UploadProgress(progress.rows + len(piece), progress.pieces + 1)
            if on_progress is not None:
                on_progress(progress)
        return progress


class Stream:
    """The stream of a server. Every call connects by itself."""

    def __init__(self, stream: AsyncStream, portal: Portal) -> None:
        self._stream = stream
        self._portal = portal

    @property
    def state(self) -> State:
        return self._stream.state

    def on_state_change(self, listener: Callable[[StateChange], object]) -> Callable[[], None]:
        """Calls the listener after each change of state, in the thread of the gate. The result removes it."""
        return self._stream.on_state_change(listener)

    def connect(self, *, timeout: float | None = None) -> None:
        """Returns once the connection is online."""
        self._portal.run(within(self._stream.connect, timeout))

    def request(self, controller: str, topic: str, data: Any = None, *, timeout: float = 40.0) -> Any:
        """Sends a request and returns the ``Data`` of its reply. If the connection breaks, it may or may not have been
        executed, and a GatehouseConnectionError says so."""
        return self._portal.run(self._stream.request(controller, topic, data, timeout=timeout))

    def subscribe(self, controller: str, topic: str, data: Any = None, *, slow: Slow = "error") -> Subscription:
        """Subscribes to a topic. With ``slow="error"`` up to 1,000 messages wait for the loop, and then it raises
        ``client.slow``; with ``slow="latest"`` only the newest waits."""
        return Subscription(self._portal.call(self._stream.subscribe, controller, topic, data, slow=slow), self._portal)

    def close(self) -> None:
        """Ends the connection; another request or subscription opens a new one."""
        self._portal.run(self._stream.aclose())


class Subscription:
    """The messages of a topic, for a loop. It survives reconnects, which ``resumes`` counts."""

    def __init__(self, subscription: AsyncSubscription, portal: Portal) -> None:
        self._subscription = subscription
        self._portal = portal

    @property
    def controller(self) -> str:
        return self._subscription.controller

    @property
    def topic(self) -> str:
        return self._subscription.topic

    @property
    def resumes(self) -> int:
        return self._subscription.resumes

    def ready(self, timeout: float | None = None) -> Subscription:
        """Returns when the server has confirmed; raises when it has refused."""
        self._portal.run(within(self._subscription.ready, timeout))
        return self

    def __iter__(self) -> Subscription:
        return self

    def __next__(self) -> Any:
        try:
            return self.next()
        except StopAsyncIteration:
            raise StopIteration from None

    def next(self, timeout: float | None = None) -> Any:
        """The ``Data`` of the next message. Raises TimeoutError if none arrives within ``timeout`` seconds."""
        return self._portal.run(within(self._subscription.__anext__, timeout))

    def close(self) -> None:
        """Ends the subscription, and the loop over it."""
        self._portal.release(self._subscription.aclose())

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
