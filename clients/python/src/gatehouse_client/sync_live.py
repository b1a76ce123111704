"""Live queries for scripts, notebooks and threads."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from .licence_labels import LicenceLabel
from .live import AsyncLive, Change
from .portal import Portal, within
from .values import Column, Row


class Live:
    """The result of a statement, kept up to date. Loop over it for the changes; ``rows`` is the result after each."""

    def __init__(self, live: AsyncLive, portal: Portal) -> None:
        self._live = live
        self._portal = portal

    @property
    def rows(self) -> list[Row]:
        """The result as of the last change, in the order of the statement: a new list after each change."""
        return self._live.rows

    @property
    def columns(self) -> tuple[Column, ...]:
        """Known after the first change."""
        return self._live.columns

    @property
    def method(self) -> str | None:
        """How the server keeps it up to date, after the first change: ``keys``, ``rerun`` or ``clock``."""
        return self._live.method

    @property
    def licences(self) -> tuple[LicenceLabel, ...]:
        """What is delayed, or left out, after the first change; empty: all rows are here, as they are now."""
        return self._live.licences

    @property
    def as_of(self) -> datetime | None:
        """The delayed rows are as of this time; None: no rows are delayed."""
        return self._live.as_of

    def __iter__(self) -> Live:
        return self

    def __next__(self) -> Change:
        try:
            return self.next()
        except StopAsyncIteration:
            raise StopIteration from None

    def next(self, timeout: float | None = None) -> Change:
        """The next change. Raises TimeoutError if none arrives within ``timeout`` seconds, and can be called again."""
        return self._portal.run(within(self._live.__anext__, timeout))

    def states(self) -> Iterator[list[Row]]:
        """The whole result, at first and after each change."""
        for _ in self:
            yield self.rows

    def close(self) -> None:
        """Ends it here and on the server. ``rows`` stay as they are."""
        self._portal.release(self._live.aclose())

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
