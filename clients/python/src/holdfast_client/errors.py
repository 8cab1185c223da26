"""What a call raises.

Decide by the class or by the code. A call without an answer raises NoAnswer. After it, after OutcomeUnknown, and
after a HoldfastError without a code (a proxy answered), the request may have been executed: repeat it with the
error's idempotency_key to find out.
"""

from email.utils import parsedate_to_datetime
from typing import Literal, TypeAlias, cast, get_args

import httpx

from .models import Code, FieldError, Problem, RefusedPayment

# A problem of the API has its code. Nothing else is sure to be there.
_Details: TypeAlias = dict[str, object]


class HoldfastError(Exception):
    """A call that was refused, or that had no answer."""

    def __init__(self, status: int, details: _Details, request_id: str = "", retry_after: int = 0) -> None:
        super().__init__(status, details, request_id, retry_after)
        self.status = status  # 0 without an answer
        self.problem = cast(Problem, details)  # the whole answer; empty if a proxy answered
        self.code = cast(Code | Literal[""], details.get("code", ""))
        self.detail = str(details.get("detail", ""))  # an English sentence
        self.request_id = request_id  # in the server's log
        self.retry_after = retry_after  # seconds; 0 if the answer gives none
        self.idempotency_key = ""  # that of the request, also if the client made it; "" if the call has none

    def __str__(self) -> str:
        text = f"{self.code or type(self).__name__}: {self.detail} (status {self.status}, request {self.request_id})"
        return "; ".join([text, *(f"{e.get('location')}: {e.get('message')}" for e in self.problem.get("errors") or [])])

    @property
    def payment(self) -> RefusedPayment | None:
        """The payment of a refused confirmation, which must be refunded; None if there is none."""
        return self.problem.get("payment")


class NoAnswer(HoldfastError):
    """The API can't be reached, or its answer was lost. The cause is the error of httpx."""


class OutcomeUnknown(HoldfastError):
    """The request may have been executed."""


class SeatsUnavailable(HoldfastError):
    @property
    def requested(self) -> int:
        """The number of seats that were asked for."""
        return self.problem.get("requested", 0)

    @property
    def available(self) -> int:
        """The number of seats that the wish could have."""
        return self.problem.get("available", 0)

    @property
    def unavailable(self) -> list[str]:
        """The named seats that are not available."""
        return self.problem.get("unavailable") or []


class SeatOrphaned(HoldfastError):
    @property
    def orphans(self) -> list[str]:
        """The seats that would be left without a free neighbour."""
        return self.problem.get("orphans") or []


class SeatsNotAdjacent(HoldfastError):
    @property
    def longest(self) -> int:
        """How many of the seats are together."""
        return self.problem.get("longest", 0)


class SeatLimitReached(HoldfastError):
    @property
    def limit(self) -> int:
        return self.problem.get("limit", 0)

    @property
    def held(self) -> int:
        """How much of the limit the customer uses."""
        return self.problem.get("held", 0)


class SaleNotOpen(HoldfastError):
    @property
    def opens_at(self) -> str:
        """When the sale begins."""
        return self.problem.get("opensAt", "")


class CapacityBelowTaken(HoldfastError):
    @property
    def taken(self) -> int:
        """How many seats are taken: the capacity can't be lower."""
        return self.problem.get("taken", 0)

    @property
    def missing(self) -> list[str]:
        """The first 100 of the taken seats that a new plan lacks."""
        return self.problem.get("missing", [])

    @property
    def missing_seats(self) -> int:
        """How many taken seats a new plan lacks."""
        return self.problem.get("missingSeats", 0)


class JobRunning(HoldfastError):
    @property
    def holder(self) -> str:
        """The process that runs the job."""
        return self.problem.get("holder", "")


class ValidationFailed(HoldfastError):
    @property
    def errors(self) -> list[FieldError]:
        """Where the request is wrong, and how."""
        return self.problem.get("errors") or []


classes: dict[str, type[HoldfastError]] = {
    "OUTCOME_UNKNOWN": OutcomeUnknown,
    "SEATS_UNAVAILABLE": SeatsUnavailable,
    "SEAT_ORPHANED": SeatOrphaned,
    "SEATS_NOT_ADJACENT": SeatsNotAdjacent,
    "SEAT_LIMIT_REACHED": SeatLimitReached,
    "SALE_NOT_OPEN": SaleNotOpen,
    "CAPACITY_BELOW_TAKEN": CapacityBelowTaken,
    "JOB_RUNNING": JobRunning,
    "VALIDATION_FAILED": ValidationFailed,
}


def new_error(status: int, details: _Details, request_id: str = "", retry_after: int = 0) -> HoldfastError:
    return classes.get(str(details.get("code")), HoldfastError)(status, details, request_id, retry_after)


def error_of(response: httpx.Response) -> HoldfastError:
    """The error of a response that was read. Without a problem of the API in it, the detail is the status line."""
    details = _problem_of(response) or {"detail": f"{response.status_code} {response.reason_phrase}"}
    return new_error(response.status_code, details, response.headers.get("X-Request-Id", ""), _retry_after(response.headers))


def _retry_after(headers: httpx.Headers) -> int:
    """A delay, or a time, which is compared with the response's own Date: the clock of this machine may be wrong."""
    value = headers.get("Retry-After", "")
    if value.isascii() and value.isdigit():
        return int(value)
    try:
        return max(0, int((parsedate_to_datetime(value) - parsedate_to_datetime(headers.get("Date", ""))).total_seconds()))
    except (TypeError, ValueError, OverflowError):  # not a time; or one has a zone, and the other has none
        return 0


def _problem_of(response: httpx.Response) -> _Details | None:
    """The problem in a response of the API; None if a proxy answered, which may send anything, also a code of its own."""
    try:
        details = response.json() if media_type_of(response) == "application/problem+json" else None
    except ValueError:
        return None
    if not isinstance(details, dict) or details.get("code") not in get_args(Code):
        return None
    errors = details.get("errors") or []
    return details if isinstance(errors, list) and all(isinstance(e, dict) for e in errors) else None


def media_type_of(response: httpx.Response) -> str:
    return str(response.headers.get("Content-Type", "")).partition(";")[0].strip().lower()


def unexpected(response: httpx.Response, expected: str) -> HoldfastError:
    """The error of a successful response that the API would not send, such as the page of a web site."""
    found = f"{response.status_code}, {media_type_of(response) or 'no content type'}"
    return HoldfastError(response.status_code, {"detail": f"The answer is not {expected} ({found}): the base URL may be wrong."})


def no_answer(cause: Exception) -> NoAnswer:
    return NoAnswer(0, {"detail": str(cause) or type(cause).__name__})
