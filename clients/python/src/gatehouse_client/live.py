"""Live queries: a result that is kept up to date, over lost connections too."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .events import MessageReader, live_messages
from .http import Http
from .licence_labels import LicenceLabel, read_as_of, read_labels
from .values import Column, Parameters, Row, RowReader, columns_of, encode_parameters


@dataclass(frozen=True)
class Replaced:
    """A row that is different now."""

    before: Row
    after: Row


@dataclass(frozen=True)
class Change:
    """What has happened since the change before."""

    put: list[Row]
    """Rows that are new or different."""
    remove: list[Row]
    """Rows that are gone."""
    replaced: list[Replaced] = field(repr=False)
    """The rows of ``put`` that were there before, with what they were."""
    snapshot: bool
    """The whole result was sent: ``put`` is all of it."""
    reason: str | None
    """Why the whole result was sent again, if it was: ``Rights``, ``Definition``, ``Expired`` or ``Overflow``."""
    recovered: bool | None
    """After a lost connection: True if all missed changes were sent, False if the whole result was."""


@dataclass
class _Pieces:
    """Those of a message that is not yet complete."""

    put: list[Mapping[str, Any]] = field(default_factory=list)
    remove: list[Any] = field(default_factory=list)


class LiveResult:
    """Applies the messages of docs/live.md to the rows that are held."""

    def __init__(self) -> None:
        self.columns: tuple[Column, ...] = ()
        self.method: str | None = None
        self.licences: tuple[LicenceLabel, ...] = ()
        self.as_of: datetime | None = None
        self.held: dict[str, Row] = {}
        self._reader = RowReader(())
        self._pieces = _Pieces()
        self._is_whole = False
        self._reason: str | None = None

    def take(self, message: Mapping[str, Any]) -> Change | None:
        """The change, if the message completes one."""
        kind = message.get("Kind")
        self.as_of = read_as_of(message.get("AsOf")) or self.as_of
        if kind == "Lost":
            self._pieces = _Pieces()
            return None
        if kind == "Reset":
            # What is held is shown until the new result is complete.
            self._is_whole, self._reason, self._pieces = True, message.get("Reason"), _Pieces()
            return None
        if kind not in ("Snapshot", "Change"):
            return None
        if kind == "Snapshot" and "Columns" in message:
            self._is_whole, self._pieces = True, _Pieces()
            self.method = message.get("Method")
            self.columns = columns_of(message["Columns"])
            self.licences = read_labels(message.get("Licence"))
            self.as_of = next((label.as_of for label in self.licences if label.as_of is not None), None)
            self._reader = RowReader(self.columns)
        self._pieces.put += message.get("Put", ())
        self._pieces.remove += message.get("Remove", ())
        if message.get("More") is True:
            return None
        pieces, self._pieces = self._pieces, _Pieces()
        change = self._apply(pieces, message.get("Recovered"))
        is_empty = not (change.put or change.remove or change.snapshot)
        return None if is_empty and change.recovered is None else change

    def _apply(self, pieces: _Pieces, recovered: bool | None) -> Change:
        held = {} if self._is_whole else self.held
        before = dict(self.held) if self._is_whole else {}
        for key in map(_key, pieces.remove):
            if key in held:
                before[key] = held.pop(key)
        put = {_key(entry["Key"]): self._reader.of_object(entry["Row"]) for entry in pieces.put}
        for key in put:
            if key in held:
                before[key] = held[key]
        indexes = [entry.get("Index") for entry in pieces.put]
        if any(index is not None for index in indexes):
            held = _placed(held, put, [index or 0 for index in indexes])
        else:
            held.update(put)
        change = Change(
            put=list(put.values()),
            remove=[row for key, row in before.items() if key not in put],
            replaced=[Replaced(row, put[key]) for key, row in before.items() if key in put],
            snapshot=self._is_whole,
            reason=self._reason,
            recovered=recovered,
        )
        self.held, self._is_whole, self._reason = held, False, None
        return change


def _placed(held: dict[str, Row], put: dict[str, Row], indexes: Sequence[int]) -> dict[str, Row]:
    """With ORDER BY each entry has its place in the new result; the rows that stay fill the places between."""
    kept = iter([(key, row) for key, row in held.items() if key not in put])
    placed: dict[str, Row] = {}
    for index, (key, row) in sorted(zip(indexes, put.items(), strict=True), key=lambda item: item[0]):
        while len(placed) < index and (stay := next(kept, None)) is not None:
            placed[stay[0]] = stay[1]
        placed[key] = row
    placed.update(kept)
    return placed


def _key(key: Any) -> str:
    return json.dumps(key)


class AsyncLive:
    """The result of a statement, kept up to date. Loop over it for the changes; ``rows`` is the result after each.

    Nothing is read ahead of the loop: the server sends a slow reader fewer, larger changes.
    """

    def __init__(
        self,
        http: Http,
        statement: str,
        parameters: Parameters | None,
        named: Mapping[str, Any],
        max_rate: int | None,
    ) -> None:
        request: dict[str, Any] = {"Statement": statement, "Parameters": encode_parameters(parameters, named)}
        if max_rate is not None:
            request["MaxRate"] = max_rate
        self._reader = MessageReader(live_messages(http, request))
        self._result = LiveResult()
        self._rows: list[Row] | None = None

    @property
    def rows(self) -> list[Row]:
        """The result as of the last change, in the order of the statement: a new list after each change."""
        if self._rows is None:
            self._rows = list(self._result.held.values())
        return self._rows

    @property
    def columns(self) -> tuple[Column, ...]:
        """Known after the first change."""
        return self._result.columns

    @property
    def method(self) -> str | None:
        """How the server keeps it up to date, after the first change: ``keys``, ``rerun`` or ``clock``."""
        return self._result.method

    @property
    def licences(self) -> tuple[LicenceLabel, ...]:
        """What is delayed, or left out, after the first change; empty: all rows are here, as they are now."""
        return self._result.licences

    @property
    def as_of(self) -> datetime | None:
        """The delayed rows are as of this time; None: no rows are delayed."""
        return self._result.as_of

    def __aiter__(self) -> AsyncLive:
        return self

    async def __anext__(self) -> Change:
        """The next change. It can be cancelled and asked for again; nothing is lost."""
        while True:
            if (change := self._result.take(await self._reader.next())) is not None:
                self._rows = None
                return change

    async def states(self) -> AsyncIterator[list[Row]]:
        """The whole result, at first and after each change."""
        async for _ in self:
            yield self.rows

    async def aclose(self) -> None:
        """Ends it here and on the server. ``rows`` stay as they are."""
        await self.end(None)

    async def end(self, error: Exception | None) -> None:
        """With an error for those who wait, or without one: then their loops end."""
        await self._reader.end(error)

    async def __aenter__(self) -> AsyncLive:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
