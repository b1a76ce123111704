"""Queries: rows, a stream of rows, Arrow, pandas, polars, CSV, or a page of the result."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import arrow
from .errors import QueryError, problem_error
from .http import Http
from .licence_labels import LicenceLabel, read_labels
from .values import Column, Parameters, Row, RowReader, columns_of, encode_parameters

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_COMMENT = re.compile(r"\A(?:\s+|--[^\n]*|/\*.*?\*/)+", re.DOTALL)
_WRITING = frozenset({"insert", "update", "delete", "create", "alter", "drop"})
_READING = frozenset({"select", "with", "explain", "show", "describe"})
#: Many lines are parsed at once, which is much faster; not all of a large piece, so that others get a turn.
_LINES = 500


@dataclass(frozen=True)
class Result:
    """Rows with their columns, and what the server says about them."""

    columns: tuple[Column, ...]
    rows: list[Row] = field(repr=False)
    rows_affected: int | None
    """For statements and calls that write."""
    truncated: bool
    """The server has a limit of rows for one page, and there are more."""
    next: str | None
    """Where the next page begins, if there is one."""
    elapsed_ms: float
    """On the server."""
    request_id: str
    licences: tuple[LicenceLabel, ...] = ()
    """What is delayed, or left out; empty: all rows are here, as they are now."""


class AsyncQuery:
    """A statement that reads and has not been sent yet. ``await`` it for its rows, loop over it, or ask for a form."""

    def __init__(self, http: Http, statement: str, parameters: Parameters | None, named: Mapping[str, Any]) -> None:
        if first_word(statement) in _WRITING:
            raise ValueError("query() is for statements that read: send this one with execute()")
        self._http = http
        self._statement = statement
        self._parameters = encode_parameters(parameters, named)
        #: What is delayed, or left out: known when the first rows have been read.
        self.licences: tuple[LicenceLabel, ...] = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._statement!r}>"

    def __await__(self) -> Generator[Any, None, list[Row]]:
        return self.rows().__await__()

    async def __aiter__(self) -> AsyncIterator[Row]:
        """Row by row, as fast as they are read: of any number of rows only a few are in memory."""
        pieces = self.pieces()
        try:
            async for rows in pieces:
                for row in rows:
                    yield row
        finally:
            await pieces.aclose()

    async def rows(self) -> list[Row]:
        """All rows."""
        return [row async for rows in self.pieces() for row in rows]

    async def first(self) -> Row | None:
        """The first row, or None."""
        pieces = self.pieces()
        try:
            return (await anext(pieces, [None]))[0]
        finally:
            await pieces.aclose()

    async def result(self, *, after: str | None = None) -> Result:
        """One page, of at most as many rows as the server puts into one; ``after`` is ``next`` of the page before."""
        response = await self._send("application/json", {} if after is None else {"after": after})
        return read_result(await self._http.read(response), self._http, self._statement)

    async def to_arrow(self) -> pyarrow.Table:
        """A pyarrow.Table. Its Decimals are decimal128, its Integers int64, its Timestamps in UTC with microseconds."""
        arrow.arrow_module()
        return await asyncio.to_thread(arrow.read_arrow, await self.arrow_bytes())

    async def to_pandas(self, **options: Any) -> pandas.DataFrame:
        """A DataFrame whose columns keep their exact types (ArrowDtype). The options are those of Table.to_pandas."""
        return await asyncio.to_thread(arrow.read_pandas, await self.arrow_bytes(), options)

    async def to_polars(self) -> polars.DataFrame:
        """A DataFrame of polars, which reads Arrow by itself and keeps the exact types."""
        return await asyncio.to_thread(arrow.read_polars, await self.arrow_bytes())

    async def to_csv(self) -> str:
        """A header line and one line per row; an empty field is NULL, ``""`` is the empty text."""
        return (await self._http.read(await self._send("text/csv"))).decode()

    async def arrow_bytes(self) -> bytearray:
        """The result as an Arrow stream (IPC), for other libraries or a file."""
        return await self._http.read(await self._send(arrow.FORMAT))

    async def batches(self) -> AsyncIterator[pyarrow.RecordBatch]:
        """Record batches as they arrive: of any number of rows only one batch is in memory."""
        arrow.arrow_module()
        loop = asyncio.get_running_loop()
        body = await self.arrow_body(lambda read: asyncio.run_coroutine_threadsafe(read, loop).result())
        # pyarrow reads by blocking calls, so they are made in a thread, one at a time.
        with ThreadPoolExecutor(1, "gatehouse-arrow") as thread:
            try:
                reader = await loop.run_in_executor(thread, arrow.open_batches, body)
                while (batch := await loop.run_in_executor(thread, arrow.next_batch, reader)) is not None:
                    yield batch
            finally:
                # Ends a read that waits for the server, so that the thread can end.
                await body.end()

    async def explain(self) -> list[Row]:
        """How the statement would be run."""
        return await AsyncQuery(self._http, f"explain {self._statement}", self._parameters, {}).rows()

    async def arrow_body(self, run: arrow.Run) -> arrow.ArrowBody:
        """The result as a file, for a thread that reads batches."""
        return arrow.ArrowBody(self._http.chunks(await self._send(arrow.FORMAT)), run)

    async def pieces(self) -> AsyncGenerator[list[Row], None]:
        """Rows, as many at a time as have arrived."""
        response = await self._send("application/x-ndjson", {"rows": "arrays", "header": "columns"})
        lines = self._http.lines(response)
        reader = RowReader(())
        try:
            async for arrived in lines:
                for start in range(0, len(arrived), _LINES):
                    items = json.loads(b"[%b]" % b",".join(filter(None, arrived[start : start + _LINES])))
                    # Rows are arrays. An object is about the result: its columns first, or what went wrong last.
                    if items and isinstance(items[0], dict) and "Columns" in items[0]:
                        head = items.pop(0)
                        reader = RowReader(columns_of(head["Columns"]))
                        self.licences = read_labels(head.get("Licence"))
                    end = items.pop() if items and isinstance(items[-1], dict) else {}
                    if items:
                        yield [reader.of_array(values) for values in items]
                    self._check_end(end)
        finally:
            await lines.aclose()

    def _check_end(self, end: Mapping[str, Any]) -> None:
        if "Error" in end:
            raise problem_error(end["Error"], statement=self._statement, docs_url=self._http.docs_url)
        if end.get("Truncated") is True:
            message = "The result is too large: the server has a limit of bytes"
            raise QueryError(message, code="client.truncated", hint="ask for fewer rows or columns")

    async def _send(self, accept: str, search: Mapping[str, str | int] | None = None) -> Any:
        return await self._http.request(
            "/query",
            {"Statement": self._statement, "Parameters": self._parameters},
            headers={"accept": accept},
            search={"writes": "refused", **(search or {})},
            statement=self._statement,
        )


def read_result(content: bytes | bytearray, http: Http, statement: str | None = None) -> Result:
    """Reads the JSON of a result. An error after the first rows is in its last member."""
    reply = json.loads(content)
    if "Error" in reply:
        raise problem_error(reply["Error"], statement=statement, docs_url=http.docs_url)
    columns = columns_of(reply.get("Columns"))
    reader = RowReader(columns)
    return Result(
        columns=columns,
        rows=[reader.of_object(row) for row in reply.get("Rows", ())],
        rows_affected=reply.get("RowsAffected"),
        truncated=reply.get("Truncated") is True,
        next=reply.get("NextCursor"),
        elapsed_ms=float(reply.get("ElapsedMs", 0)),
        request_id=str(reply.get("RequestId", "")),
        licences=read_labels(reply.get("Licence")),
    )


def first_word(statement: str) -> str:
    """The first keyword, past white space and comments."""
    match = re.match(r"\w+", _COMMENT.sub("", statement))
    return "" if match is None else match[0].lower()


def is_reading(statement: str) -> bool:
    return first_word(statement) in _READING
