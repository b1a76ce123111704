"""The query service in Python, with the standard library only. Start the demonstration (npm start), then:

    python3 examples/python/gatehouse.py            # as a service, with a client secret
    python3 examples/python/gatehouse.py --device   # as yourself: confirm a code in a browser

notebook.py uses the class Gate with pandas and Arrow.
"""

import base64
import json
import os
import sys
import time
from decimal import Decimal, getcontext
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

SERVER = os.environ.get("GATEHOUSE_SERVER", "http://localhost:5080").rstrip("/")
MARKET = "Platform/Market"


class Gate:
    """A signed-in caller. With a client secret it is a service; without one, a user who confirms a code (RFC 8628)."""

    def __init__(self, server, client_id, client_secret=None, scope=MARKET):
        self.server, self.client_id, self.client_secret, self.scope = server, client_id, client_secret, scope
        self._tokens, self._renew_at = {}, 0.0

    def token(self):
        """A valid access token: kept, and renewed a minute before it expires."""
        if time.monotonic() >= self._renew_at:
            self._tokens = self._fetch_tokens()
            self._renew_at = time.monotonic() + self._tokens["expires_in"] - 60
        return self._tokens["access_token"]

    def _fetch_tokens(self):
        if self.client_secret:
            return self._post("/connect/token", grant_type="client_credentials", scope=self.scope)
        if "refresh_token" in self._tokens:
            refresh_token = self._tokens["refresh_token"]  # valid once: the reply has the next one
            return self._post("/connect/token", grant_type="refresh_token", refresh_token=refresh_token)
        scope = f"openid offline_access {self.scope}"
        device = self._post("/connect/deviceauthorization", scope=scope)
        print(f"Open {device['verification_uri_complete']} and confirm the code {device['user_code']}", flush=True)
        wait = device.get("interval", 5)
        while True:
            time.sleep(wait)
            try:
                grant_type = "urn:ietf:params:oauth:grant-type:device_code"
                return self._post("/connect/token", grant_type=grant_type, device_code=device["device_code"])
            except HTTPError as refusal:
                error = json.load(refusal).get("error")
                if error == "slow_down":
                    wait += 5
                elif error != "authorization_pending":
                    raise RuntimeError(f"the sign-in failed: {error}") from refusal

    def _post(self, path, **form):
        headers = {}
        if self.client_secret:
            pair = f"{self.client_id}:{self.client_secret}"
            headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        else:
            form["client_id"] = self.client_id
        with urlopen(Request(self.server + path, urlencode(form).encode(), headers), timeout=30) as reply:
            return json.load(reply)

    def request(self, statement, accept, parameters=None, timeout=60, options=(), **headers):
        """Sends a statement and returns the open reply. Parameters are the values of :name in the statement."""
        values = {f"p.{name}": value for name, value in (parameters or {}).items()}
        request = Request(f"{self.server}/query?{urlencode({**values, **dict(options)})}", statement.encode())
        request.add_header("Authorization", f"Bearer {self.token()}")
        request.add_header("Content-Type", "text/plain; charset=utf-8")
        request.add_header("Accept", accept)
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        try:
            return urlopen(request, timeout=timeout)
        except HTTPError as refusal:
            problem = json.load(refusal)
            hint = f" ({problem['Hint']})" if "Hint" in problem else ""
            raise RuntimeError(f"{problem.get('Code')}: {problem.get('detail')}{hint}") from None

    def query(self, statement, **parameters):
        """All rows, as dictionaries with exact values."""
        with self.request(statement, "application/json", parameters) as reply:
            result = json.load(reply)
        return [exact(row, result["Columns"]) for row in result["Rows"]]

    def rows(self, statement, **parameters):
        """The rows one by one as they arrive (NDJSON): for results that do not fit into memory."""
        with self.request(statement, "application/x-ndjson", parameters, options={"header": "columns"}) as reply:
            columns = json.loads(next(reply))["Columns"]
            for line in reply:
                row = json.loads(line)
                if "Error" in row and "Error" not in columns:
                    raise RuntimeError(f"the result was cut off: {row['Error']}")
                yield exact(row, columns)

    def arrow(self, statement, **parameters):
        """The open reply as an Arrow stream, for pyarrow.ipc.open_stream."""
        return self.request(statement, "application/vnd.apache.arrow.stream", parameters)

    def live(self, statement, **parameters):
        """Yields the result, as a dictionary of rows by key, now and whenever it has changed. A lost connection is opened
        again at the position where it was lost, so that no change is missed."""
        result, position = LiveResult(), None
        while True:
            try:
                resume = {"Last_Event_ID": position} if position else {}
                # The server sends a comment every 15 seconds: a longer silence is a lost connection.
                reply = self.request(statement, "text/event-stream", parameters, timeout=45, **resume)
                for event, identifier, data in events(reply):
                    if event == "end":
                        raise RuntimeError(f"the live query ended: {data.get('Code')}: {data.get('detail')}")
                    changed = result.apply(data)
                    position = position if identifier is None else identifier  # a reset clears it
                    if changed:
                        yield result.rows
            except (URLError, OSError) as lost:
                print(f"connection lost ({lost}), trying again", file=sys.stderr)
            result.pieces = []  # those of a message that was cut off come again
            time.sleep(1)


class LiveResult:
    """Rows by key (as JSON), first of the snapshot, then as the changes leave them. Without ORDER BY in the statement their
    order has no meaning."""

    def __init__(self):
        self.rows, self.columns, self.pieces = {}, {}, []

    def apply(self, data):
        """Whether the rows are those of a new state of the result."""
        if data["Kind"] == "Reset" or "Columns" in data:
            self.rows, self.pieces = {}, []
            self.columns = data.get("Columns", {})
        if data["Kind"] not in ("Snapshot", "Change"):
            return False
        self.pieces.append(data)
        if data.get("More"):  # a long message comes in pieces, which are applied together
            return False
        for key in (key for piece in self.pieces for key in piece.get("Remove", ())):
            self.rows.pop(json.dumps(key), None)
        for entry in (entry for piece in self.pieces for entry in piece.get("Put", ())):
            self.rows[json.dumps(entry["Key"])] = exact(entry["Row"], self.columns)
        self.pieces = []
        return True


def events(reply):
    """The server-sent events of a reply: name, id, and data as JSON."""
    fields = {}
    with reply:
        for line in reply:
            text = line.decode().rstrip("\r\n")
            if text:
                name, _, value = text.partition(":")
                fields[name] = value.removeprefix(" ")
            elif "data" in fields:
                yield fields.get("event"), fields.get("id"), json.loads(fields["data"])
                fields = {}


def exact(row, columns):
    """In JSON a Decimal is a text, so that no reader turns it into a binary fraction. An Integer is a number of up to 64
    bits, which Python reads exactly."""
    decimals = [name for name, column in columns.items() if column["Type"].startswith("Decimal")]
    return {**row, **{name: Decimal(row[name]) for name in decimals if row[name] is not None}}


def main():
    getcontext().prec = 76  # Python rounds the results of calculations to 28 digits otherwise; a Decimal has up to 38
    if "--device" in sys.argv:
        gate = Gate(SERVER, "demo-device")
    else:
        gate = Gate(SERVER, "demo-service", "demo-service-secret")
    statement = "select symbol, price, quantity from trades where symbol = :symbol order by id limit 3"
    for row in gate.query(statement, symbol="ACME"):
        print(row)

    count, turnover = 0, Decimal(0)
    for row in gate.rows("select price, quantity from trades"):
        count, turnover = count + 1, turnover + row["price"] * row["quantity"]
    print(f"{count} trades, turnover {turnover}")

    live = gate.live("select side, count(*) as trades, sum(price * quantity) as turnover from trades group by side")
    for state, rows in zip(range(3), live):
        print(f"live {state}:", *rows.values())
    print("python: ok")


if __name__ == "__main__":
    main()
