"""A program that answers the controller Orders of Gatehouse, with PyJWT. README.md says how to start it.

Every request is one POST with a token that Gatehouse has issued for it. The token says who the caller is and what they may
do; this program believes nothing else.
"""

import json
import os
import threading
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import urlopen

import jwt

ISSUER = os.environ.get("GATEHOUSE_SERVER", "http://localhost:5080").rstrip("/")
PORT = int(os.environ.get("PORT", "8091"))
# As it is declared: the audience of the tokens.
URL = os.environ.get("ORDERS_URL", f"http://localhost:{PORT}/gatehouse")


class Refused(Exception):
    """What the client reads after `Error` `Data`."""


class Orders:
    """The orders of every user, in memory."""

    def __init__(self):
        self._lock = threading.Lock()
        self._owners = {}

    def place(self, user, data):
        quantity, price = data.get("Quantity"), data.get("Price")
        if not isinstance(quantity, int) or quantity <= 0:
            raise Refused("Quantity must be a positive integer")
        if not isinstance(price, (int, Decimal)) or price <= 0:
            raise Refused("Price must be a positive number")
        with self._lock:
            order_id = len(self._owners) + 1
            self._owners[order_id] = user
        # A Decimal is a text in JSON, so that no reader makes a double of it.
        return {"OrderID": order_id, "Status": "Accepted", "Value": str(quantity * price)}

    def cancel(self, user, data):
        with self._lock:
            if self._owners.get(data.get("OrderID")) != user:
                raise Refused("There is no such order of yours")
            self._owners[data["OrderID"]] = None
        return {"OrderID": data["OrderID"], "Status": "Cancelled"}


class Verifier:
    """Verifies tokens with the public keys of Gatehouse, which PyJWKClient fetches and keeps."""

    def __init__(self):
        with urlopen(f"{ISSUER}/.well-known/openid-configuration") as reply:
            self._keys = jwt.PyJWKClient(json.load(reply)["jwks_uri"])

    def claims(self, authorization):
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or jwt.get_unverified_header(token).get("typ") != "call+jwt":
            raise jwt.InvalidTokenError("not a token for a call")
        key = self._keys.get_signing_key_from_jwt(token)
        required = ["exp", "iat", "sub", "jti"]
        return jwt.decode(
            token, key, algorithms=["RS256"], issuer=ISSUER, audience=URL, options={"require": required}
        )


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections
    # The head and the body of a reply are two writes: without this, the second waits for an acknowledgement.
    disable_nagle_algorithm = True
    timeout = 60
    verifier = None
    orders = Orders()

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        try:
            claims = self.verifier.claims(self.headers.get("Authorization", ""))
        except jwt.PyJWTError as error:
            return self._problem(401, f"The token is not valid: {error}")
        # Gatehouse has checked the scope of the topic already.
        if "Platform/Trading" not in claims["scope"].split():
            return self._problem(403, "The caller may not trade")
        # Numbers keep their digits: integers have any size in Python, the others are read as Decimal.
        request = json.loads(body, parse_float=Decimal)
        act = {"Place": self.orders.place, "Cancel": self.orders.cancel}.get(request["Topic"])
        data = request.get("Data")
        if act is None or not isinstance(data, dict):
            return self._problem(400, "Data must be an object")
        try:
            return self._reply(200, "application/json", act(claims["sub"], data))
        except Refused as refusal:
            return self._problem(422, str(refusal))

    def _problem(self, status, detail):
        self._reply(status, "application/problem+json", {"status": status, "detail": detail})

    def _reply(self, status, media_type, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    Handler.verifier = Verifier()
    server = ThreadingHTTPServer(("localhost", PORT), Handler)
    print(f"answers {URL}", flush=True)
    server.serve_forever()
