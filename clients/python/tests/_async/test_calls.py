"""The calls, at a real API."""

import secrets
from contextlib import aclosing

import httpx
import pytest

from holdfast_client import (
    AsyncClient,
    CapacityBelowTaken,
    HoldfastError,
    SeatOrphaned,
    SeatsNotAdjacent,
    SeatsUnavailable,
    ValidationFailed,
    all_seats,
)
from holdfast_client.retry import DEFAULT_TIMEOUT, LONG_TIMEOUT

from ..api import KEY, Api, Proxy, new_token
from .sales import DATE, HALL, create_sale, create_seated_sale, new_client, new_holder

pytestmark = pytest.mark.anyio


async def test_locks_books_and_confirms(api: Api) -> None:
    async with new_client(api.url) as shop:
        event, holder = await create_sale(shop), new_holder()
        lock = await shop.acquire_lock(eventId=event["id"], holder=holder, seats=2, reference="R-1", metadata={"till": "3"})
        assert (lock["status"], lock["seats"], lock["replayed"]) == ("ACTIVE", 2, False)
        again = await shop.acquire_lock(
            eventId=event["id"], holder=holder, seats=2, reference="R-1", metadata={"till": "3"}, idempotencyKey=lock["idempotencyKey"]
        )
        assert (again["id"], again["replayed"]) == (lock["id"], True)
        extended = await shop.in_event(event["id"]).extend_lock(lock["id"], ttlSeconds=3600)
        assert extended["expiresAt"] > lock["expiresAt"]
        booking = await shop.create_booking(eventId=event["id"], lockId=lock["id"], holder=holder)
        assert (booking["status"], booking["reference"]) == ("INITIATED", "R-1")
        in_event = shop.in_event(event["id"])
        assert (await in_event.pay_booking(booking["id"], paymentTtlSeconds=900))["status"] == "PAYMENT_PENDING"
        sold = await in_event.confirm_booking(booking["id"], paymentReference="pi-" + booking["id"], amount=4200, currency="EUR")
        assert sold["status"] == "CONFIRMED"
        assert [b["id"] async for b in shop.list_bookings(holder=holder)] == [booking["id"]]
        assert (await shop.get_event(event["id"]))["availableSeats"] == 8
        assert (await shop.get_event_report(event["id"]))["sold"] == 2

        other = await create_sale(shop)
        with pytest.raises(HoldfastError) as refusal:
            await shop.in_event(other["id"]).get_booking(booking["id"])
        assert refusal.value.code == "BOOKING_NOT_FOUND"


async def test_changes_after_the_sale(api: Api) -> None:
    async with new_client(api.url) as shop:
        event, reference = await create_seated_sale(shop), secrets.token_hex(8)
        sold = await shop.sell_seats(
            event["id"], holder=new_holder(), seatIds=["A-1-1", "A-1-2", "A-1-3"], paymentReference=reference, amount=9000, currency="EUR"
        )
        assert (sold["status"], sold["replayed"]) == ("CONFIRMED", False)
        hall = shop.in_event(event["id"])
        changed = await hall.change_booking_seats(sold["id"], seatIds=["A-1-1", "A-1-2"], refund={"amount": 3000}, idempotencyKey="1")
        assert [place.get("seatId") for place in changed.get("places", [])] == ["A-1-1", "A-1-2"]
        assert (await hall.change_booking_seats(sold["id"], seatIds=["A-1-1", "A-1-2"], refund={"amount": 3000}, idempotencyKey="1"))[
            "replayed"
        ]
        guest = new_holder()
        assert (await hall.transfer_booking(sold["id"], holder=guest)).get("holder") == guest
        (payment,) = [p async for p in shop.list_payments(eventId=event["id"], refundDue="true")]
        (part,) = payment.get("refunds", [])
        noted = await shop.note_part_refunded(payment["id"], part["id"], refundReference="re-1")
        assert noted.get("amountDue") == 0
        assert (await shop.refund_part(payment["id"], amount=500)).get("amountDue") == 500
        assert (await shop.cancel_booking(sold["id"]))["status"] == "CANCELLED"
        assert (await shop.refund_payment(payment["id"], refundReference="re-2"))["status"] == "REFUNDED"
        assert (await shop.get_payment(payment["id"]))["status"] == "REFUNDED"


async def test_changes_seats_and_reads_the_map(api: Api) -> None:
    async with new_client(api.url) as shop:
        event = await create_seated_sale(shop)
        plan = await shop.get_seating_plan(event.get("seatingPlanId", ""), "A")
        copied = await shop.create_seating_plan(plan)
        assert (copied["totalSeats"], copied["replayed"]) == (8, False)
        lock = await shop.acquire_lock(eventId=event["id"], holder=new_holder(), seatIds=["A-1-1", "A-1-2"])
        changed = await shop.in_event(event["id"]).change_seats(lock["id"], bestAvailable={"seats": 3, "adjacent": "REQUIRED"})
        held = [place.get("seatId") for place in changed.get("places", [])]
        assert len(held) == 3

        seats = await shop.get_seats(event["id"], "A")
        (section,) = plan["sections"]
        assert [seat["id"] for number, seat in enumerate(all_seats(section)) if seats.is_taken("A", number)] == held
        assert seats.is_taken("A", 8)
        assert seats.is_taken("pit", 0)
        assert await shop.refresh_seats(seats) is seats
        await shop.block_seats(event["id"], seatIds=["A-2-3", "A-2-4"])
        fresh = await shop.refresh_seats(seats)
        assert fresh is not seats
        assert fresh.sections["A"]["available"] == 3
        assert (await shop.get_seat(event["id"], "A-2-3"))["state"] == "BLOCKED"
        assert await shop.unblock_seats(event["id"], seatIds=["A-2-3", "A-2-4"]) == {"blocked": 0}
        assert (await shop.release_lock(lock["id"]))["status"] == "RELEASED"


async def test_waits_for_seats(api: Api) -> None:
    async with new_client(api.url) as shop:
        event = await create_sale(shop, 2)
        await shop.update_event(event["id"], waitlist="OPEN", maxSeatsPerUser=2)
        lock = await shop.acquire_lock(eventId=event["id"], holder=new_holder(), seats=2)
        first = await shop.join_waitlist(event["id"], holder=new_holder(), seats=2)
        second = await shop.join_waitlist(event["id"], holder=new_holder(), seats=1)
        assert (first.get("position"), second.get("position")) == (1, 2)
        await shop.release_lock(lock["id"])
        offered = await shop.get_waitlist_entry(first["id"])
        assert offered["status"] == "OFFERED"
        assert (await shop.get_lock(offered.get("lockId", "")))["seats"] == 2
        assert (await shop.decline_offer(first["id"]))["status"] == "DECLINED"
        assert [entry["id"] async for entry in shop.list_waitlist(event["id"], status="OFFERED")] == [second["id"]]
        assert (await shop.leave_waitlist(second["id"]))["status"] == "LEFT"


async def test_errors_have_their_details(api: Api) -> None:
    async with new_client(api.url) as shop:
        event = await create_seated_sale(shop)
        await shop.acquire_lock(eventId=event["id"], holder=new_holder(), seatIds=["A-1-1", "A-1-2"])
        with pytest.raises(SeatsUnavailable) as taken:
            await shop.acquire_lock(eventId=event["id"], holder=new_holder(), seatIds=["A-1-2", "A-1-3"])
        assert (taken.value.code, taken.value.status) == ("SEATS_UNAVAILABLE", 409)
        assert (taken.value.requested, taken.value.available, taken.value.unavailable) == (2, 1, ["A-1-2"])
        assert taken.value.request_id in str(taken.value)
        with pytest.raises(SeatOrphaned) as single:
            await shop.acquire_lock(eventId=event["id"], holder=new_holder(), seatIds=["A-2-2"])
        assert single.value.orphans == ["A-2-1"]
        with pytest.raises(SeatsNotAdjacent) as apart:
            await shop.acquire_lock(eventId=event["id"], holder=new_holder(), bestAvailable={"seats": 5, "adjacent": "REQUIRED"})
        assert apart.value.longest == 4
        other = await shop.create_seating_plan({**HALL, "sections": HALL["sections"][1:]})
        with pytest.raises(CapacityBelowTaken) as lacking:
            await shop.update_event(event["id"], seatingPlanId=other["id"])
        assert (lacking.value.taken, lacking.value.missing, lacking.value.missing_seats) == (2, ["A-1-1", "A-1-2"], 2)
        with pytest.raises(ValidationFailed) as invalid:
            await shop.create_event(name="", totalSeats=1, eventDate=DATE)
        assert {e["location"] for e in invalid.value.errors} == {"body.name"}
        assert "body.name" in str(invalid.value)

        sale = await create_sale(shop)
        lock = await shop.acquire_lock(eventId=sale["id"], holder="late", seats=2)
        with pytest.raises(CapacityBelowTaken) as lower:
            await shop.update_event(sale["id"], totalSeats=1)
        assert lower.value.taken == 2
        booking = await shop.create_booking(eventId=sale["id"], lockId=lock["id"], holder="late", paymentTtlSeconds=900)
        await shop.cancel_booking(booking["id"])
        with pytest.raises(HoldfastError) as refused:
            await shop.confirm_booking(booking["id"], paymentReference="pi-" + booking["id"])
        assert refused.value.code == "BOOKING_CANCELLED"
        assert refused.value.payment is not None
        assert refused.value.payment["status"] == "REFUND_DUE"

    async with new_client(api.url + "/nowhere") as shop:
        with pytest.raises(HoldfastError) as missing:
            await shop.get_lock("0" * 24)
        assert missing.value.status == 404


async def test_iterates_over_pages(api: Api, proxy: Proxy) -> None:
    async with new_client(proxy.url) as shop:
        event = await create_sale(shop)
        locks = [await shop.acquire_lock(eventId=event["id"], holder=new_holder(), seats=1) for _ in range(5)]
        proxy.lose_answers(0)
        listed = [lock["id"] async for lock in shop.list_locks(eventId=event["id"], pageSize=2)]
        assert sorted(listed) == sorted(lock["id"] for lock in locks)
        assert len(proxy.heads) == 3
        assert len([lock async for lock in shop.list_items("/api/locks", eventId=event["id"], pageSize=3)]) == 5
        named = await shop.create_event(name="First", totalSeats=1, eventDate="2031-01-01T00:00:00Z", reference=event["id"])
        dated = shop.list_events(from_="2031-01-01T00:00:00Z", to="2031-01-01T00:00:01Z", reference=event["id"])
        assert [e["id"] async for e in dated] == [named["id"]]


async def test_changes_users_events_and_metadata(api: Api) -> None:
    async with new_client(api.url) as shop:
        email = f"Ada-{secrets.token_hex(6)}@example.com"
        user = await shop.create_user(name="Ada", email=email)
        assert await shop.find_user(email.upper()) == user
        assert await shop.find_user("x" + email) is None
        assert (await shop.update_user(user["id"], name="Countess"))["name"] == "Countess"
        event = await create_sale(shop)
        lock = await shop.acquire_lock(eventId=event["id"], userId=user["id"], seats=1, metadata={"a": "1", "b": "2"})
        changed = await shop.in_event(event["id"]).update_lock(lock["id"], metadata={"a": None}, reference="R")
        assert (changed.get("metadata"), changed.get("reference")) == ({"b": "2"}, "R")
        with pytest.raises(HoldfastError) as held:
            await shop.erase_user(user["id"])
        assert held.value.code == "HOLDS_SEATS"
        await shop.release_lock(lock["id"])
        assert (await shop.erase_user(user["id"]))["locks"] == 1
        assert await shop.erase_holder(new_holder()) == {"locks": 0, "bookings": 0, "entries": 0}
        empty = await create_sale(shop)
        await shop.delete_event(empty["id"])
        with pytest.raises(HoldfastError) as gone:
            await shop.get_event(empty["id"])
        assert gone.value.code == "EVENT_NOT_FOUND"
        assert (await shop.cancel_event(event["id"]))["job"] == "event-cancel"


async def test_reads_what_operators_read(api: Api) -> None:
    async with new_client(api.url) as shop:
        event = await create_seated_sale(shop)
        sale = await create_sale(shop)
        assert event["id"] in [e["id"] for e in (await shop.get_overview(pageSize=100))["events"]]
        assert (await shop.get_event_summary(sale["id"]))["id"] == sale["id"]
        assert (await shop.get_event_sales(sale["id"], by="day"))["by"] == "day"
        assert await shop.get_seat_states(event["id"])
        assert "checks" in await shop.get_health()
        assert await shop.get_survey()
        assert await shop.refunds_due()
        assert await shop.search(q=sale["id"])
        assert "lock-expiry" in [job["name"] for job in (await shop.list_jobs())["items"]]
        assert (await shop.run_job("lock-expiry"))["outcome"] == "completed"
        assert "lock-expiry" in [run["job"] async for run in shop.list_runs("lock-expiry")]
        assert (await shop.free_lease("lock-expiry"))["freed"] is False
        plan = await shop.convert_seating_plan(b"section,row,seat,category\nA,1,1,x\nA,1,2,x\n", format="csv", name="Hall")
        assert plan["plan"]["name"] == "Hall"
        preview = await shop.preview_seating_plan(plan["plan"], 2, 3)
        assert [len(pick["seatIds"]) for pick in preview["picks"]] == [2, 0]
        stored = await shop.get_seating_plan(event["seatingPlanId"])
        assert (await shop.export_seating_plan(stored, format="csv"))["file"].startswith("section,row,seat")
        assert (await shop.export_seating_plan(plan["plan"], format="svg"))["differences"] == []
        assert [p async for p in shop.list_seating_plans()]
        assert KEY.encode() not in await shop.request("GET", "/api/admin/health")
        with pytest.raises(ValueError, match="slash"):
            await shop.request("GET", "//example.com/api")


async def test_ids_that_name_another_route_are_not_sent(proxy: Proxy) -> None:
    async with new_client(proxy.url) as shop:
        for wrong in ("", ".", ".."):
            with pytest.raises(ValueError, match="not a valid ID"):
                await shop.note_part_refunded("0" * 24, wrong, refundReference="re-1")
            with pytest.raises(ValueError, match="not a valid ID"):
                await shop.in_event(wrong).get_booking("0" * 24)
            with pytest.raises(ValueError, match="not a valid ID"):
                shop.stream_event(wrong)
            with pytest.raises(ValueError, match="not a valid ID"):
                shop.list_runs(wrong)
    assert proxy.heads == []


async def test_long_calls_have_their_time(api: Api) -> None:
    timeouts = []

    async def note(request: httpx.Request) -> None:
        timeouts.append(request.extensions["timeout"]["read"])

    async with httpx.AsyncClient(event_hooks={"request": [note]}) as http:
        shop = AsyncClient(api.url, KEY, http=http)
        event = await create_sale(shop)
        user = await shop.create_user(name="Ada", email=f"ada-{secrets.token_hex(6)}@example.com")
        assert set(timeouts) == {DEFAULT_TIMEOUT}
        timeouts.clear()
        await shop.erase_user(user["id"])
        await shop.erase_holder(new_holder())
        await shop.get_event_report(event["id"])
        await shop.get_survey()
        assert timeouts == [LONG_TIMEOUT] * 4


async def test_acts_for_a_customer_with_fresh_tokens(api: Api) -> None:
    holder = new_holder()
    tokens = iter(["wrong", *(new_token(holder) for _ in range(4))])
    async with new_client(api.url) as shop, AsyncClient(api.url, lambda: next(tokens)) as page:
        event = await create_sale(shop)
        with pytest.raises(HoldfastError) as refusal:
            await page.get_event(event["id"])
        assert refusal.value.code == "UNAUTHENTICATED"
        lock = await page.acquire_lock(eventId=event["id"], holder=holder, seats=1)
        booking = await page.create_booking(eventId=event["id"], lockId=lock["id"], holder=holder, paymentTtlSeconds=900)
        with pytest.raises(HoldfastError) as forbidden:
            await page.confirm_booking(booking["id"])
        assert forbidden.value.code == "FORBIDDEN"
        async with aclosing(page.stream_event(event["id"])) as messages:
            assert (await anext(messages))["event"] == "availability"
