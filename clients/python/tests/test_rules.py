"""The rules of retries and streams, without a server."""

import asyncio
import base64
import hmac
import pickle
import time
from email.message import Message
from typing import Any

import httpx
import pytest

from holdfast_client import HoldfastError, OutcomeUnknown, SeatsUnavailable, WebhookVerificationError, verify_webhook
from holdfast_client._io import async_fresh, fresh
from holdfast_client.errors import error_of, new_error, no_answer
from holdfast_client.retry import Attempts, Request
from holdfast_client.streams import Messages, Reconnection


def lost() -> HoldfastError:
    error = no_answer(httpx.ReadError("cut"))
    error.__cause__ = httpx.ReadError("cut")
    return error


def refused_connection() -> HoldfastError:
    error = no_answer(httpx.ConnectError("refused"))
    error.__cause__ = httpx.ConnectError("refused")
    return error


def answer(status: int, code: str = "", retry_after: int = 0) -> HoldfastError:
    return new_error(status, {"code": code} if code else {}, "", retry_after)


@pytest.mark.parametrize(
    ("error", "idempotent_is_retried", "other_is_retried"),
    [
        (lost(), True, False),
        (refused_connection(), True, True),
        (answer(429, "TOO_MANY_REQUESTS"), True, True),
        (answer(503, "UNAVAILABLE"), True, True),
        (answer(503, "OUTCOME_UNKNOWN"), True, False),
        (answer(502), True, False),
        (answer(503), True, False),
        (answer(504), True, False),
        (answer(500), False, False),
        (answer(409, "SEATS_UNAVAILABLE"), False, False),
        (answer(401, "UNAUTHENTICATED"), False, False),
    ],
    ids=str,
)
def test_what_is_retried(error: HoldfastError, idempotent_is_retried: bool, other_is_retried: bool) -> None:
    for is_idempotent, is_retried in ((True, idempotent_is_retried), (False, other_is_retried)):
        attempts = Attempts(Request("POST", "/", is_idempotent=is_idempotent), 60)
        if is_retried:
            assert 0.025 <= attempts.delay_after(error) <= 0.075
        else:
            with pytest.raises(type(error)):
                attempts.delay_after(error)
        with pytest.raises(type(error)):
            Attempts(Request("POST", "/", is_idempotent=is_idempotent), 0).delay_after(error)


def test_delays_grow_and_follow_the_answer() -> None:
    attempts = Attempts(Request("GET", "/"), 1000)
    delays = [attempts.delay_after(lost()) for _ in range(20)]
    interval = 0.05
    for delay in delays:
        assert interval * 0.5 <= delay <= interval * 1.5
        interval = min(interval * 1.5, 2)
    assert attempts.delay_after(answer(429, "TOO_MANY_REQUESTS", 7)) == 7
    assert attempts.delay_after(lost()) <= 0.075
    with pytest.raises(HoldfastError):
        attempts.delay_after(answer(429, "TOO_MANY_REQUESTS", 1001))


@pytest.mark.parametrize(
    ("method", "first", "is_unknown"), [("POST", lost(), True), ("POST", refused_connection(), False), ("GET", lost(), False)]
)
def test_an_outcome_stays_unknown(method: str, first: HoldfastError, is_unknown: bool) -> None:
    attempts = Attempts(Request(method, "/"), 60)
    attempts.delay_after(first)
    with pytest.raises(HoldfastError) as error:
        attempts.delay_after(answer(503, "UNAVAILABLE", 100))
    assert isinstance(error.value, OutcomeUnknown) == is_unknown
    assert error.value.code == ("OUTCOME_UNKNOWN" if is_unknown else "UNAVAILABLE")
    with pytest.raises(HoldfastError) as error:  # an answer that says what happened
        attempts.delay_after(answer(409, "LOCK_RELEASED"))
    assert error.value.code == "LOCK_RELEASED"


@pytest.mark.parametrize(
    ("request_of", "key"),
    [
        (Request("POST", "/", body={"seats": 1, "idempotencyKey": "7"}), "7"),
        (Request("POST", "/", body=b"{}", headers={"idempotency-key": "8"}), "8"),
        (Request("POST", "/", body={"seats": 1}), ""),
        (Request("GET", "/"), ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_errors_have_the_key_of_the_request(request_of: Request, key: str) -> None:
    attempts = Attempts(request_of, 60)
    for error in (lost(), answer(503, "UNAVAILABLE", 100)):  # the second one becomes OUTCOME_UNKNOWN after the first one
        try:
            attempts.delay_after(error)
        except HoldfastError as raised:
            error = raised
        assert error.idempotency_key == key
        assert pickle.loads(pickle.dumps(error)).idempotency_key == key


def test_errors_survive_a_proxy_and_another_process() -> None:
    bodies = [b"<html>", b'{"code":5}', b"[]", b"null", b'{"code":null}', b'{"code":[]}', b'{"code":"GATEWAY_TIMEOUT"}']
    bodies += [b'{"code":"VALIDATION_FAILED","errors":%s}' % errors for errors in (b"5", b'"x"', b"[1]", b"[null]", b'{"a":1}')]
    for content in bodies:
        wrong = {"Content-Type": "application/problem+json", "Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}
        error = error_of(httpx.Response(502, content=content, headers=wrong))
        assert (error.code, error.detail, error.retry_after, error.problem.get("errors")) == ("", "502 Bad Gateway", 0, None)
        assert str(error) == "HoldfastError: 502 Bad Gateway (status 502, request )"
        attempts = Attempts(Request("POST", "/", body={"idempotencyKey": "7"}), 60)
        attempts.delay_after(error)
        with pytest.raises(OutcomeUnknown):
            attempts.delay_after(answer(503, "UNAVAILABLE", 100))
    problem = {"code": "SEATS_UNAVAILABLE", "available": 1}
    assert error_of(httpx.Response(409, json=problem)).code == "", "application/json is that of a proxy"
    headers = {"Content-Type": "Application/Problem+JSON; charset=utf-8", "Retry-After": "3"}
    refusal = error_of(httpx.Response(409, json=problem, headers=headers))
    copied = pickle.loads(pickle.dumps(refusal))
    assert isinstance(copied, SeatsUnavailable)
    assert (copied.available, copied.retry_after) == (1, 3)


def test_retry_after_may_be_a_time() -> None:
    at = "Fri, 31 Dec 1999 23:59:59 GMT"
    dates = {"Fri, 31 Dec 1999 23:59:29 GMT": 30, "Sat, 01 Jan 2000 00:00:00 GMT": 0, "Fri, 31 Dec 1999 23:59:29 -0000": 0, "now": 0}
    for date, seconds in dates.items():
        assert error_of(httpx.Response(503, headers={"Retry-After": at, "Date": date})).retry_after == seconds
    assert error_of(httpx.Response(503, headers={"Retry-After": at})).retry_after == 0
    far = "Fri, 31 Dec 99999999999999999999 23:59:59 GMT"
    assert error_of(httpx.Response(503, headers={"Retry-After": far, "Date": at})).retry_after == 0


def test_tokens_may_be_fetched() -> None:
    async def fetch() -> str:
        return "fetched"

    assert asyncio.run(async_fresh(fetch)) == "fetched"
    assert asyncio.run(async_fresh(lambda: "made")) == fresh(lambda: "made") == "made"
    assert asyncio.run(async_fresh("kept")) == fresh("kept") == "kept"
    assert asyncio.run(async_fresh(None)) == fresh(None) == ""


@pytest.mark.parametrize("secret", ["", "whsec_"])
def test_an_empty_secret_verifies_nothing(secret: str) -> None:
    now = int(time.time())
    signature = base64.b64encode(hmac.digest(b"", f"1.{now}.{{}}".encode(), "sha256")).decode()
    with pytest.raises(WebhookVerificationError, match="secret is empty"):
        verify_webhook(secret, "{}", {"webhook-id": "1", "webhook-timestamp": str(now), "webhook-signature": f"v1,{signature}"})


def test_webhooks_take_the_headers_of_http_server() -> None:
    headers = Message()  # BaseHTTPRequestHandler.headers
    headers["Webhook-Id"], headers["Webhook-Timestamp"] = "1", str(int(time.time()))
    signed = f"1.{headers['Webhook-Timestamp']}.{{}}".encode()
    headers["Webhook-Signature"] = "v1," + base64.b64encode(hmac.digest(b"secret", signed, "sha256")).decode()
    assert not verify_webhook("whsec_" + base64.b64encode(b"secret").decode(), b"{}", headers)


def test_webhooks_refuse_what_was_read_or_is_not_set() -> None:
    wrong: Any
    for wrong in (None, 5):
        with pytest.raises(TypeError, match="the secret must be a str"):
            verify_webhook(wrong, b"{}", {})
    for wrong in (None, {}, []):
        with pytest.raises(TypeError, match="the body bytes or a str, as it was received"):
            verify_webhook("whsec_" + "a" * 32, wrong, {})


def test_messages_come_whole() -> None:
    text = b"retry: 3000\n: hello\n\nevent: reset\r\ndata: {}\r\n\r\n"
    text += b'event: availability\nid: 7\ndata: {"eventId":\ndata: "\xc3\xa9"}\n\nid: 8\n'
    for size in (1, 7, len(text)):
        messages = Messages()
        found = [m for begin in range(0, len(text), size) for m in messages.feed(text[begin : begin + size])]
        assert found == [{"event": "reset", "data": {}}, {"event": "availability", "id": "7", "data": {"eventId": "é"}}]
        assert messages.retry == 3


def test_when_streams_connect_again() -> None:
    stream = Reconnection(has_fresh_tokens=False)
    stream.connected()
    assert 2 <= stream.delay_after(lost(), 2) <= 3, "not at once"
    expected = 0.5
    for error in [refused_connection(), answer(500, "INTERNAL"), answer(429, "TOO_MANY_REQUESTS"), answer(502)] * 25:  # for ever
        assert expected <= stream.delay_after(error, 2) <= expected * 1.5
        expected = min(expected * 2, 15)
    assert 20 <= stream.delay_after(answer(503, "UNAVAILABLE", 20), 2) <= 30
    assert 120 <= stream.delay_after(answer(503, "UNAVAILABLE", 10_000), 2) <= 180
    stream.connected()
    stream.delay_after(lost(), 2)
    assert stream.delay_after(lost(), 2) <= 0.75, "a connection begins the delays again"


@pytest.mark.parametrize(
    "error",
    [
        answer(404, "EVENT_NOT_FOUND"),
        answer(401, "UNAUTHENTICATED"),
        answer(403, "FORBIDDEN"),
        answer(422, "VALIDATION_FAILED"),
        answer(302),
    ],
    ids=str,
)
def test_what_ends_streams(error: HoldfastError) -> None:
    with pytest.raises(HoldfastError):
        Reconnection(has_fresh_tokens=False).delay_after(error, 2)
    fresh = Reconnection(has_fresh_tokens=True)
    for _ in range(4 if error.status == 401 else 0):
        fresh.delay_after(error, 2)
    with pytest.raises(HoldfastError):
        fresh.delay_after(error, 2)
