"""A real Gatehouse, a proxy that cuts connections, and a person who confirms a code."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin

import httpx

REPOSITORY = Path(__file__).resolve().parents[3]
PROGRAM = REPOSITORY / "packages/server/bin/gatehouse.js"


class Server:
    """``gatehouse serve --demo`` with a folder of its own. After a restart it has the same port and data."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self._folder = folder
        self._flags = flags
        self._port = 0
        self._process: subprocess.Popen[str] | None = None
        self.url = ""
        self.start()

    def start(self) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GATEHOUSE_")}
        command = [os.environ.get("NODE", "node"), str(PROGRAM), "serve", "--demo", "--port", str(self._port)]
        command += [
            "--data",
            str(self._folder),
            "--log-format",
            "json",
            "--log-level",
            "info",
            "--stop-delay",
            "0",
            *self._flags,
        ]
        self._process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if '"msg":"started"' in line:
                started = json.loads(line)
                break
        else:
            raise AssertionError("The server did not start")
        self._port, self.url = started["port"], started["issuer"]
        # Read on, or the pipe would fill up.
        threading.Thread(target=self._process.stdout.read, daemon=True).start()

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)
            if self._process.stdout is not None:
                with contextlib.suppress(ValueError, OSError):
                    self._process.stdout.close()
            self._process = None

    def restart(self) -> None:
        self.stop()
        self.start()


class Proxy:
    """Passes bytes to a server on loopback, and cuts all its connections on demand."""

    def __init__(self, target: str) -> None:
        self._target = httpx.URL(target).port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        self.url = f"http://localhost:{self._listener.getsockname()[1]}"
        self.connections = 0
        #: Cleared, it keeps what arrives, as a network does that has lost a machine.
        self.flowing = threading.Event()
        self.flowing.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> int:
        """How many connections it has cut."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()
        return len(pairs)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        self.flowing.set()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target or 80))
            except OSError:
                return
            self.connections += 1
            with self._lock:
                self._pairs.append((near, far))
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.flowing.wait()
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


class _Forms(HTMLParser):
    """The forms of a page: their addresses, fields and buttons."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.forms: list[tuple[str, dict[str, str], list[tuple[str, str]], set[str]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append((given.get("action", ""), {}, [], set()))
        elif self.forms and tag == "input" and given.get("name"):
            if given.get("type") not in ("checkbox", "radio") or "checked" in given:
                self.forms[-1][1][given["name"]] = given.get("value", "")
            self.forms[-1][3].add(given.get("type", "text"))
        elif self.forms and tag == "button" and given.get("type") != "button":
            self.forms[-1][2].append((given.get("name", ""), given.get("value", "")))


def confirm(address: str, username: str = "alice", password: str = "wonderland-1") -> str:
    """A person who opens the address, signs in and agrees. Returns the last page."""
    with httpx.Client(follow_redirects=True, timeout=30) as browser:
        page = browser.get(address)
        for _ in range(8):
            forms = _Forms(page.text).forms
            signing = next((form for form in forms if "password" in form[3]), None)
            form = signing or next((form for form in forms if form[2]), None)
            if form is None:
                return page.text
            action, fields, buttons, _types = form
            if signing is not None:
                filled = {"username": username, "password": password}
                fields = {name: filled.get(name, value) for name, value in fields.items()}
            refusing = ("deny", "cancel", "no", "refuse", "different", "switch")
            agreeing = [button for button in buttons if not button[1].lower().startswith(refusing)]
            fields.update((name, value) for name, value in agreeing[:1] if name)
            page = browser.post(urljoin(str(page.url), action), data=fields, headers={"origin": _origin(page.url)})
        raise AssertionError(f"The pages do not end:\n{page.text}")


def _origin(url: httpx.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode()}"


def tokens(server: Server, username: str = "alice", password: str = "wonderland-1") -> dict[str, str]:
    form = {"grant_type": "password", "client_id": "demo-cli", "username": username, "password": password}
    reply = httpx.post(f"{server.url}/connect/token", data=form)
    assert reply.status_code == 200, reply.text
    document: dict[str, str] = reply.json()
    return document


def revoke(server: Server, token: str) -> None:
    reply = httpx.post(f"{server.url}/connect/revocation", data={"token": token, "client_id": "demo-cli"})
    assert reply.status_code == 200, reply.text


def eventually(check: Callable[[], bool], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "It did not become true"
        time.sleep(0.02)


@contextlib.contextmanager
def no_threads_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    eventually(lambda: not [thread for thread in set(threading.enumerate()) - before if thread.name.startswith("gate")])
