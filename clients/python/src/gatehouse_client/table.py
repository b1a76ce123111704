"""Calls on a table that need no statement: their criteria and their bodies."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from .http import Http
from .query import Result, read_result
from .values import Row, encode, encode_members

Criterion = Mapping[str, Any]
"""One condition as the service takes it: ``{"ColumnName", "Operator", "Value"}``, ``{"Or": […]}``, ``{"Not": {…}}``."""

Where = Mapping[str, Any] | Sequence[Criterion]
"""Conditions by column that must all be true: a value, a list of values, or operators with values, such as
``{"symbol": ["ACME", "BOLT"], "venue": None, "price": {">=": 40, "<": 50}}``. Or a list of criteria."""

Rows = Mapping[str, Any] | Iterable[Mapping[str, Any]]
"""One row, or several."""


@dataclass(frozen=True)
class UploadProgress:
    """How far an upload is."""

    rows: int
    pieces: int


class AsyncTable:
    """A table by name."""

    def __init__(self, http: Http, name: str) -> None:
        self._http = http
        self._path = f"/Query/{quote(name, safe='')}/"

    async def select(
        self,
        where: Where = (),
        *,
        columns: Sequence[str] | None = None,
        order_by: str | Sequence[str] | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> Result:
        """Rows by criteria, page by page if there are many: pass ``next`` as ``after``."""
        order = [order_by] if isinstance(order_by, str) else order_by
        search: dict[str, str | int | None] = {
            "columns": None if columns is None else ",".join(columns),
            "orderby": None if order is None else ",".join(order),
            "limit": limit,
            "after": after,
        }
        given = {name: value for name, value in search.items() if value is not None}
        return await self._call("Select", criteria_of(where), search=given)

    async def rows(self, where: Where = (), **options: Any) -> AsyncIterator[Row]:
        """All rows of all pages. The options are those of ``select``."""
        after = options.pop("after", None)
        while True:
            page = await self.select(where, after=after, **options)
            for row in page.rows:
                yield row
            if (after := page.next) is None:
                return

    async def insert(self, rows: Rows, *, idempotency_key: str | None = None) -> Result:
        """One row or several, all or none. The result has the rows with their defaults."""
        given: Iterable[Any] = [rows] if isinstance(rows, Mapping) else rows
        return await self._write("Insert", [encode_members(row) for row in given], idempotency_key)

    async def update(
        self, where: Where, assignments: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> Result:
        """Changes the rows that match."""
        body = {"Criteria": criteria_of(where), "Assignments": encode_members(assignments)}
        return await self._write("Update", body, idempotency_key)

    async def delete(self, where: Where, *, idempotency_key: str | None = None) -> Result:
        """Deletes the rows that match."""
        return await self._write("Delete", criteria_of(where), idempotency_key)

    async def upload(
        self,
        rows: Iterable[Mapping[str, Any]] | AsyncIterable[Mapping[str, Any]],
        *,
        piece_rows: int = 1000,
        idempotency_key: str | None = None,
        on_progress: Callable[[UploadProgress], object] | None = None,
    ) -> UploadProgress:
        """Inserts any number of rows in pieces, each of which is inserted or not as a whole. Repeated with the same
        rows and the same key it continues where it ended."""
        key = idempotency_key or new_key()
        progress = UploadProgress(0, 0)
        async for piece in _pieces(rows, piece_rows):
            await self.insert(piece, idempotency_key=f"{key}:{progress.pieces}")
            progress = UploadProgress(progress.rows + len(piece), progress.pieces + 1)
            if on_progress is not None:
                on_progress(progress)
        return progress

    async def _write(self, call: str, body: Any, idempotency_key: str | None) -> Result:
        # The key makes a retry after a lost reply safe.
        return await self._call(call, body, headers={"idempotency-key": idempotency_key or new_key()})

    async def _call(self, call: str, body: Any, **options: Any) -> Result:
        response = await self._http.request(self._path + call, body, **options)
        return read_result(await self._http.read(response), self._http)


def new_key() -> str:
    return secrets.token_urlsafe(16)


def criteria_of(where: Where) -> list[Any]:
    if not isinstance(where, Mapping):
        return [encode(criterion) for criterion in where]
    criteria: list[Any] = []
    for column, condition in where.items():
        if isinstance(condition, Mapping):
            operators: Mapping[str, Any] = condition
        elif isinstance(condition, (list, tuple, set, frozenset)):
            operators = {"in": list(condition)}
        else:
            operators = {"=": condition}
        for operator, value in operators.items():
            criteria.append({"ColumnName": column, "Operator": operator, "Value": encode(value)})
    return criteria


async def _pieces(
    rows: Iterable[Mapping[str, Any]] | AsyncIterable[Mapping[str, Any]], size: int
) -> AsyncIterator[list[Mapping[str, Any]]]:
    piece: list[Mapping[str, Any]] = []
    async for row in _each(rows):
        piece.append(row)
        if len(piece) >= size:
            yield piece
            piece = []
    if piece:
        yield piece


async def _each(
    rows: Iterable[Mapping[str, Any]] | AsyncIterable[Mapping[str, Any]],
) -> AsyncIterator[Mapping[str, Any]]:
    if isinstance(rows, AsyncIterable):
        async for row in rows:
            yield row
    else:
        for row in rows:
            yield row
