"""What differs between the two clients: how they wait, and how they get a token.

A token is the secret of a key or a customer's token, or a function that returns a fresh one for each request.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias

Token: TypeAlias = str | Callable[[], str] | None
AsyncToken: TypeAlias = str | Callable[[], str | Awaitable[str]] | None


def fresh(token: Token) -> str:
    return token() if callable(token) else token or ""


async def async_fresh(token: AsyncToken) -> str:
    now = token() if callable(token) else token or ""
    return await now if inspect.isawaitable(now) else now


sleep = time.sleep
async_sleep = asyncio.sleep
