"""Values: exact in results, by the type of their column, and exact in what is sent."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

Row = dict[str, Any]
"""A row by the names of its columns."""

Parameters = Mapping[str, Any] | Sequence[Any]
"""The values of ``:name`` by name, or of ``$1``, ``$2`` … in order."""


@dataclass(frozen=True)
class Column:
    """A column of a result, as the server describes it."""

    name: str
    type: str
    """For example ``Decimal(18, 4)``."""
    nullable: bool


def columns_of(description: object) -> tuple[Column, ...]:
    """``Columns`` of a reply, in order."""
    if not isinstance(description, dict):
        return ()
    items = sorted(description.items(), key=lambda item: int(item[1]["Ordinal"]))
    return tuple(Column(name, str(column["Type"]), bool(column["Nullable"])) for name, column in items)


def read_timestamp(text: str) -> datetime:
    """RFC 3339 in UTC, with up to six digits of a second."""
    # Before 3.11, datetime.fromisoformat takes no "Z".
    return read_local_timestamp(text.removesuffix("Z")).replace(tzinfo=timezone.utc)


def read_local_timestamp(text: str) -> datetime:
    """Without tzinfo: the statement has chosen the zone."""
    # Before 3.11, datetime.fromisoformat does not take one to five digits.
    moment, _, fraction = text.partition(".")
    return datetime.fromisoformat(f"{moment}.{fraction:0<6}")


def read_time(text: str) -> time:
    clock, _, fraction = text.partition(".")
    return time.fromisoformat(f"{clock}.{fraction:0<6}")


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "Decimal": Decimal,
    # NaN and the infinities are texts in JSON.
    "Double": float,
    "Timestamp": read_timestamp,
    "LocalTimestamp": read_local_timestamp,
    "Date": date.fromisoformat,
    "Time": read_time,
    "Uuid": UUID,
    "Binary": base64.b64decode,
}


def readers_of(columns: Sequence[Column]) -> list[tuple[int, Callable[[Any], Any]]]:
    """The columns, by place, whose JSON form is not yet their value."""
    found = ((place, _READERS.get(column.type.partition("(")[0])) for place, column in enumerate(columns))
    return [(place, reader) for place, reader in found if reader is not None]


class RowReader:
    """Makes rows of what JSON carries."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._names = [column.name for column in columns]
        self._readers = readers_of(columns)

    def of_array(self, values: list[Any]) -> Row:
        for place, read in self._readers:
            if values[place] is not None:
                values[place] = read(values[place])
        return dict(zip(self._names, values, strict=True))

    def of_object(self, row: Row) -> Row:
        for place, read in self._readers:
            name = self._names[place]
            if row.get(name) is not None:
                row[name] = read(row[name])
        return row


def encode(value: Any) -> Any:
    """A value as JSON carries it to the server, which reads texts by the type of their column or parameter."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _not_finite(value)
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"A Decimal has no {value}: use None, or a float for a Double")
        return format(value, "f")
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone: give it one, for example tzinfo=timezone.utc")
        return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(value, (date, time)):
        if isinstance(value, time) and value.tzinfo is not None:
            raise ValueError(f"{value!r} has a time zone, which a Time of the server has not")
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): encode(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    # The scalars of NumPy, pandas and pyarrow have a Python value.
    for method in ("item", "as_py"):
        if callable(convert := getattr(value, method, None)):
            return encode(convert())
    raise TypeError(f"A {type(value).__name__} cannot be sent: {value!r}")


def encode_members(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: encode(value) for name, value in members.items()}


def encode_parameters(given: Parameters | None, named: Mapping[str, Any]) -> dict[str, Any] | list[Any]:
    """Both forms of ``query(statement, given, **named)``: only one of them may be used in one statement."""
    if given is None:
        return encode_members(named)
    if isinstance(given, (str, bytes)):
        raise TypeError("Give the parameters in a list or a mapping, or by name: query(statement, symbol='ACME')")
    if isinstance(given, Mapping):
        return encode_members({**given, **named})
    if named:
        raise TypeError("A statement has parameters by name or in order, not both")
    return [encode(value) for value in given]


def to_json(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
