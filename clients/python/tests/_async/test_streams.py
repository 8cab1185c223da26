"""Streams that are cut, at a real API."""

from contextlib import aclosing

import pytest

from holdfast_client import HoldfastError
from holdfast_client.models import SectionBitmap, SectionChanges

from ..api import Api, Proxy
from .sales import create_sale, create_seated_sale, new_client, new_holder

# A message that is lost ends a test, which would wait for it for ever.
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120, func_only=True)]


async def test_resumes_behind_the_last_message(api: Api, proxy: Proxy) -> None:
    async with new_client(api.url) as shop, new_client(proxy.url) as page:
        event = await create_sale(shop)
        async with aclosing(page.stream_event(event["id"])) as messages:
            first = await anext(messages)
            assert first["event"] == "availability"
            assert first["data"]["availableSeats"] == 10
            proxy.cut()
            await shop.acquire_lock(eventId=event["id"], holder=new_holder(), seats=3)
            second = await anext(messages)
            assert second["event"] == "availability", "it does not begin again"
            assert second["data"]["availableSeats"] == 7
            assert f"last-event-id: {first['id']}" in proxy.heads[-1].lower()
        async with aclosing(page.stream_event(event["id"], last_id=first["id"])) as messages:
            assert await anext(messages) == second


async def test_outlives_a_restart() -> None:
    api = Api()
    try:
        # A stream goes on for as long as it is read, whatever the retry timeout of calls is.
        async with new_client(api.url) as shop, new_client(api.url, retry_timeout=0) as page:
            event = await create_seated_sale(shop)
            async with aclosing(page.stream_seats(event["id"], "A")) as messages:
                sections, seats = await anext(messages), await anext(messages)
                assert sections["event"] == "sections"
                assert {s["key"]: s["available"] for s in sections["data"]} == {"A": 8, "pit": 20}
                assert seats["event"] == "seats"
                assert "bitmap" in seats["data"]
                api.restart()
                lock = await shop.acquire_lock(eventId=event["id"], holder=new_holder(), seatIds=["A-1-1"])
                is_reset = False
                async for message in messages:
                    is_reset = is_reset or message["event"] == "reset"
                    if message["event"] == "seats" and _has_taken(message["data"]):
                        break
                assert is_reset
                await shop.release_lock(lock["id"])
                async for message in messages:
                    if message["event"] == "seats" and "freed" in message["data"] and message["data"]["freed"] == ["A-1-1"]:
                        break
    finally:
        api.stop()


def _has_taken(data: SectionBitmap | SectionChanges) -> bool:
    """Whether the seat A-1-1 is taken: the message is of before or after the lock."""
    return data["bitmap"] == "gA==" if "bitmap" in data else data["taken"] == ["A-1-1"]


async def test_ends_where_it_is_refused(api: Api) -> None:
    async with new_client(api.url) as shop:
        with pytest.raises(HoldfastError) as missing:
            async for _ in shop.stream_event("0" * 24):
                pass
        assert missing.value.code == "EVENT_NOT_FOUND"
        event = await create_sale(shop)
        async with aclosing(shop.stream_event(event["id"])) as messages:
            await anext(messages)
            await shop.delete_event(event["id"])
            with pytest.raises(HoldfastError) as gone:
                async for _ in messages:
                    pass
        assert gone.value.code == "EVENT_NOT_FOUND"
