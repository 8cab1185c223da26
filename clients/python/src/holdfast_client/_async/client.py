"""The client: a method for each operation of the API. The package _sync is generated from this one."""

import copy
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from types import TracebackType
from typing import Any, Literal, TypeAlias, TypeVar, cast
from urllib.parse import quote

import httpx

from .. import models as m
from .._io import AsyncToken
from .._typing import Unpack
from ..retry import DEFAULT_RETRY_TIMEOUT, DEFAULT_TIMEOUT, LONG_TIMEOUT, PLAN_TIMEOUT, Request
from ..seats import EventSeats
from .transport import Answer, AsyncTransport

T = TypeVar("T")
Method: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


def _path(*parts: str) -> str:
    for part in parts:
        if part in ("", ".", ".."):  # httpx resolves dots, so that the path would name another route
            raise ValueError(f"{part!r} is not a valid ID")
    return "/api" + "".join("/" + quote(part, safe="") for part in parts)


def _with_key(body: Mapping[str, object]) -> dict[str, object]:
    """The body with an idempotency key, so that it can be sent again: the caller's, or one of its own."""
    return {**body, "idempotencyKey": body.get("idempotencyKey") or secrets.token_hex(16)}


def _without_id(plan: Mapping[str, object]) -> dict[str, object]:
    """A plan as it is created, of one that was read."""
    return {name: value for name, value in plan.items() if name not in ("id", "createdAt")}


class AsyncClient:
    """Calls one API.

    The arguments and answers of its methods have the names of the API; times are texts of RFC 3339. A refusal is a
    HoldfastError. See the module retry for what is tried again.
    """

    def __init__(
        self,
        base_url: str,
        token: AsyncToken = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        retry_timeout: float = DEFAULT_RETRY_TIMEOUT,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        """Makes a client of the API at base_url, such as http://127.0.0.1:8080.

        The token is the secret of a key or a customer's token, or a function that returns a fresh one for each request.
        timeout limits the seconds in which an answer, or more of it, must arrive. retry_timeout limits those of a call
        with its retries; 0 disables retries. http replaces the HTTP client, such as for certificates; it must not
        follow redirects, and the caller closes it.
        """
        _check_url(base_url)
        self._http = http or httpx.AsyncClient()
        self._owns_http = http is None
        self._transport = AsyncTransport(base_url, token, self._http, timeout, retry_timeout)
        self._event: str | None = None  # in the paths of locks and bookings

    async def aclose(self) -> None:
        """Closes the connections, also those of the clients that in_event has returned."""
        if self._owns_http:
            await self._http.aclose()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    def in_event(self, event_id: str, /) -> "AsyncClient":
        """Returns a client that names an event in the paths of its calls on locks and bookings.

        By it a load balancer can send all of an event's requests to one process, which is faster. To it, a lock or a
        booking of another event is LOCK_NOT_FOUND or BOOKING_NOT_FOUND. acquire_lock, create_booking and sell_seats
        name their event in any case.
        """
        client = copy.copy(self)
        client._event = event_id
        return client

    # Locks

    async def acquire_lock(self, **lock: Unpack[m.NewLock]) -> m.LockAnswer:
        """Acquires a lock on seats, in one of the forms seats, seatIds, bestAvailable, or section with seats."""
        path = _path("events", lock["eventId"], "locks")
        return cast(m.LockAnswer, await self._replayable(Request("POST", path, body=_with_key(lock))))

    async def get_lock(self, lock_id: str, /) -> m.Lock:
        return await self._call(m.Lock, "GET", _path("locks", lock_id))

    def list_locks(self, **filters: Unpack[m.ListLocksQuery]) -> AsyncIterator[m.Lock]:
        return self._list(m.Lock, _path("locks"), filters)

    async def extend_lock(self, lock_id: str, /, **end: Unpack[m.LockExtension]) -> m.Lock:
        """Moves the expiry of a lock to a later time. It never shortens the lock."""
        return await self._call(m.Lock, "POST", self._lock(lock_id, "extend"), end)

    async def change_seats(self, lock_id: str, /, **wish: Unpack[m.Wish]) -> m.Lock:
        """Replaces the seats of a lock without a booking: it gets the whole wish, or stays as it is."""
        return await self._call(m.Lock, "PUT", self._lock(lock_id, "seats"), wish)

    async def update_lock(self, lock_id: str, /, **change: Unpack[m.ShopChange]) -> m.Lock:
        """Changes the reference and the metadata of a lock. None removes one. After an error it is as with update_event."""
        return await self._call(m.Lock, "PATCH", self._lock(lock_id), change, is_idempotent=False)

    async def release_lock(self, lock_id: str, /) -> m.Lock:
        """Releases a lock, and cancels its open booking."""
        return await self._call(m.Lock, "DELETE", self._lock(lock_id))

    # Bookings

    async def create_booking(self, **booking: Unpack[m.NewBooking]) -> m.Booking:
        """Books the seats of a lock. If the lock already has a booking, it returns that one."""
        return await self._call(m.Booking, "POST", _path("events", booking["eventId"], "bookings"), booking)

    async def get_booking(self, booking_id: str, /) -> m.Booking:
        return await self._call(m.Booking, "GET", self._booking(booking_id))

    def list_bookings(self, **filters: Unpack[m.ListBookingsQuery]) -> AsyncIterator[m.Booking]:
        return self._list(m.Booking, _path("bookings"), filters)

    async def pay_booking(self, booking_id: str, /, **window: Unpack[m.PaymentWindow]) -> m.Booking:
        """Opens the payment window of an INITIATED booking."""
        return await self._call(m.Booking, "POST", self._booking(booking_id, "pay"), window)

    async def confirm_booking(self, booking_id: str, /, **charge: Unpack[m.Charge]) -> m.Booking:
        """Asserts that the charge was taken, or authorised: the seats are sold.

        If it is refused, the payment of the error must be refunded. Without a payment, nothing was recorded.
        """
        return await self._call(m.Booking, "POST", self._booking(booking_id, "confirm"), charge)

    async def cancel_booking(self, booking_id: str, /) -> m.Booking:
        """Cancels a booking. The seats are available again."""
        return await self._call(m.Booking, "POST", self._booking(booking_id, "cancel"))

    async def update_booking(self, booking_id: str, /, **change: Unpack[m.ShopChange]) -> m.Booking:
        """Changes the reference and the metadata of a booking, as update_lock does."""
        return await self._call(m.Booking, "PATCH", self._booking(booking_id), change, is_idempotent=False)

    async def change_booking_seats(self, booking_id: str, /, **change: Unpack[m.BookingChange]) -> m.BookingAnswer:
        """Replaces the seats of a booking, with the payment or the refund that belongs to it: all of it, or nothing."""
        request = Request("PUT", self._booking(booking_id, "seats"), body=_with_key(change))
        return cast(m.BookingAnswer, await self._replayable(request))

    async def transfer_booking(self, booking_id: str, /, **to: Unpack[m.Transfer]) -> m.BookingAnswer:
        """Gives a CONFIRMED booking to another customer. It has a new lock then."""
        request = Request("POST", self._booking(booking_id, "transfer"), body=_with_key(to))
        return cast(m.BookingAnswer, await self._replayable(request))

    async def sell_seats(self, event_id: str, /, **sale: Unpack[m.NewSale]) -> m.BookingAnswer:
        """Sells seats at once, also outside the times of the sale: it returns a CONFIRMED booking."""
        request = Request("POST", _path("events", event_id, "sales"), body=_with_key(sale))
        return cast(m.BookingAnswer, await self._replayable(request))

    # Payments

    async def get_payment(self, payment_id: str, /) -> m.Payment:
        return await self._call(m.Payment, "GET", _path("payments", payment_id))

    def list_payments(self, **filters: Unpack[m.ListPaymentsQuery]) -> AsyncIterator[m.Payment]:
        """Iterates over payments; with refundDue=True those of which something must be refunded."""
        return self._list(m.Payment, _path("payments"), filters)

    async def refund_payment(self, payment_id: str, /, **refund: Unpack[m.RefundReference]) -> m.Payment:
        """Records that a payment that is REFUND_DUE was refunded or voided."""
        return await self._call(m.Payment, "POST", _path("payments", payment_id, "refunded"), refund)

    async def refund_part(self, payment_id: str, /, **part: Unpack[m.NewPart]) -> m.Payment:
        """Makes a part of a payment due for refund."""
        return await self._call(m.Payment, "POST", _path("payments", payment_id, "refunds"), _with_key(part))

    async def note_part_refunded(self, payment_id: str, refund_id: str, /, **refund: Unpack[m.RefundReference]) -> m.Payment:
        """Records that a part of a payment was refunded."""
        return await self._call(m.Payment, "POST", _path("payments", payment_id, "refunds", refund_id, "refunded"), refund)

    # Waiting lists

    async def join_waitlist(self, event_id: str, /, **entry: Unpack[m.NewWaitlistEntry]) -> m.WaitlistEntry:
        """Returns the customer's place on a waiting list: the open entry with the same wish, or a new one."""
        return await self._call(m.WaitlistEntry, "POST", _path("events", event_id, "waitlist"), entry)

    async def get_waitlist_entry(self, entry_id: str, /) -> m.WaitlistEntry:
        return await self._call(m.WaitlistEntry, "GET", _path("waitlist", entry_id))

    def list_waitlist(self, event_id: str, /, **filters: Unpack[m.ListWaitlistQuery]) -> AsyncIterator[m.WaitlistEntry]:
        """Iterates over the entries of an event's waiting list in their order."""
        return self._list(m.WaitlistEntry, _path("events", event_id, "waitlist"), filters)

    async def decline_offer(self, entry_id: str, /) -> m.WaitlistEntry:
        """Gives an offer back."""
        return await self._call(m.WaitlistEntry, "POST", _path("waitlist", entry_id, "decline"))

    async def leave_waitlist(self, entry_id: str, /) -> m.WaitlistEntry:
        """Ends an entry that waits, or gives its offer back."""
        return await self._call(m.WaitlistEntry, "DELETE", _path("waitlist", entry_id))

    # Events

    async def create_event(self, **event: Unpack[m.NewEvent]) -> m.Event:
        """Creates an event, which is on sale at once."""
        return await self._call(m.Event, "POST", _path("events"), _with_key(event))

    async def get_event(self, event_id: str, /) -> m.Event:
        return await self._call(m.Event, "GET", _path("events", event_id))

    def list_events(self, **filters: Unpack[m.ListEventsQuery]) -> AsyncIterator[m.Event]:
        """Iterates over events: with from_ or to by their date, otherwise by their creation."""
        return self._list(m.Event, _path("events"), filters)

    async def update_event(self, event_id: str, /, **change: Unpack[m.EventUpdate]) -> m.Event:
        """Changes an event. None removes what may be absent.

        If the answer is lost, it may be changed. The call is not repeated then, because another caller may have
        changed the event since.
        """
        return await self._call(m.Event, "PATCH", _path("events", event_id), change, is_idempotent=False)

    async def delete_event(self, event_id: str, /) -> None:
        await self._send(Request("DELETE", _path("events", event_id)))

    async def cancel_event(self, event_id: str, /) -> m.Run:
        """Cancels an event for good, and returns the run that ends its locks and bookings. A repeat returns the same run."""
        return await self._call(m.Run, "POST", _path("admin", "events", event_id, "cancel"))

    async def get_event_report(self, event_id: str, /) -> m.Report:
        """Counts the seats of an event by their state."""
        return await self._call(m.Report, "GET", _path("events", event_id, "report"), timeout=LONG_TIMEOUT)

    def stream_event(self, event_id: str, /, *, last_id: str = "") -> AsyncGenerator[m.AvailabilityMessage | m.ResetMessage, None]:
        """Follows the availability of an event, from the message last_id on, through lost connections.

        It goes on until the caller ends it, also while the API can't be reached. It ends with an error if the API
        refuses it, such as with EVENT_NOT_FOUND.
        """
        messages = self._transport.stream(Request("GET", _path("events", event_id, "stream")), last_id)
        return cast(AsyncGenerator[m.AvailabilityMessage | m.ResetMessage, None], messages)

    # Seats

    async def get_seats(self, event_id: str, /, *sections: str) -> EventSeats:
        """Returns the taken seats of an event with a seating plan, of all sections or of those with the keys."""
        answer = await self._get_seats(event_id, sections)
        return EventSeats(event_id, answer.value, sections, answer.headers.get("ETag", ""))

    async def refresh_seats(self, seats: EventSeats, /) -> EventSeats:
        """Returns the seats as they are now: the same object if nothing has changed, which costs little."""
        answer = await self._get_seats(seats.event_id, seats.asked_for, {"If-None-Match": seats.etag})
        if answer.value is None:
            return seats
        return EventSeats(seats.event_id, answer.value, seats.asked_for, answer.headers.get("ETag", ""))

    def stream_seats(
        self, event_id: str, /, *sections: str, last_id: str = ""
    ) -> AsyncGenerator[m.SectionsMessage | m.SeatsMessage | m.ResetMessage, None]:
        """Follows the free seats of all sections, and the seats of those with the keys, as stream_event does."""
        request = Request("GET", _path("events", event_id, "seats", "stream"), {"section": sections})
        messages = self._transport.stream(request, last_id)
        return cast(AsyncGenerator[m.SectionsMessage | m.SeatsMessage | m.ResetMessage, None], messages)

    async def get_seat(self, event_id: str, seat_id: str, /) -> m.Seat:
        """Returns a seat, and the lock that has it."""
        return await self._call(m.Seat, "GET", _path("events", event_id, "seats", seat_id))

    async def block_seats(self, event_id: str, /, **seats: Unpack[m.SeatList]) -> m.Blocked:
        """Takes seats out of sale, all of them or none."""
        return await self._call(m.Blocked, "POST", _path("events", event_id, "seats", "block"), seats)

    async def unblock_seats(self, event_id: str, /, **seats: Unpack[m.SeatList]) -> m.Blocked:
        """Puts blocked seats on sale again."""
        return await self._call(m.Blocked, "POST", _path("events", event_id, "seats", "unblock"), seats)

    # Seating plans

    async def create_seating_plan(
        self, plan: m.NewSeatingPlan | m.SeatingPlanPlan | m.SeatingPlan, /, *, idempotencyKey: str | None = None
    ) -> m.SeatingPlanAnswer:
        """Creates a plan. One that was read can be created elsewhere: its id and createdAt are ignored."""
        fields = _without_id(plan)
        body = _with_key({**fields, "idempotencyKey": idempotencyKey or fields.get("idempotencyKey")})
        request = Request("POST", _path("seating-plans"), body=body, timeout=PLAN_TIMEOUT)
        return cast(m.SeatingPlanAnswer, await self._replayable(request))

    async def get_seating_plan(self, plan_id: str, /, *sections: str) -> m.SeatingPlan:
        """Returns a plan written out, whole or the sections with the keys. It never changes: keep it."""
        query = {"section": sections}
        return await self._call(m.SeatingPlan, "GET", _path("seating-plans", plan_id), query=query, timeout=PLAN_TIMEOUT)

    def list_seating_plans(self, **filters: Unpack[m.ListSeatingPlansQuery]) -> AsyncIterator[m.SeatingPlanSummary]:
        return self._list(m.SeatingPlanSummary, _path("seating-plans"), filters)

    async def convert_seating_plan(self, file: bytes, /, **options: Unpack[m.ConvertSeatingPlanQuery]) -> m.ConvertedPlan:
        """Returns the plan of a file of CSV, JSON or pretix. It stores nothing: create_seating_plan does."""
        path = _path("admin", "seating-plans", "convert")
        return await self._call(m.ConvertedPlan, "POST", path, file, query=options, timeout=PLAN_TIMEOUT)

    async def preview_seating_plan(self, plan: m.SeatingPlanPlan | m.SeatingPlan, /, *seats: int) -> m.PlanPreview:
        """Returns what is wrong with a plan, or else the best available seats of its empty hall. It stores nothing."""
        body = {"plan": _without_id(plan), "seats": seats}
        path = _path("admin", "seating-plans", "preview")
        return await self._call(m.PlanPreview, "POST", path, body, timeout=PLAN_TIMEOUT)

    async def export_seating_plan(
        self, plan: m.SeatingPlanPlan | m.SeatingPlan, /, **options: Unpack[m.ExportSeatingPlanQuery]
    ) -> m.ExportedPlan:
        """Returns a plan as a file of another format, or as a picture. It stores nothing."""
        path = _path("admin", "seating-plans", "export")
        return await self._call(m.ExportedPlan, "POST", path, _without_id(plan), query=options, timeout=PLAN_TIMEOUT)

    # Users and holders

    async def create_user(self, **user: Unpack[m.NewUser]) -> m.User:
        return await self._call(m.User, "POST", _path("users"), _with_key(user))

    async def get_user(self, user_id: str, /) -> m.User:
        return await self._call(m.User, "GET", _path("users", user_id))

    async def find_user(self, email: str, /) -> m.User | None:
        """Returns the user with an address, in any case; None if there is none."""
        found = await self._call(m.UserList, "GET", _path("users"), query={"email": email})
        return found["items"][0] if found["items"] else None

    async def update_user(self, user_id: str, /, **change: Unpack[m.UserUpdate]) -> m.User:
        """Changes a user. After an error it is as with update_event."""
        return await self._call(m.User, "PATCH", _path("users", user_id), change, is_idempotent=False)

    async def erase_user(self, user_id: str, /) -> m.Erased:
        """Erases what is known about a user, for good. After an unknown outcome the same call continues."""
        return await self._call(m.Erased, "POST", _path("users", user_id, "erase"), timeout=LONG_TIMEOUT)

    async def erase_holder(self, holder: str, /) -> m.Erased:
        """Erases what is known about a holder, as erase_user does."""
        return await self._call(m.Erased, "POST", _path("holders", "erase"), {"holder": holder}, timeout=LONG_TIMEOUT)

    # Changes and webhooks

    async def list_changes(self, **filters: Unpack[m.ListChangesQuery]) -> m.ChangeList:
        """Returns the page of changes behind pageToken, the oldest without one.

        Keep its nextPageToken: the last page has one too, from which to continue later. A page may be empty although
        more follow: continue until the token stays the same.
        """
        query = {"pageSize": 500, **filters}
        return await self._call(m.ChangeList, "GET", _path("changes"), query=query)

    async def create_webhook(self, **webhook: Unpack[m.NewWebhook]) -> m.CreatedWebhook:
        """Creates an endpoint. Without a secret in the answer, that of an earlier attempt was lost: rotate it."""
        return await self._call(m.CreatedWebhook, "POST", _path("webhooks"), _with_key(webhook))

    async def get_webhook(self, webhook_id: str, /) -> m.Webhook:
        return await self._call(m.Webhook, "GET", _path("webhooks", webhook_id))

    def list_webhooks(self, **filters: Unpack[m.ListWebhooksQuery]) -> AsyncIterator[m.Webhook]:
        return self._list(m.Webhook, _path("webhooks"), filters)

    async def update_webhook(self, webhook_id: str, /, **change: Unpack[m.WebhookUpdate]) -> m.Webhook:
        """Changes an endpoint. After an error it is as with update_event."""
        return await self._call(m.Webhook, "PATCH", _path("webhooks", webhook_id), change, is_idempotent=False)

    async def delete_webhook(self, webhook_id: str, /) -> None:
        """Removes an endpoint. WEBHOOK_NOT_FOUND may mean that an earlier attempt has removed it."""
        await self._send(Request("DELETE", _path("webhooks", webhook_id)))

    async def rotate_webhook_secret(self, webhook_id: str, /, **overlap: Unpack[m.SecretRotation]) -> m.Secret:
        """Makes a new secret; the previous ones stay valid until the overlap ends. After a lost answer call it again."""
        path = _path("webhooks", webhook_id, "rotate-secret")
        return await self._call(m.Secret, "POST", path, overlap, is_idempotent=False)

    async def test_webhook(self, webhook_id: str, /) -> m.WebhookTest:
        """Sends an endpoint one event of the type holdfast.webhook.test."""
        path = _path("webhooks", webhook_id, "test")
        return await self._call(m.WebhookTest, "POST", path, is_idempotent=False, timeout=LONG_TIMEOUT)

    def list_deliveries(self, webhook_id: str, /, **filters: Unpack[m.ListDeliveriesQuery]) -> AsyncIterator[m.Delivery]:
        return self._list(m.Delivery, _path("webhooks", webhook_id, "deliveries"), filters)

    async def replay_webhook(self, webhook_id: str, /, **changes: Unpack[m.WebhookReplay]) -> m.Replay:
        """Plans deliveries of past changes. If there are 5000, continue with a later since."""
        return await self._call(m.Replay, "POST", _path("webhooks", webhook_id, "replay"), changes, timeout=LONG_TIMEOUT)

    # Jobs

    async def list_jobs(self) -> m.JobList:
        return await self._call(m.JobList, "GET", _path("admin", "jobs"))

    async def run_job(self, job: str, /) -> m.Run:
        """Runs a job now. The run may last longer than the call: its outcome is running then."""
        path = _path("admin", "jobs", job, "run")
        return await self._call(m.Run, "POST", path, is_idempotent=False, timeout=LONG_TIMEOUT)

    def list_runs(self, job: str, /, **filters: Unpack[m.ListRunsQuery]) -> AsyncIterator[m.Run]:
        return self._list(m.Run, _path("admin", "jobs", job, "runs"), filters)

    async def free_lease(self, job: str, /) -> m.FreedLease:
        """Frees the lease of a job whose process hangs. A repeat could free that of the next process."""
        return await self._call(m.FreedLease, "DELETE", _path("admin", "jobs", job, "lease"), is_idempotent=False)

    # Operators

    def list_audit(self, **filters: Unpack[m.ListAuditQuery]) -> AsyncIterator[m.Audit]:
        return self._list(m.Audit, _path("admin", "audit"), filters)

    async def get_overview(self, **filters: Unpack[m.GetOverviewQuery]) -> m.Overview:
        return await self._call(m.Overview, "GET", _path("admin", "overview"), query=filters)

    async def get_event_summary(self, event_id: str, /) -> m.EventSummary:
        return await self._call(m.EventSummary, "GET", _path("admin", "events", event_id))

    async def get_event_sales(self, event_id: str, /, **options: Unpack[m.GetEventSalesQuery]) -> m.Sales:
        return await self._call(m.Sales, "GET", _path("admin", "events", event_id, "sales"), query=options, timeout=LONG_TIMEOUT)

    async def get_seat_states(self, event_id: str, /) -> m.VenueMap:
        return await self._call(m.VenueMap, "GET", _path("admin", "events", event_id, "seats"), timeout=PLAN_TIMEOUT)

    async def get_health(self) -> m.Health:
        return await self._call(m.Health, "GET", _path("admin", "health"))

    async def get_survey(self) -> m.Survey:
        return await self._call(m.Survey, "GET", _path("admin", "survey"), timeout=LONG_TIMEOUT)

    async def refunds_due(self) -> m.RefundsDue:
        return await self._call(m.RefundsDue, "GET", _path("admin", "refunds-due"), timeout=LONG_TIMEOUT)

    async def search(self, **query: Unpack[m.SearchQuery]) -> m.Search:
        return await self._call(m.Search, "GET", _path("admin", "search"), query=query, timeout=LONG_TIMEOUT)

    # Any route

    async def request(
        self,
        method: Method,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """Sends a request to any route, such as /api/locks, and returns the body of the answer.

        POST and PATCH without the header Idempotency-Key are retried only if they were certainly not executed.
        """
        _check_path(path)
        is_idempotent = method not in ("POST", "PATCH") or any(name.lower() == "idempotency-key" for name in headers or {})
        request = Request(method, path, query or {}, body, headers or {}, PLAN_TIMEOUT, is_raw=True, is_idempotent=is_idempotent)
        return (await self._send(request)).content

    def list_items(self, path: str, **filters: object) -> AsyncIterator[Any]:
        """Iterates over a list of the API by its path, such as /api/locks. The items are JSON as it was sent."""
        _check_path(path)
        return self._list(dict, path, filters)

    def _lock(self, *parts: str) -> str:
        return self._in_event("locks", *parts)

    def _booking(self, *parts: str) -> str:
        return self._in_event("bookings", *parts)

    def _in_event(self, *parts: str) -> str:
        return _path(*parts) if self._event is None else _path("events", self._event, *parts)

    async def _send(self, request: Request) -> Answer:
        return await self._transport.send(request)

    async def _call(
        self,
        kind: type[T],
        method: Method,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, object] | None = None,
        timeout: float = 0,
        is_idempotent: bool = True,
    ) -> T:
        answer = await self._send(Request(method, path, query or {}, body, timeout=timeout, is_idempotent=is_idempotent))
        return cast(T, answer.value)

    async def _replayable(self, request: Request) -> dict[str, Any]:
        """Adds to the answer whether an earlier request with the same idempotency key was carried out."""
        answer = await self._send(request)
        return {**answer.value, "replayed": answer.headers.get("Idempotent-Replayed") == "true"}

    def _list(self, kind: type[T], path: str, filters: Mapping[str, object]) -> AsyncIterator[T]:
        return cast(AsyncIterator[T], self._transport.pages(Request("GET", path, filters)))

    async def _get_seats(self, event_id: str, sections: tuple[str, ...], headers: Mapping[str, str] | None = None) -> Answer:
        return await self._send(Request("GET", _path("events", event_id, "seats"), {"section": sections}, headers=headers or {}))


def _check_url(base_url: str) -> None:
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL:
        url = httpx.URL()
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError("the base URL must be http:// or https:// with a host, such as http://127.0.0.1:8080")


def _check_path(path: str) -> None:
    if not path.startswith("/") or path.startswith("//"):  # it could name another host
        raise ValueError("the path of a request must begin with one slash, such as /api/locks")
