"""Calls whose answers are lost, at a real API behind a proxy that cuts connections."""

import pytest

from holdfast_client import AsyncClient, HoldfastError, NoAnswer

from ..api import KEY, Api, Proxy
from .sales import create_sale, new_client, new_holder

pytestmark = pytest.mark.anyio


async def test_lost_answers_acquire_one_lock(api: Api, proxy: Proxy) -> None:
    async with new_client(proxy.url) as shop:
        event = await create_sale(shop)
        proxy.lose_answers(2)
        lock = await shop.acquire_lock(eventId=event["id"], holder=new_holder(), seats=2)
        assert lock["replayed"]
        assert len(proxy.heads) == 3
        assert [found["id"] async for found in shop.list_locks(eventId=event["id"])] == [lock["id"]]
        assert (await shop.get_event(event["id"]))["availableSeats"] == 8


async def test_lost_answers_sell_and_create_once(api: Api, proxy: Proxy) -> None:
    async with new_client(proxy.url) as shop:
        event = await create_sale(shop)
        proxy.lose_answers(1)
        sold = await shop.sell_seats(event["id"], holder=new_holder(), seats=3)
        assert sold["replayed"]
        proxy.lose_answers(1)
        named = await shop.create_event(name="Once", totalSeats=1, eventDate="2030-01-01T00:00:00Z", reference=event["id"])
        assert len(proxy.heads) == 2
        assert [e["id"] async for e in shop.list_events(reference=event["id"])] == [named["id"]]
        proxy.lose_answers(1)
        assert (await shop.cancel_booking(sold["id"]))["status"] == "CANCELLED"
        assert len(proxy.heads) == 2


async def test_an_unknown_outcome_is_found_out_with_the_key_of_the_error(api: Api, proxy: Proxy) -> None:
    async with new_client(api.url) as shop, new_client(proxy.url, retry_timeout=0) as impatient:
        event, holder = await create_sale(shop), new_holder()
        proxy.lose_answers(1)
        with pytest.raises(NoAnswer) as lost:
            await impatient.acquire_lock(eventId=event["id"], holder=holder, seats=2)
        lock = await shop.acquire_lock(eventId=event["id"], holder=holder, seats=2, idempotencyKey=lost.value.idempotency_key)
        assert lock["replayed"]
        assert (await shop.get_event(event["id"]))["availableSeats"] == 8


async def test_unsafe_calls_are_not_repeated(api: Api, proxy: Proxy) -> None:
    async with new_client(proxy.url) as shop:
        event = await create_sale(shop)
        proxy.lose_answers(1)
        with pytest.raises(NoAnswer) as lost:
            await shop.update_event(event["id"], name="Changed")
        assert (lost.value.code, lost.value.status) == ("", 0)
        assert len(proxy.heads) == 1
        assert (await shop.get_event(event["id"]))["name"] == "Changed"
        proxy.lose_answers(1)
        with pytest.raises(NoAnswer):
            await shop.request("POST", "/api/users", body={"name": "Ada", "email": "ada@example.com"})
        assert len(proxy.heads) == 1


async def test_unsafe_calls_are_repeated_if_they_were_not_sent(api: Api) -> None:
    async with new_client(api.url) as shop:
        event = await create_sale(shop)
    closed = Proxy(api.port)
    closed.close()
    opened: list[Proxy] = []
    attempts = iter(range(1000))

    def token() -> str:
        if next(attempts) == 2:  # the third attempt is the first that is sent
            opened.append(Proxy(api.port, closed.port))
        return KEY

    async with AsyncClient(closed.url, token) as shop:
        assert (await shop.update_event(event["id"], name="Later"))["name"] == "Later"
    (proxy,) = opened
    assert len(proxy.heads) == 1
    proxy.close()


async def test_retries_end_with_their_time(api: Api) -> None:
    closed = Proxy(api.port)
    closed.close()
    for retry_timeout in (0, 0.2):
        async with new_client(closed.url, retry_timeout) as shop:
            with pytest.raises(NoAnswer):
                await shop.get_health()


async def test_does_not_try_again_before_the_answer_says_so() -> None:
    api = Api(RATE_LIMIT_PER_KEY="1/h")
    proxy = Proxy(api.port)
    try:
        async with new_client(proxy.url) as shop:
            event = await create_sale(shop)
            with pytest.raises(HoldfastError) as refusal:
                await shop.get_event(event["id"])
        assert refusal.value.code == "TOO_MANY_REQUESTS"
        assert refusal.value.retry_after > 60, "more than the retry timeout"
        assert len(proxy.heads) == 2
    finally:
        proxy.close()
        api.stop()
