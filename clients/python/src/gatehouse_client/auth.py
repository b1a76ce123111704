"""Ways to sign in, as the option ``auth`` takes them. No secret is in the ``repr`` of any."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

Secret = str | Callable[[], str | Awaitable[str]]
"""A text, or a function that gets it when it is needed. The function may be a coroutine function."""


@dataclass(frozen=True)
class DevicePrompt:
    """What the user must do in a browser."""

    user_code: str
    url: str
    """Where the code is entered."""
    url_complete: str
    """The same with the code in it, for a link or a QR code."""
    expires_in: float
    """Seconds until the code expires."""


def print_prompt(prompt: DevicePrompt) -> None:
    """Prints the address and the code."""
    print(f"Open {prompt.url_complete} and confirm the code {prompt.user_code}", flush=True)


@dataclass(frozen=True)
class ClientSecret:
    """A service that acts for itself (RFC 6749 §4.4)."""

    client_id: str
    client_secret: str = field(repr=False)
    scope: str | None = None
    """Separated by spaces. Without it, all that the client may have."""


@dataclass(frozen=True)
class Password:
    """A user with a password, for trusted programs (RFC 6749 §4.3)."""

    client_id: str
    username: str
    password: Secret = field(repr=False)
    scope: str | None = None
    client_secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Device:
    """A user who confirms a code in a browser (RFC 8628), for terminals and notebooks."""

    client_id: str
    scope: str | None = "openid offline_access Platform/Market"
    """With ``offline_access`` the user confirms once, and the tokens are refreshed from then on."""
    prompt: Callable[[DevicePrompt], object] = field(default=print_prompt, repr=False)
    """Shows the code to the user; prints it by default."""
    client_secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class RefreshToken:
    """A refresh token that the program already has. The server replaces it at each use."""

    client_id: str
    refresh_token: str = field(repr=False)
    client_secret: str | None = field(default=None, repr=False)
    on_rotated: Callable[[str], object] | None = field(default=None, repr=False)
    """Called with each new refresh token, so that the program can store it."""


@dataclass(frozen=True)
class Token:
    """An access token from elsewhere, or a function that returns one. It is called for each request: let it cache."""

    token: Secret = field(repr=False)


Auth = ClientSecret | Password | Device | RefreshToken | Token
