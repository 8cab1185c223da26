"""What the tests sell."""

import secrets
import time
from collections.abc import AsyncIterator, Callable

from holdfast_client import AsyncClient
from holdfast_client._io import async_sleep
from holdfast_client.models import Event, SeatingPlanPlan

from ..api import KEY

DATE = "2030-06-15T19:00:00Z"

HALL: SeatingPlanPlan = {
    "name": "Studio",
    "categories": [{"key": "seats", "name": "Seats"}, {"key": "standing", "name": "Standing"}],
    "sections": [
        {"key": "A", "name": "Stalls", "category": "seats", "rows": [{"key": "1", "seats": 4}, {"key": "2", "seats": 4}]},
        {"key": "pit", "name": "Pit", "category": "standing", "capacity": 20},
    ],
}


def new_client(url: str, retry_timeout: float = 60) -> AsyncClient:
    return AsyncClient(url, KEY, retry_timeout=retry_timeout)


def new_holder() -> str:
    return "cart-" + secrets.token_hex(6)


async def create_sale(shop: AsyncClient, seats: int = 10) -> Event:
    return await shop.create_event(name="Gala", totalSeats=seats, eventDate=DATE)


async def create_seated_sale(shop: AsyncClient) -> Event:
    plan = await shop.create_seating_plan(HALL)
    return await shop.create_event(name="Gala", seatingPlanId=plan["id"], eventDate=DATE, orphanRule="REFUSE")


async def eventually(listed: Callable[[], AsyncIterator[object]]) -> None:
    """Waits until a list has an item."""
    deadline = time.monotonic() + 120
    while not [item async for item in listed()]:
        assert time.monotonic() < deadline
        await async_sleep(0.05)
