"""What differs between the two clients: how they wait, and how they get a token.

A token is the secret of a key or a customer's token, or a function that returns a fresh one for each request.
"""

import asyncio
import inspect
import re
import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias

Token: TypeAlias = str | Callable[[], str] | None
AsyncToken: TypeAlias = str | Callable[[], str | Awaitable[str]] | None


def fresh(token: Token) -> str:
    return valid_token(token() if callable(token) else token)


async def async_fresh(token: AsyncToken) -> str:
    now = token() if callable(token) else token
    return valid_token(await now if inspect.isawaitable(now) else now)


def valid_token(token: object) -> str:
    """The token without the white space around it. The errors don't contain it, because they are logged."""
    if not isinstance(token, str | None):
        raise TypeError("the key or token must be a str")
    text = (token or "").strip()
    if not re.fullmatch("[!-~]*", text):
        raise ValueError("the key or token has characters that none has: it may have visible ones of ASCII only")
    return text


sleep = time.sleep
async_sleep = asyncio.sleep
