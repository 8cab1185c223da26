"""When a call is tried again.

A call is retried if it has no answer, or one that allows it (429, 502, 503, 504). The delays grow, or follow
Retry-After, until the retry timeout. A request that would have a second effect when it is repeated is retried only if
it was certainly not executed.
"""

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx

from .errors import HoldfastError, NoAnswer, new_error

DEFAULT_TIMEOUT = 15.0  # seconds in which an answer, or more of it, must arrive
DEFAULT_RETRY_TIMEOUT = 60.0  # seconds of a call with its retries
LONG_TIMEOUT = 45.0  # more than the server takes for a long call
PLAN_TIMEOUT = 300.0  # of the largest plan over a slow line

_FIRST_DELAY = 0.05
_MAX_DELAY = 2.0
_GROWTH = 1.5
_JITTER = 0.5


@dataclass(frozen=True)
class Request:
    """One call."""

    method: str
    path: str
    query: Mapping[str, object] = field(default_factory=dict)
    body: object = None  # bytes are sent as they are, other values as JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 0  # the least of this call
    is_raw: bool = False  # the answer may be anything, not JSON alone
    is_idempotent: bool = True  # others are retried only if they were certainly not executed

    @property
    def idempotency_key(self) -> str:
        """The key in the body or in the headers; "" without one."""
        body = self.body if isinstance(self.body, Mapping) else {}
        in_headers = (value for name, value in self.headers.items() if name.lower() == "idempotency-key")
        return str(body.get("idempotencyKey") or next(in_headers, ""))


def was_not_sent(error: HoldfastError) -> bool:
    """Whether there was no connection for the request."""
    return isinstance(error.__cause__, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)


class Attempts:
    """The attempts of one call."""

    def __init__(self, request: Request, retry_timeout: float) -> None:
        self._request = request
        self._timeout = retry_timeout
        self._begin = time.monotonic()
        self._interval = _FIRST_DELAY
        self._is_unknown = False  # whether an attempt may have been executed

    def delay_after(self, error: HoldfastError) -> float:
        """Returns the seconds before the next attempt, or raises the error of the call if there is none."""
        may_retry = self._may_retry(error)
        if self._is_unknown:
            error = _not_settled(error)
        error.idempotency_key = self._request.idempotency_key
        self._is_unknown = self._is_unknown or self._may_have_written(error)
        if self._timeout == 0 or not may_retry:
            raise error
        delay = self._interval * random.uniform(1 - _JITTER, 1 + _JITTER)
        self._interval = min(self._interval * _GROWTH, _MAX_DELAY)
        if error.retry_after > 0:
            delay, self._interval = error.retry_after, _FIRST_DELAY
        if time.monotonic() - self._begin + delay > self._timeout:
            raise error
        return delay

    def _may_retry(self, error: HoldfastError) -> bool:
        is_idempotent = self._request.is_idempotent
        if isinstance(error, NoAnswer):
            return is_idempotent or was_not_sent(error)
        if error.status == 429:
            return True
        return error.status in (502, 503, 504) and (is_idempotent or error.code == "UNAVAILABLE")

    def _may_have_written(self, error: HoldfastError) -> bool:
        if self._request.method == "GET" or was_not_sent(error):
            return False
        return error.code in ("", "OUTCOME_UNKNOWN")


def _not_settled(error: HoldfastError) -> HoldfastError:
    """The error of an attempt that was not executed, after one that may have been: the outcome of the call is unknown."""
    if error.code not in ("UNAVAILABLE", "TOO_MANY_REQUESTS"):
        return error
    detail = f"An earlier attempt may have been executed, and this one was not: {error.detail}"
    details = {**error.problem, "code": "OUTCOME_UNKNOWN", "detail": detail}
    return new_error(error.status, details, error.request_id, error.retry_after)
