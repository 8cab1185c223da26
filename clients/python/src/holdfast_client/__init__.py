"""Calls a Holdfast API: Client, and AsyncClient for asyncio. The types of requests and answers are in models."""

from . import models
from ._async.client import AsyncClient
from ._sync.client import Client
from .errors import (
    CapacityBelowTaken,
    HoldfastError,
    JobRunning,
    NoAnswer,
    OutcomeUnknown,
    SaleNotOpen,
    SeatLimitReached,
    SeatOrphaned,
    SeatsNotAdjacent,
    SeatsUnavailable,
    ValidationFailed,
)
from .seats import EventSeats, all_seats
from .webhooks import WebhookVerificationError, verify_webhook

__all__ = [
    "AsyncClient",
    "CapacityBelowTaken",
    "Client",
    "EventSeats",
    "HoldfastError",
    "JobRunning",
    "NoAnswer",
    "OutcomeUnknown",
    "SaleNotOpen",
    "SeatLimitReached",
    "SeatOrphaned",
    "SeatsNotAdjacent",
    "SeatsUnavailable",
    "ValidationFailed",
    "WebhookVerificationError",
    "all_seats",
    "models",
    "verify_webhook",
]
