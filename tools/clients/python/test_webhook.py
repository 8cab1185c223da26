"""Verifies a delivery with the published library for Python."""

import json
import os
import threading
import unittest
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

from standardwebhooks import Webhook, WebhookVerificationError

received = []


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        received.append((body, self.headers))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def call(method, path, body=None):
    request = urllib.request.Request(os.environ["HOLDFAST_URL"] + path, method=method, data=body and json.dumps(body).encode())
    request.add_header("Authorization", "Bearer " + os.environ["HOLDFAST_KEY"])
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


class Delivery(unittest.TestCase):
    def test_is_verified(self):
        with HTTPServer(("127.0.0.1", 0), Receiver) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            url = f"http://127.0.0.1:{server.server_port}/"
            endpoint = call("POST", "/api/webhooks", {"url": url, "types": ["*"]})
            path = "/api/webhooks/" + endpoint["id"]
            tested = call("POST", path + "/test")
            self.assertEqual(tested["status"], 204, tested)
            rotated = call("POST", path + "/rotate-secret")["secret"]
            call("POST", path + "/test")
            server.shutdown()
        for (body, headers), secrets in zip(received, ([endpoint["secret"]], [endpoint["secret"], rotated]), strict=True):
            for secret in secrets:
                event = Webhook(secret).verify(body, headers)
                self.assertEqual((event["id"], event["type"]), (headers["webhook-id"], "holdfast.webhook.test"))
                with self.assertRaises(WebhookVerificationError):
                    Webhook(secret).verify(body.replace(b"webhook.test", b"webhook.tEst"), headers)
        body, headers = received[0]
        with self.assertRaises(WebhookVerificationError):
            Webhook(rotated).verify(body, headers)


if __name__ == "__main__":
    unittest.main()
