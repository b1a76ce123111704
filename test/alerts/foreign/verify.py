"""Verifies what Gatehouse has sent, with the libraries of others: each line is a request as JSON, each answer a line.

webhook: {"kind", "secret", "headers", "body"}; push: {"kind", "private", "auth", "authorization", "endpoint", "body"}, in base64url.
"""

import base64
import json
import sys
from urllib.parse import urlsplit

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec
from py_vapid import Vapid02
from standardwebhooks import Webhook


def bytes_of(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def verify_webhook(request):
    return Webhook(request["secret"]).verify(request["body"], request["headers"])


def decrypt_push(request):
    key = ec.derive_private_key(int.from_bytes(bytes_of(request["private"]), "big"), ec.SECP256R1())
    body = bytes_of(request["body"])
    plain = http_ece.decrypt(body, private_key=key, auth_secret=bytes_of(request["auth"]), version="aes128gcm")
    # The library takes no space after the comma, which RFC 9110 §5.6.1 allows.
    if not Vapid02.verify(request["authorization"].replace(", ", ",")):
        raise ValueError("VAPID: the signature does not verify")
    token = request["authorization"].split("t=")[1].split(",")[0]
    claims = json.loads(bytes_of(token.split(".")[1]))
    parts = urlsplit(request["endpoint"])
    if claims["aud"] != f"{parts.scheme}://{parts.netloc}":
        raise ValueError("VAPID: another push service")
    return json.loads(plain)


for line in sys.stdin:
    request = json.loads(line)
    try:
        done = (verify_webhook if request["kind"] == "webhook" else decrypt_push)(request)
        print(json.dumps({"read": done}), flush=True)
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
