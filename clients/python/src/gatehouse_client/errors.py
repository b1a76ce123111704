"""What can go wrong, as exceptions: each has a stable ``code`` and says what to do about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

_QUERY_CODE = re.compile(r"(IQL|Data|Criteria|Limit|Request)\.")
_LICENCE_CODES = frozenset({"Licence.Needed", "Licence.Places", "Licence.Displaced"})
_RETRYABLE_STATUS = frozenset({429, 502, 503, 504})


@dataclass(frozen=True)
class Position:
    """Where a statement is wrong."""

    offset: int
    """UTF-16 code units from the start of the statement."""
    line: int
    """From 1."""
    column: int
    """Characters from the start of the line, from 1."""


class GatehouseError(Exception):
    """The base of all errors of this package."""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: int | None = None,
        hint: str | None = None,
        request_id: str | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        docs_url: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        #: Stable, for programs: ``Data.UniqueViolation``, ``invalid_grant``, ``Authority``, ``client.offline`` …
        self.code = code
        #: The HTTP status, if there was a reply.
        self.status = status
        #: What might have been meant, or what to do.
        self.hint = hint
        #: By which the request is found in the logs of the server.
        self.request_id = request_id
        #: Whether the same request can succeed later.
        self.retryable = retryable
        #: Seconds to wait before, if the server said so.
        self.retry_after = retry_after
        #: The page of the server that explains the code.
        self.docs_url = docs_url
        #: Everything else that the server said.
        self.details: Mapping[str, Any] = details or {}

    def __str__(self) -> str:
        hint = "" if self.hint is None else f" ({self.hint})"
        return f"{self.code}: {self.message}{hint}"


class QueryError(GatehouseError):
    """A statement, or a call on a table, was refused or failed."""

    def __init__(
        self, message: str, *, statement: str | None = None, position: Position | None = None, **members: Any
    ) -> None:
        super().__init__(message, **members)
        self.statement = statement
        self.position = position

    @property
    def caret(self) -> str | None:
        """The line of the statement with a caret under the position."""
        if self.statement is None or self.position is None:
            return None
        lines = self.statement.split("\n")
        number = self.position.line
        text = lines[number - 1].replace("\t", " ") if 0 < number <= len(lines) else ""
        margin = f"{number} | "
        return f"{margin}{text}\n{' ' * (len(margin) + self.position.column - 1)}^"

    def __str__(self) -> str:
        caret = self.caret
        return super().__str__() if caret is None else f"{super().__str__()}\n{caret}"


class AuthError(GatehouseError):
    """Nobody is signed in, the caller may not do this, or the identity server refused."""


class StepUpNeeded(AuthError):  # noqa: N818 - the name in the client for JavaScript
    """The sign-in is too weak or too old for this (RFC 9470): sign the user in again with these values."""

    def __init__(
        self, message: str, *, acr_values: str | None = None, max_age: int | None = None, **members: Any
    ) -> None:
        super().__init__(message, **members)
        #: What to request as ``acr_values``: ``2`` means two factors.
        self.acr_values = acr_values
        #: What to request as ``max_age``: how many seconds ago the sign-in may be.
        self.max_age = max_age


class LicenceNeeded(AuthError):  # noqa: N818 - the name in the client for JavaScript
    """A licence for market data is needed, or all places of one are in use: ``code`` says which. On the stream it is
    ``Licence.NotReady`` too: the rows or messages of a delay are not known yet."""

    def __init__(
        self, message: str, *, products: tuple[str, ...] = (), reason: str | None = None, **members: Any
    ) -> None:
        super().__init__(message, **members)
        #: Any of which would open it; none, if no product names it.
        self.products = products
        #: What is missing: ``none``, ``not_yet``, ``expired``, ``disabled``, ``agreement``, ``uncovered``.
        self.reason = reason


class GatehouseConnectionError(GatehouseError):
    """The server cannot be reached, or the connection was lost before the reply came."""

    def __init__(self, message: str, *, code: str = "client.offline", retryable: bool = True, **members: Any) -> None:
        super().__init__(message, code=code, retryable=retryable, **members)


def closed_error(what: str) -> GatehouseConnectionError:
    """The error of everything that waits when the program closes something."""
    return GatehouseConnectionError(f"The {what} was closed", code="client.closed", retryable=False)


def problem_error(
    document: object,
    *,
    status: int | None = None,
    request_id: str | None = None,
    retry_after: float | None = None,
    statement: str | None = None,
    docs_url: str | None = None,
) -> GatehouseError:
    """The error that a problem document (RFC 9457) or an OAuth error (RFC 6749 §5.2) describes."""
    members: Mapping[str, Any] = document if isinstance(document, dict) else {}
    given = members.get("status")
    if status is None and isinstance(given, int):
        status = given
    code = _text(members.get("Code")) or _text(members.get("error")) or f"http.{status}"
    message = (
        _text(members.get("detail"))
        or _text(members.get("error_description"))
        or _text(members.get("title"))
        or f"The server answered {status}"
    )
    expected = members.get("Expected")
    hint = _text(members.get("Hint"))
    if hint is None and isinstance(expected, list):
        hint = f"expected: {', '.join(map(str, expected))}"
    common: dict[str, Any] = {
        "code": code,
        "status": status,
        "hint": hint,
        "request_id": _text(members.get("RequestId")) or request_id,
        # Stopped writes need an operator, although their status suggests a retry.
        "retryable": (status in _RETRYABLE_STATUS or code == "Data.Conflict") and code != "Data.WritesStopped",
        "retry_after": retry_after,
        "docs_url": docs_url,
        "details": members,
    }
    if _QUERY_CODE.match(code):
        return QueryError(message, statement=statement, position=_position(members.get("Position")), **common)
    if code == "Auth.StepUp":
        age = members.get("MaxAge")
        return StepUpNeeded(
            message,
            acr_values=_text(members.get("AcrValues")),
            max_age=None if age is None else int(age),
            **common,
        )
    if status == 403 and code in _LICENCE_CODES:
        products = members.get("Products")
        return LicenceNeeded(
            message,
            products=tuple(map(str, products)) if isinstance(products, list) else (),
            reason=_text(members.get("Reason")),
            **common,
        )
    if "error" in members or status in (401, 403):
        return AuthError(message, **common)
    return GatehouseError(message, **common)


def retry_after_of(header: str | None) -> float | None:
    """RFC 9110 §10.2.3: seconds, or a date."""
    if header is None:
        return None
    if header.strip().isdigit():
        return float(header)
    try:
        when = parsedate_to_datetime(header)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=timezone.utc)
    return max(0.0, (when - datetime.now(timezone.utc)).total_seconds())


def _position(value: object) -> Position | None:
    if not isinstance(value, dict) or not isinstance(value.get("Offset"), int):
        return None
    return Position(value["Offset"], int(value.get("Line", 1)), int(value.get("Column", 1)))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
