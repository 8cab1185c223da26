"""Server-sent events: how messages are read, and when a connection that has ended is made again."""

import json
import random
import time
from collections.abc import Iterator
from typing import Any

from .errors import HoldfastError, NoAnswer

# More than two heartbeats of the server (15 s): a connection that is silent for longer is dead.
SILENCE_TIMEOUT = 45.0

_FIRST_DELAY = 0.5  # seconds, after a failed attempt to connect
_MAX_DELAY = 15.0
_MAX_RETRY_AFTER = 120.0  # seconds, whatever the answer says
_STEADY_TIME = 5.0  # a proxy may end each stream sooner: then it is not asked for again and again
_MAX_REFUSALS = 5  # one after the other, of a token that may be renewed


class Messages:
    """The messages of one connection."""

    def __init__(self) -> None:
        self.retry = 2.0  # seconds, as the server has said
        self._rest = b""
        self._fields: dict[str, str] = {}

    def feed(self, chunk: bytes) -> Iterator[dict[str, Any]]:
        """Yields the messages that the chunk completes. One whose end is missing never comes."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            name, _, value = line.decode().rstrip("\r").partition(":")
            if name == "retry" and value.strip().isdigit():
                self.retry = min(int(value) / 1000, _MAX_DELAY)
            elif name == "data" and "data" in self._fields:
                self._fields["data"] += "\n" + value.removeprefix(" ")
            elif name:
                self._fields[name] = value.removeprefix(" ")
            elif not line.strip():
                message: dict[str, Any] = {key: self._fields[key] for key in ("event", "id") if key in self._fields}
                if "data" in self._fields:
                    yield {**message, "data": json.loads(self._fields["data"])}
                self._fields = {}


class Reconnection:
    """Decides when a stream connects again.

    It does so for as long as the caller reads: after a lost connection, a status of 500 or above, or 429. Another refusal
    ends the stream, because the next attempt would get it too.
    """

    def __init__(self, has_fresh_tokens: bool) -> None:
        self._max_refusals = _MAX_REFUSALS if has_fresh_tokens else 1
        self._connected_at: float | None = None
        self._delay, self._refusals = _FIRST_DELAY, 0

    def connected(self) -> None:
        """Notes that something has arrived."""
        if self._connected_at is None:
            self._connected_at = time.monotonic()
            self._delay, self._refusals = _FIRST_DELAY, 0

    def delay_after(self, error: HoldfastError, retry: float) -> float:
        """Returns the seconds before the next attempt, or raises the error if there is none."""
        if self._connected_at is not None:  # it has worked, and was cut
            is_steady = time.monotonic() - self._connected_at >= _STEADY_TIME
            self._connected_at = None
            # Not at once: a server that restarts has ended the streams of all its listeners.
            return retry * (random.random() if is_steady else 1 + random.random() / 2)
        if error.status == 401:
            self._refusals += 1
        is_temporary = isinstance(error, NoAnswer) or error.status == 429 or error.status >= 500
        if not is_temporary and not 0 < self._refusals < self._max_refusals:
            raise error
        delay = max(self._delay, min(error.retry_after, _MAX_RETRY_AFTER)) * (1 + random.random() / 2)
        self._delay = min(self._delay * 2, _MAX_DELAY)
        return delay
