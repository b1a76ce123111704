"""Licences of market data: what the caller may see, agreements and trials, under ``/licences``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import quote

from .http import Http
from .values import read_timestamp


@dataclass(frozen=True)
class AgreementState:
    """The agreement that a product asks for, and whether the caller has accepted it."""

    id: str
    version: str
    title: str
    url: str
    asks_status: bool
    """Whether people say if they are professionals when they accept it."""
    accepted: bool
    grace: datetime | None
    """The version before counts until then."""


@dataclass(frozen=True)
class LicenceTrial:
    """There is a trial; with ``since`` and ``until`` it has begun."""

    days: float
    since: datetime | None
    until: datetime | None


@dataclass(frozen=True)
class Licence:
    """What the caller has of a product."""

    product: str
    access: Literal["none", "delayed", "realtime"]
    reason: str
    """What gave the access: ``user``, ``client``, ``trial``, ``attribute``, ``role``, ``default``; or what is missing:
    ``none``, ``not_yet``, ``expired``, ``disabled``, ``agreement``."""
    delay: float | None
    """Seconds."""
    until: datetime | None
    agreement: AgreementState | None
    trial: LicenceTrial | None


@dataclass(frozen=True)
class LicenceAgreement:
    """An agreement with its text."""

    id: str
    version: str
    title: str
    asks_status: bool
    language: str
    text: str


class AsyncLicences:
    """What the caller may see of market data, and how to get more."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def list(self) -> Sequence[Licence]:
        """All products, with what the caller has of each, and why."""
        reply = await self._http.json("/licences", method="GET")
        return [_licence(item) for item in reply["items"]]

    async def agreement(self, agreement: str) -> LicenceAgreement:
        """The current version of an agreement, by its id."""
        reply = await self._http.json(_path(agreement), method="GET")
        return LicenceAgreement(
            id=reply["Id"],
            version=reply["Version"],
            title=reply["Title"],
            asks_status=reply["AsksStatus"],
            language=reply["Language"],
            text=reply["Text"],
        )

    async def accept(self, agreement: str, version: str, *, professional: bool | None = None) -> None:
        """Accepts the version that the user has read. ``professional`` is needed where the agreement asks for it."""
        body: dict[str, Any] = {"Version": version}
        if professional is not None:
            body["Professional"] = professional
        await self._http.json(_path(agreement), body)

    async def begin_trial(self, product: str) -> None:
        """Once for each user and product, ever."""
        await self._http.json(f"/licences/{quote(product, safe='')}/trial", {}, idempotent=False)


def _path(agreement: str) -> str:
    return f"/licences/agreements/{quote(agreement, safe='')}"


def _licence(item: Mapping[str, Any]) -> Licence:
    agreement, trial = item.get("Agreement"), item.get("Trial")
    return Licence(
        product=item["Product"],
        access=item["Access"],
        reason=item["Reason"],
        delay=item.get("Delay"),
        until=_time(item.get("Until")),
        agreement=None if agreement is None else _agreement(agreement),
        trial=None if trial is None else _trial(trial),
    )


def _agreement(item: Mapping[str, Any]) -> AgreementState:
    return AgreementState(
        id=item["Id"],
        version=item["Version"],
        title=item["Title"],
        url=item["Url"],
        asks_status=item["AsksStatus"],
        accepted=item["Accepted"],
        grace=_time(item.get("Grace")),
    )


def _trial(item: Mapping[str, Any]) -> LicenceTrial:
    return LicenceTrial(item["Days"], _time(item.get("From")), _time(item.get("Until")))


def _time(text: str | None) -> datetime | None:
    return None if text is None else read_timestamp(text)
