"""Arrow: results for pyarrow, pandas and polars, whole or in batches. None of them is imported before it is used."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from .errors import closed_error

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

FORMAT = "application/vnd.apache.arrow.stream"
Run = Callable[[Coroutine[Any, Any, bytes]], bytes]
"""Runs a coroutine in the event loop, from another thread."""


def read_arrow(content: bytearray) -> pyarrow.Table:
    pa = arrow_module()
    with pa.ipc.open_stream(pa.py_buffer(content)) as reader:
        return reader.read_all()


def read_pandas(content: bytearray, options: Mapping[str, Any]) -> pandas.DataFrame:
    table = read_arrow(content)
    try:
        import pandas as pd
    except ImportError as error:
        raise _missing("pandas", "pandas") from error
    # With ArrowDtype each column keeps its type, also where values are missing.
    return table.to_pandas(**{"types_mapper": pd.ArrowDtype, **options})


def read_polars(content: bytearray) -> polars.DataFrame:
    """polars reads Arrow by itself."""
    try:
        import polars as pl
    except ImportError as error:
        raise _missing("polars", "polars") from error
    return pl.read_ipc_stream(io.BytesIO(content))


def open_batches(body: ArrowBody) -> Any:
    """A reader of record batches. pyarrow takes a short read for the end of the file, so the reads are buffered."""
    return arrow_module().ipc.open_stream(io.BufferedReader(body))


def next_batch(reader: Any) -> Any:
    """None at the end: a StopIteration cannot leave a thread of an executor."""
    try:
        return reader.read_next_batch()
    except StopIteration:
        return None


def arrow_module() -> Any:
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError as error:
        raise _missing("pyarrow", "arrow") from error
    return pyarrow


def _missing(module: str, extra: str) -> ImportError:
    return ImportError(f"This needs {module}: install gatehouse-client[{extra}]", name=module)


class ArrowBody(io.RawIOBase):
    """The body of a reply as a file for pyarrow, which reads it in another thread than the one of the event loop."""

    def __init__(self, chunks: AsyncGenerator[bytes, None], run: Run) -> None:
        self._chunks = chunks
        self._run = run
        self._rest = memoryview(b"")
        self._reading: asyncio.Task[bytes] | None = None
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            self._rest = memoryview(self._run(self._next()))
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    async def end(self) -> None:
        """In the thread of the event loop."""
        self._ended = True
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])
        await self._chunks.aclose()

    async def _next(self) -> bytes:
        if self._ended:
            raise closed_error("result")
        self._reading = asyncio.ensure_future(_piece(self._chunks))
        try:
            return await self._reading
        except asyncio.CancelledError:
            if self._ended:
                raise closed_error("result") from None
            raise
        finally:
            self._reading = None


async def _piece(chunks: AsyncGenerator[bytes, None]) -> bytes:
    async for chunk in chunks:
        if chunk:
            return chunk
    return b""
