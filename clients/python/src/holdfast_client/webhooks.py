"""Verifies what Holdfast sends to an endpoint, with the library of Standard Webhooks."""

from collections.abc import Iterable
from typing import Protocol, cast

from standardwebhooks import Webhook, WebhookVerificationError

from .models import Change

__all__ = ["WebhookVerificationError", "verify_webhook"]


class Headers(Protocol):
    """Headers of a request: a mapping, or a class that has these methods, such as that of http.server."""

    def keys(self) -> Iterable[str]: ...

    def __getitem__(self, name: str, /) -> str: ...


def verify_webhook(secret: str, body: bytes | str, headers: Headers) -> Change:
    """Returns the change of a delivery that was signed with the endpoint's secret in the last five minutes.

    The body must be as it was received; JSON that was parsed raises TypeError. Anything else raises WebhookVerificationError.
    While a secret is rotated, deliveries are signed with both, so the receiver needs one of them.
    """
    if not isinstance(secret, str) or not isinstance(body, bytes | bytearray | str):
        raise TypeError("the secret must be a str, and the body bytes or a str, as it was received")
    if not secret.removeprefix("whsec_"):  # anyone could sign with it
        raise WebhookVerificationError("The secret is empty.")
    try:
        return cast(Change, Webhook(secret).verify(body, dict(headers)))
    except ValueError as error:  # a signature that is not base64, or a body that is not text
        raise WebhookVerificationError("The delivery is malformed.") from error
