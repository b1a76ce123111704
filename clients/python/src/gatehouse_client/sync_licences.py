"""Licences of market data for scripts, notebooks and threads."""

from __future__ import annotations

from collections.abc import Sequence

from .licences import AsyncLicences, Licence, LicenceAgreement
from .portal import Portal


class Licences:
    """What the caller may see of market data, and how to get more."""

    def __init__(self, licences: AsyncLicences, portal: Portal) -> None:
        self._licences = licences
        self._portal = portal

    def list(self) -> Sequence[Licence]:
        """All products, with what the caller has of each, and why."""
        return self._portal.run(self._licences.list())

    def agreement(self, agreement: str) -> LicenceAgreement:
        """The current version of an agreement, by its id."""
        return self._portal.run(self._licences.agreement(agreement))

    def accept(self, agreement: str, version: str, *, professional: bool | None = None) -> None:
        """Accepts the version that the user has read. ``professional`` is needed where the agreement asks for it."""
        self._portal.run(self._licences.accept(agreement, version, professional=professional))

    def begin_trial(self, product: str) -> None:
        """Once for each user and product, ever."""
        self._portal.run(self._licences.begin_trial(product))
