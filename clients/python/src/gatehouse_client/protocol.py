"""The messages of the stream (docs/streaming.md, version 2), its states, and what its close codes mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .errors import AuthError, GatehouseError, LicenceNeeded, StepUpNeeded, problem_error

Message = Mapping[str, Any]
State = Literal["connecting", "online", "lapsed", "offline", "ended"]

_RETRYABLE = frozenset({"Limited", "Fault", "Operation.Timeout", "Session"})
_LICENCE_CODES = {"places": "Licence.Places", "displaced": "Licence.Displaced", "not_ready": "Licence.NotReady"}
_TIME_SPAN = re.compile(r"(?:(\d+)\.)?(\d+):(\d+):(\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class StateChange:
    """Passed to the listeners of the stream."""

    state: State
    code: int | str | None
    """The close code of the socket, or the code of an error."""
    reason: str
    retry_in: float | None = None
    """Seconds until the next attempt, when offline."""


def after_close(code: int | str) -> Literal["end", "renew", "retry"]:
    """What a client does after a close: stop, get a fresh token, or reconnect later."""
    # 1002, 1003, 1007 and 1009 say that this client is at fault: the same bytes would fail again.
    if code in (1002, 1003, 1007, 1009, 4000):
        return "end"
    return "renew" if code == 1008 else "retry"


def message_error(message: Message, docs_url: str) -> GatehouseError:
    """The error that a message with the action ``Error`` carries."""
    if "Problem" in message:
        return problem_error(message["Problem"], docs_url=docs_url)
    controller, topic = message.get("Controller", "Platform"), message.get("Topic")
    text = str(message.get("Data"))
    code, _, context = text.partition(" ")
    if code == "Authority" and context:
        need = dict(part.split("=", 1) for part in context.split(" ") if "=" in part)
        if "licence" in need:
            reason = need.get("reason", "none")
            return LicenceNeeded(
                f"{controller}/{topic} was refused: {text}",
                code=_LICENCE_CODES.get(reason, "Licence.Needed"),
                products=tuple(filter(None, need["licence"].split(","))),
                reason=reason,
                retryable=reason == "not_ready",
                docs_url=docs_url,
                details={"Controller": controller, "Topic": topic},
            )
        age = need.get("max_age")
        return StepUpNeeded(
            f"{controller}/{topic} was refused: {text}",
            code="Auth.StepUp",
            acr_values=need.get("acr"),
            max_age=None if age is None else int(age),
            docs_url=docs_url,
            details={"Controller": controller, "Topic": topic},
        )
    kind = AuthError if code in ("Authority", "Session") else GatehouseError
    return kind(
        f"{controller}/{topic} was refused: {text}",
        code=code,
        retryable=code in _RETRYABLE and context != "rows",
        docs_url=docs_url,
        details={"Controller": controller, "Topic": topic},
    )


def read_time_span(text: object) -> float | None:
    """``[d.]hh:mm:ss[.f]`` in seconds."""
    match = _TIME_SPAN.fullmatch(str(text))
    if match is None:
        return None
    days, hours, minutes, seconds = match.groups(default="0")
    return ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + float(seconds)
