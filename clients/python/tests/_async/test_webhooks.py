"""Deliveries of a real API to an endpoint of the test."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from holdfast_client import WebhookVerificationError, verify_webhook

from ..api import Api
from .sales import create_sale, eventually, new_client, new_holder

pytestmark = pytest.mark.anyio


class Endpoint(HTTPServer):
    """Keeps what it receives."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.received: list[tuple[bytes, dict[str, str]]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Receiver(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((body, dict(self.headers.items())))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        pass


async def test_verifies_deliveries(api: Api) -> None:
    endpoint = Endpoint()
    async with new_client(api.url) as shop:
        url = f"http://127.0.0.1:{endpoint.server_port}/"
        webhook = await shop.create_webhook(url=url, types=["holdfast.event.sold_out"])
        secret = webhook.get("secret", "")
        assert (await shop.test_webhook(webhook["id"])).get("status") == 204
        rotated = (await shop.rotate_webhook_secret(webhook["id"]))["secret"]
        assert (await shop.test_webhook(webhook["id"])).get("status") == 204
        both = endpoint.received
        for (body, headers), secrets in zip(both, ([secret], [secret, rotated]), strict=True):
            for known in secrets:
                change = verify_webhook(known, body, headers)
                lower = {name.lower(): value for name, value in headers.items()}
                assert (change["id"], change["type"]) == (lower["webhook-id"], "holdfast.webhook.test")
                with pytest.raises(WebhookVerificationError):
                    verify_webhook(known, body.replace(b"webhook.test", b"webhook.tEst"), headers)
        body, headers = both[0]
        for name, wrong in (("webhook-signature", "v1"), ("webhook-signature", "v1,é"), ("webhook-timestamp", "1"), ("webhook-id", "")):
            with pytest.raises(WebhookVerificationError):
                verify_webhook(secret, body, {**{k.lower(): v for k, v in headers.items()}, name: wrong})
        for wrong_body in (b"", b"\xff"):
            with pytest.raises(WebhookVerificationError):
                verify_webhook(secret, wrong_body, headers)
        with pytest.raises(WebhookVerificationError):
            verify_webhook(rotated, body, headers)
        await shop.delete_webhook(webhook["id"])
        assert ("DELETE", webhook["id"]) in [(entry["method"], entry.get("targetId")) async for entry in shop.list_audit()]
    endpoint.shutdown()
    endpoint.server_close()


async def test_reads_changes_and_replays_them(api: Api) -> None:
    endpoint = Endpoint()
    async with new_client(api.url) as shop:
        event = await create_sale(shop)
        lock = await shop.acquire_lock(eventId=event["id"], holder=new_holder(), seats=1)
        path = "/api/changes"
        await eventually(lambda: shop.list_items(path, eventId=event["id"], type="holdfast.lock.created"))
        page = await shop.list_changes(eventId=event["id"])
        types = [change["type"] for change in page["items"]]
        assert types == ["holdfast.event.created", "holdfast.lock.created"]
        assert (await shop.list_changes(eventId=event["id"], pageToken=page["nextPageToken"]))["items"] == []

        url = f"http://127.0.0.1:{endpoint.server_port}/"
        webhook = await shop.create_webhook(url=url, types=["holdfast.lock.*"], eventId=event["id"])
        assert (await shop.replay_webhook(webhook["id"]))["deliveries"] == 1
        await eventually(lambda: shop.list_deliveries(webhook["id"], state="DELIVERED"))
        change = verify_webhook(webhook.get("secret", ""), *endpoint.received[0])
        assert change["data"]["id"] == lock["id"]
        changed = await shop.update_webhook(webhook["id"], state="DISABLED")
        assert changed == await shop.get_webhook(webhook["id"])
        assert changed["state"] == "DISABLED"
        assert webhook["id"] in [found["id"] async for found in shop.list_webhooks()]
        await shop.delete_webhook(webhook["id"])
    endpoint.shutdown()
    endpoint.server_close()
