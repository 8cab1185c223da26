"""Answers of something else than the API, and settings with which no request can be sent."""

import secrets
from functools import partial

import pytest

from holdfast_client import AsyncClient, HoldfastError, NoAnswer

from ..api import KEY, Api, Proxy, Website
from .sales import new_client, new_holder

# A call that is retried ends with its retry timeout, a stream that connects again does not end.
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120, func_only=True)]

HTML = "text/html; charset=utf-8", b"<html>Welcome</html>"


@pytest.mark.parametrize(
    ("media_type", "body"),
    [HTML, ("application/json", b"null"), ("application/json", b"[]"), ("application/json", b'"x"'), ("application/json", b"")],
    ids=str,
)
async def test_a_wrong_url_is_said_at_once(media_type: str, body: bytes) -> None:
    with Website(200, media_type, body) as site:
        async with new_client(site.url) as shop:
            with pytest.raises(HoldfastError, match="URL may be wrong") as error:
                await shop.acquire_lock(eventId="0" * 24, holder=new_holder(), seats=1)
            assert not isinstance(error.value, NoAnswer)
            assert (error.value.code, error.value.status) == ("", 200)
            assert error.value.idempotency_key
            with pytest.raises(HoldfastError, match="URL may be wrong"):
                [lock async for lock in shop.list_locks()]
            with pytest.raises(HoldfastError, match="URL may be wrong"):
                await shop.delete_event("0" * 24)
            assert site.requests == 3
            assert await shop.request("GET", "/api/locks") == body


async def test_an_empty_answer_is_not_an_object() -> None:
    with Website(204, "application/json", b"") as site:
        async with new_client(site.url) as shop:
            with pytest.raises(HoldfastError, match="URL may be wrong"):
                await shop.get_event("0" * 24)


@pytest.mark.parametrize(("media_type", "body"), [HTML, ("application/json", b"{}")], ids=str)
async def test_a_stream_ends_if_it_is_none(media_type: str, body: bytes) -> None:
    with Website(200, media_type, body) as site:
        async with new_client(site.url) as shop:
            with pytest.raises(HoldfastError, match="URL may be wrong") as error:
                async for _ in shop.stream_event("0" * 24):
                    pass
            assert not isinstance(error.value, NoAnswer)
            assert site.requests == 1


@pytest.mark.parametrize("body", [b'{"code":504}', b'{"code":"GATEWAY_TIMEOUT"}', b'{"code":"SEATS_UNAVAILABLE"}'], ids=str)
async def test_a_gateway_leaves_the_outcome_unknown(body: bytes) -> None:
    with Website(504, "application/json", body) as site:
        async with new_client(site.url, retry_timeout=0) as shop:
            with pytest.raises(HoldfastError) as error:
                await shop.acquire_lock(eventId="0" * 24, holder=new_holder(), seats=1)
            assert (error.value.code, error.value.detail) == ("", "504 Gateway Timeout")
            assert error.value.idempotency_key


async def test_the_scheme_is_in_any_case(api: Api) -> None:
    async with new_client(api.url.replace("http", "HTTP")) as shop:
        assert (await shop.get_health())["status"]


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:8080", "ftp://holdfast", "http://", "https://:80", "http://[::1", "http://a:b", "http://a\n"]
)
def test_a_malformed_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="the base URL must be http:// or https:// with a host"):
        AsyncClient(url, KEY)


BAD_TOKENS = [secrets.token_hex(8) + wrong + secrets.token_hex(8) for wrong in ("\n", "\r\nX-Other: ", "\0", " ", "\x7f", "é")]


def _is_hidden(token: str, error: BaseException) -> bool:
    """Whether an error has no part of a token."""
    return error.__cause__ is None and token[:16] not in repr(error) and token[-16:] not in repr(error)


async def test_a_malformed_key_is_refused_and_not_shown(proxy: Proxy) -> None:
    for token in BAD_TOKENS:
        with pytest.raises(ValueError, match="characters") as refused:
            AsyncClient(proxy.url, token)
        assert _is_hidden(token, refused.value)
        async with AsyncClient(proxy.url, partial(str, token)) as shop:
            with pytest.raises(ValueError, match="characters") as refused:
                await shop.get_health()
            assert _is_hidden(token, refused.value)
            with pytest.raises(ValueError, match="characters") as refused:
                async for _ in shop.stream_event("0" * 24):
                    pass
            assert _is_hidden(token, refused.value)
    with pytest.raises(TypeError, match="must be a str") as wrong_type:
        AsyncClient(proxy.url, KEY.encode())  # type: ignore[arg-type]
    assert KEY not in repr(wrong_type.value)
    assert proxy.heads == []


async def test_white_space_around_a_key_is_not_sent(api: Api) -> None:
    for token in (f" {KEY}\n", lambda: f"\t{KEY}\r\n"):
        async with AsyncClient(api.url, token) as shop:
            assert (await shop.get_health())["status"]
