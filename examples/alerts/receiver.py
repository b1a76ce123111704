import base64
import hashlib
import hmac
import json
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

with open("hook.secret") as file:
    KEY = base64.b64decode(file.read().strip().removeprefix("whsec_"))
seen = set()


def is_genuine(headers, body):
    """As Standard Webhooks has it: signed with the key, and not older than five minutes."""
    id, timestamp = headers["webhook-id"] or "", headers["webhook-timestamp"] or ""
    mac = hmac.new(KEY, f"{id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(mac).decode()
    # There are two for a day after the key was rotated.
    given = (headers["webhook-signature"] or "").split()
    is_recent = timestamp.isdigit() and abs(time.time() - int(timestamp)) < 300
    return is_recent and any(hmac.compare_digest(each.encode(), expected.encode()) for each in given)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if not is_genuine(self.headers, body):
            self.answer(401)
            return
        # A delivery whose answer was lost comes again, with the same id.
        if self.headers["webhook-id"] not in seen:
            notice = json.loads(body)
            print(notice["type"], notice["data"]["title"], flush=True)
            seen.add(self.headers["webhook-id"])
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.end_headers()

    def log_message(self, *arguments):
        pass


print("waiting for notices", flush=True)
HTTPServer(("127.0.0.1", 9000), Receiver).serve_forever()
