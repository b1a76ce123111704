"""Where access tokens come from: kept, renewed before they expire, by one request at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from .auth import Auth, ClientSecret, Device, DevicePrompt, Password, RefreshToken, Secret, Token
from .errors import AuthError, GatehouseError
from .waits import call

#: A token is renewed this many seconds before it expires, or after four fifths of its life if that is later.
_MARGIN = 60.0
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"


class Endpoints(Protocol):
    """What a source needs of the identity server."""

    async def post_form(self, endpoint: str, form: Mapping[str, str | None]) -> Mapping[str, Any]: ...


class TokenSource(Protocol):
    """One source of tokens for requests, live queries and the stream."""

    async def token(self, refused: str | None = None) -> str:
        """A token that should be valid. ``refused`` is one that the server did not accept."""
        ...

    def refuse(self, token: str) -> None:
        """The server has ended the session of this token: it must not be used again."""
        ...

    async def sign_out(self) -> None: ...

    async def aclose(self) -> None: ...


def token_source(auth: Auth | None, endpoints: Endpoints) -> TokenSource:
    if auth is None:
        return GivenToken(None)
    if isinstance(auth, Token):
        return GivenToken(auth.token)
    return GrantedTokens(endpoints, auth)


class GivenToken:
    """Tokens from elsewhere."""

    def __init__(self, given: Secret | None) -> None:
        self._given = given
        self._refused: str | None = None

    async def token(self, refused: str | None = None) -> str:
        if self._given is None:
            raise AuthError("Nobody is signed in: give the option auth", code="client.no_auth")
        token = self._given if isinstance(self._given, str) else await call(self._given)
        if token in (refused, self._refused):
            message = "The access token was refused: it has expired or was revoked, and there is no other"
            raise AuthError(message, code="invalid_token", status=401)
        return token

    def refuse(self, token: str) -> None:
        self._refused = token

    async def sign_out(self) -> None:
        raise AuthError("The token came from elsewhere: sign out there", code="client.no_grant")

    async def aclose(self) -> None: ...


@dataclass(frozen=True)
class _Tokens:
    access: str = field(repr=False)
    renew_at: float
    """By the monotonic clock: a wrong or changed wall clock does not matter."""
    refresh: str | None = field(default=None, repr=False)


Grant = ClientSecret | Password | Device | RefreshToken


class GrantedTokens:
    """Keeps the tokens of one grant."""

    def __init__(self, endpoints: Endpoints, grant: Grant) -> None:
        self._endpoints = endpoints
        self._grant = grant
        self._tokens: _Tokens | None = None
        self._renewal: asyncio.Task[_Tokens] | None = None
        self._waiting = 0
        self._sign_outs = 0

    async def token(self, refused: str | None = None) -> str:
        tokens = self._tokens
        if tokens is not None and tokens.access != refused and time.monotonic() < tokens.renew_at:
            return tokens.access
        # One request for all who ask. It is ended only when nobody waits for it any more.
        if self._renewal is None:
            self._renewal = asyncio.create_task(self._renew())
            self._renewal.add_done_callback(self._renewed)
        renewal = self._renewal
        self._waiting += 1
        try:
            return (await asyncio.shield(renewal)).access
        except asyncio.CancelledError:
            if self._waiting == 1:
                renewal.cancel()
            raise
        finally:
            self._waiting -= 1

    def refuse(self, token: str) -> None:
        if self._tokens is not None and self._tokens.access == token:
            self._tokens = replace(self._tokens, renew_at=0.0)

    async def sign_out(self) -> None:
        """RFC 7009: the refresh token takes its access tokens with it. Forgotten first, should the server be away."""
        self._sign_outs += 1
        tokens, self._tokens = self._tokens, None
        if tokens is not None:
            form = {"token": tokens.refresh or tokens.access, **self._credentials()}
            await self._endpoints.post_form("revocation", form)

    async def aclose(self) -> None:
        if self._renewal is not None:
            self._renewal.cancel()
            await asyncio.wait([self._renewal])

    def _renewed(self, renewal: asyncio.Task[_Tokens]) -> None:
        self._renewal = None
        if not renewal.cancelled():
            renewal.exception()  # those who wait get it; if nobody does, it is not reported

    async def _renew(self) -> _Tokens:
        sign_outs = self._sign_outs
        tokens = await self._refreshed() or await self._start()
        if sign_outs != self._sign_outs:
            raise AuthError("The user has signed out", code="login_required")
        self._tokens = tokens
        return tokens

    async def _refreshed(self) -> _Tokens | None:
        if self._tokens is None or self._tokens.refresh is None:
            return None
        try:
            return await self._request("refresh_token", refresh_token=self._tokens.refresh)
        except AuthError as error:
            # Expired, used or revoked; anything else may pass.
            if error.code != "invalid_grant":
                raise
            self._tokens = None
            return None

    async def _start(self) -> _Tokens:
        grant = self._grant
        if isinstance(grant, ClientSecret):
            return await self._request("client_credentials", scope=grant.scope)
        if isinstance(grant, Password):
            password = grant.password if isinstance(grant.password, str) else await call(grant.password)
            return await self._request("password", username=grant.username, password=password, scope=grant.scope)
        if isinstance(grant, RefreshToken):
            return await self._request("refresh_token", refresh_token=grant.refresh_token)
        return await self._start_device(grant)

    async def _start_device(self, grant: Device) -> _Tokens:
        form = {"scope": grant.scope, **self._credentials()}
        started = await self._endpoints.post_form("device_authorization", form)
        url = str(started.get("verification_uri"))
        expires_in = float(started.get("expires_in", 600))
        complete = str(started.get("verification_uri_complete", url))
        await call(grant.prompt, DevicePrompt(str(started.get("user_code")), url, complete, expires_in))
        wait = float(started.get("interval", 5))
        end = time.monotonic() + expires_in
        while time.monotonic() < end:
            await asyncio.sleep(wait)
            try:
                return await self._request(_DEVICE_GRANT, device_code=str(started.get("device_code")))
            except GatehouseError as error:
                if error.code == "slow_down":
                    wait += 5
                elif error.code != "authorization_pending" and not error.retryable:
                    raise
        raise AuthError("Nobody confirmed the code in time", code="expired_token")

    async def _request(self, grant_type: str, **form: str | None) -> _Tokens:
        reply = await self._endpoints.post_form("token", {"grant_type": grant_type, **form, **self._credentials()})
        access = reply.get("access_token")
        if not isinstance(access, str):
            raise AuthError("The reply has no access token", code="client.no_token")
        life = float(reply.get("expires_in") or "inf")
        refresh = reply.get("refresh_token")
        if not isinstance(refresh, str):
            refresh = form.get("refresh_token")
        elif isinstance(self._grant, RefreshToken) and self._grant.on_rotated is not None:
            await call(self._grant.on_rotated, refresh)
        return _Tokens(access, time.monotonic() + max(life - _MARGIN, life * 0.8), refresh)

    def _credentials(self) -> dict[str, str | None]:
        return {"client_id": self._grant.client_id, "client_secret": self._grant.client_secret}
