"""What results and subscriptions say of licences of market data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from .values import read_timestamp


@dataclass(frozen=True)
class LicenceLabel:
    """What is delayed in a result or subscription, or left out of it."""

    product: str | None
    """None: what no product names."""
    access: Literal["delayed", "none"]
    delay: float | None = None
    """Seconds."""
    as_of: datetime | None = None
    """Rows are as of this time, or a moment later."""
    table: str | None = None
    column: str | None = None
    """None: all rows of the table."""
    values: tuple[str | int, ...] | Literal["others"] | None = None
    """The rows with these values of the column; ``others``: with those that no product names."""
    feed: str | None = None
    topics: tuple[str, ...] | None = None
    """Of a feed; None: all of the subscription."""


def read_labels(given: object) -> tuple[LicenceLabel, ...]:
    """The list ``Licence`` of a reply or message."""
    return tuple(map(_label, given)) if isinstance(given, list) else ()


def read_as_of(text: str | None) -> datetime | None:
    return None if text is None else read_timestamp(text)


def _label(given: Mapping[str, Any]) -> LicenceLabel:
    values, topics = given.get("Values"), given.get("Topics")
    return LicenceLabel(
        product=given.get("Product"),
        access=given["Access"],
        delay=given.get("Delay"),
        as_of=read_as_of(given.get("AsOf")),
        table=given.get("Table"),
        column=given.get("Column"),
        values=tuple(values) if isinstance(values, list) else values,
        feed=given.get("Feed"),
        topics=None if topics is None else tuple(topics),
    )
