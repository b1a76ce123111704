"""Every way to sign in, renewal, sign-out, and secrets that stay secret."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from conftest import SERVICE
from gatehouse_client import (
    AsyncGate,
    Auth,
    AuthError,
    ClientSecret,
    Device,
    DevicePrompt,
    Gate,
    GatehouseConnectionError,
    Password,
    RefreshToken,
    Token,
)
from support import Server, confirm, eventually, no_threads_left, revoke, tokens

ONE = "select 1 as one"


async def one(url: str, auth: Auth | None, **options: object) -> int:
    async with AsyncGate(url, auth=auth, **options) as gate:  # type: ignore[arg-type]
        (row,) = await gate.query(ONE)
        return int(row["one"])


@pytest.mark.parametrize(
    "auth",
    [
        SERVICE,
        ClientSecret("demo-service", "demo-service-secret", scope="Platform/Market"),
        Password("demo-cli", "alice", "wonderland-1"),
        Password("demo-cli", "alice", lambda: "wonderland-1", scope="Platform/Market"),
        Password("demo-service", "alice", "wonderland-1", client_secret="demo-service-secret"),
    ],
    ids=["client secret", "scope", "password", "password function", "password and secret"],
)
def test_signs_in_with_credentials(server: Server, auth: Auth) -> None:
    with Gate(server.url, auth=auth) as gate:
        assert gate.query(ONE).rows() == [{"one": 1}]
    assert asyncio.run(one(server.url, auth)) == 1


def test_signs_in_with_a_token(server: Server) -> None:
    token = tokens(server)["access_token"]

    async def fetch() -> str:
        return token

    for auth in (Token(token), Token(lambda: token), Token(fetch)):
        with Gate(server.url, auth=auth) as gate:
            assert gate.query(ONE).rows() == [{"one": 1}]
        assert asyncio.run(one(server.url, auth)) == 1


def test_signs_in_with_a_refresh_token_and_tells_its_successor(server: Server) -> None:
    kept: list[str] = []
    first = tokens(server)["refresh_token"]
    with Gate(server.url, auth=RefreshToken("demo-cli", first, on_rotated=kept.append)) as gate:
        assert gate.user()["preferred_username"] == "alice"
    assert len(kept) == 1
    assert kept[0] != first
    assert asyncio.run(one(server.url, RefreshToken("demo-cli", kept[0]))) == 1


def test_signs_a_person_in_who_confirms_a_code(server: Server) -> None:
    prompts: list[DevicePrompt] = []

    def prompt(shown: DevicePrompt) -> None:
        prompts.append(shown)
        threading.Thread(target=confirm, args=(shown.url_complete,), daemon=True).start()

    scope = "openid profile offline_access Platform/Market"
    with Gate(server.url, auth=Device("demo-device", scope, prompt=prompt)) as gate:
        assert gate.user()["preferred_username"] == "alice"
        assert gate.query("select symbol from trades limit 1").rows() != []
    assert len(prompts) == 1
    assert prompts[0].user_code in prompts[0].url_complete
    assert asyncio.run(one(server.url, Device("demo-device", prompt=prompt))) == 1


def test_prints_the_code_by_default(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    with Gate(server.url, auth=Device("demo-device")) as gate:
        waiting = threading.Thread(target=_ignore, args=(gate.token,), daemon=True)
        waiting.start()
        printed: list[str] = []

        def is_printed() -> bool:
            printed.append(capsys.readouterr().out)
            return "confirm the code" in "".join(printed)

        eventually(is_printed)
    # Closing the gate ends the wait for the person.
    waiting.join(5)
    assert not waiting.is_alive()


def test_a_wrong_secret_is_an_auth_error_with_its_code(server: Server) -> None:
    with Gate(server.url, auth=ClientSecret("demo-service", "wrong")) as gate, pytest.raises(AuthError) as refused:
        gate.query(ONE).rows()
    assert refused.value.code == "invalid_client"
    assert refused.value.status == 401
    assert refused.value.docs_url == f"{server.url}/docs/errors"


def test_nobody_signed_in_is_an_auth_error(server: Server) -> None:
    with Gate(server.url) as gate, pytest.raises(AuthError, match="give the option auth"):
        gate.query(ONE).rows()


def test_nothing_is_sent_to_another_issuer(server: Server) -> None:
    other = server.url.replace("localhost", "127.0.0.1")
    with Gate(other, auth=SERVICE) as gate, pytest.raises(AuthError) as refused:
        gate.query(ONE).rows()
    assert refused.value.code == "client.issuer"
    with Gate(other, auth=SERVICE, issuer=server.url) as gate:
        assert gate.query(ONE).rows() == [{"one": 1}]


def test_many_threads_fetch_one_token(server: Server) -> None:
    asked: list[int] = []

    def password() -> str:
        asked.append(1)
        return "wonderland-1"

    with Gate(server.url, auth=Password("demo-cli", "alice", password)) as gate:
        threads = [threading.Thread(target=gate.query(ONE).rows) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(asked) == 1


def test_a_revoked_token_is_replaced(server: Server) -> None:
    with Gate(server.url, auth=Password("demo-cli", "alice", "wonderland-1")) as gate:
        before = gate.token()
        revoke(server, before)
        eventually(lambda: _status(server, before) == 401)
        assert gate.query(ONE).rows() == [{"one": 1}]
        assert gate.token() != before


def test_a_revoked_token_from_elsewhere_is_an_error_that_says_so(server: Server) -> None:
    token = tokens(server)["access_token"]
    with Gate(server.url, auth=Token(token)) as gate:
        gate.query(ONE).rows()
        revoke(server, token)
        eventually(lambda: _status(server, token) == 401)
        with pytest.raises(AuthError, match="expired or was revoked"):
            gate.query(ONE).rows()


def test_renews_before_the_token_expires(tmp_path: Path) -> None:
    server = Server(tmp_path / "data", "--access-token-lifetime", "5")
    try:
        with Gate(server.url, auth=Password("demo-cli", "alice", "wonderland-1")) as gate:
            seen = {gate.token()}
            with gate.stream.subscribe("Ticker", "Price/ACME") as prices:
                states = []
                gate.stream.on_state_change(lambda change: states.append(change.state))
                for _ in range(6):
                    gate.stream.request("Platform", "QueryServerInfo")
                    prices.next(timeout=10)
                    assert gate.query(ONE).rows() == [{"one": 1}]
                    threading.Event().wait(1.5)
                    seen.add(gate.token())
            assert len(seen) >= 2
            # The stream was renewed in place: it was never offline, and it missed nothing.
            assert "offline" not in states
            assert prices.resumes == 0
    finally:
        server.stop()


def test_sign_out_revokes_the_tokens(server: Server) -> None:
    with Gate(server.url, auth=Password("demo-cli", "alice", "wonderland-1")) as gate:
        token = gate.token()
        gate.sign_out()
        eventually(lambda: _status(server, token) == 401)


def test_no_secret_is_shown_or_logged(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    auth = Password("demo-service", "alice", "wonderland-1", client_secret="demo-service-secret")
    with Gate(server.url, auth=auth) as gate:
        gate.query(ONE).rows()
        gate.stream.request("Platform", "QueryServerInfo")
        with gate.live("select count(*) as n from trades") as live:
            live.next(timeout=10)
        token = gate.token()
        text = caplog.text + repr(auth) + repr(gate) + repr(gate.__dict__) + repr(vars(gate._gate._http.tokens))
    assert "POST /query: 200" in caplog.text
    for secret in (token, "wonderland-1", "demo-service-secret"):
        assert secret not in text
    for other in (ClientSecret("id", "hush"), RefreshToken("id", "hush"), Token("hush"), Password("id", "u", "hush")):
        assert "hush" not in repr(other)


def test_close_leaves_no_thread_and_ends_what_waits(server: Server) -> None:
    with no_threads_left():
        gate = Gate(server.url, auth=SERVICE)
        live = gate.live("select count(*) as n from instruments")
        live.next(timeout=10)
        ended: list[BaseException] = []

        def wait() -> None:
            try:
                live.next()
            except BaseException as error:
                ended.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        gate.stream.subscribe("Ticker", "Price/ACME").next(timeout=10)
        gate.close()
        gate.close()
        thread.join(10)
        assert not thread.is_alive()
    assert isinstance(ended[0], GatehouseConnectionError)
    assert ended[0].code == "client.closed"
    with pytest.raises(GatehouseConnectionError, match="closed"):
        gate.query(ONE).rows()


def test_a_gate_that_is_forgotten_ends_its_thread(server: Server) -> None:
    with no_threads_left():
        assert Gate(server.url, auth=SERVICE).query(ONE).rows() == [{"one": 1}]


def _status(server: Server, token: str) -> int:
    headers = {"authorization": f"Bearer {token}", "content-type": "text/plain; charset=utf-8"}
    return httpx.post(f"{server.url}/query", headers=headers, content=ONE).status_code


def _ignore(act: Callable[[], object]) -> None:
    with contextlib.suppress(GatehouseConnectionError):
        act()
