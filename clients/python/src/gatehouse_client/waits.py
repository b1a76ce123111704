"""Waiting: the full-jitter backoff of every retry, and functions of the program that must not block the event loop."""

from __future__ import annotations

import asyncio
import inspect
import random
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

T = TypeVar("T")


def backoff(count: int, base: float = 0.5, most: float = 30.0) -> float:
    """Seconds before attempt ``count`` (from 0): anything up to a bound that doubles, so that clients spread out."""
    return random.uniform(0, min(most, base * 2 ** min(count, 16)))  # noqa: S311 - not a secret


async def call(function: Callable[..., T | Awaitable[T]], *args: Any) -> T:
    """Calls a function of the program: a coroutine function here, another in a thread, because it may block."""
    if inspect.iscoroutinefunction(function):
        return cast(T, await function(*args))
    value = await asyncio.to_thread(function, *args)
    return cast(T, await value if inspect.isawaitable(value) else value)
