"""Licences of market data: what the caller may see, and what results and feeds say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal


@dataclass(frozen=True)
class LicenceLabel:
    """What is delayed in a result or subscription, or left out of it."""

    product: str | None
    """None: what no product names."""
    access: Literal["delayed", "none"]
    delay: float | None = None
    """Seconds."""
    as_of: datetime | None = None
    """The rows are as of this time, or a moment later."""
    table: str | None = None
    column: str | None = None
    values: tuple[str | int, ...] | Literal["others"] | None = None
    """The rows with these values of the column; ``others``: with those that no product names."""
    feed: str | None = None
    topics: tuple[str, ...] | None = None
    """Of a feed; None: all of the subscription."""


@dataclass(frozen=True)
class Licence:
    """What the caller has of a product."""

    product: str
    access: Literal["none", "delayed", "realtime"]
    reason: str
    """What gave the access, such as ``role``; or what is missing, such as ``agreement``."""
    delay: float | None = None
    """Seconds."""
    until: datetime | None = None
    agreement: Mapping[str, Any] | None = None
    """With the names of docs/licences.md: ``Id``, ``Version``, ``Title``, ``Url``, ``Accepted`` …"""
    trial: Mapping[str, Any] | None = None


def read_labels(given: object) -> tuple[LicenceLabel, ...]:
    """The list ``Licence`` of a reply or message."""
    return tuple(_label(each) for each in given) if isinstance(given, list) else ()


def read_licence(item: Mapping[str, Any]) -> Licence:
    return Licence(
        product=item["Product"],
        access=item["Access"],
        reason=item["Reason"],
        delay=item.get("Delay"),
        until=read_time(item.get("Until")),
        agreement=item.get("Agreement"),
        trial=item.get("Trial"),
    )


def read_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text.replace("Z", "+00:00"))


def _label(given: Mapping[str, Any]) -> LicenceLabel:
    values, topics = given.get("Values"), given.get("Topics")
    return LicenceLabel(
        product=given.get("Product"),
        access=given["Access"],
        delay=given.get("Delay"),
        as_of=read_time(given.get("AsOf")),
        table=given.get("Table"),
        column=given.get("Column"),
        values=tuple(values) if isinstance(values, list) else values,
        feed=given.get("Feed"),
        topics=None if topics is None else tuple(topics),
    )
