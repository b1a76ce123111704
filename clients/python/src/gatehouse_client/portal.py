"""The event loop of a synchronous gate: one thread, started on first use and ended by ``close``."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import Any, TypeVar

from .errors import closed_error

T = TypeVar("T")


class Portal:
    """Runs coroutines for threads that have no event loop, or must not block on the one that they have."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        #: For functions of the program, and for name resolution.
        self._workers = ThreadPoolExecutor(thread_name_prefix="gatehouse-worker")
        self.is_closed = False

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of the coroutine. Ctrl-C cancels it."""
        try:
            loop = self._started()
        except BaseException:
            coroutine.close()
            raise
        future = asyncio.run_coroutine_threadsafe(coroutine, loop)
        try:
            return future.result()
        except CancelledError:
            raise closed_error("gate") from None
        except BaseException:
            future.cancel()
            raise

    def call(self, function: Callable[..., T], *args: Any, **options: Any) -> T:
        """Calls a function in the thread of the loop."""

        async def called() -> T:
            return function(*args, **options)

        return self.run(called())

    def iterate(self, values: Callable[[], AsyncIterator[T]]) -> Generator[T, None, None]:
        """Loops over what is iterated there; leaving the loop closes it."""
        iterator = self.call(lambda: aiter(values()))
        try:
            while True:
                try:
                    yield self.run(_next(iterator))
                except StopAsyncIteration:
                    return
        finally:
            if (close := getattr(iterator, "aclose", None)) is not None:
                self.release(close())

    def release(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Runs what frees something, unless the end of the gate has freed it. It may be called in any thread."""
        if self.is_closed:
            coroutine.close()
        elif self._loop is not None and self._thread is threading.current_thread():
            asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        else:
            self.run(coroutine)

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Runs the last coroutine, ends what is still running, and ends the thread. Repeated, it does nothing."""
        with self._lock:
            if self.is_closed:
                return
            self.is_closed = True
            loop, thread = self._loop, self._thread
        if loop is None or thread is None or thread is threading.current_thread():
            return
        asyncio.run_coroutine_threadsafe(_end(last), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
        # Not by the loop: that would start a thread, which a program that is ending may not do.
        self._workers.shutdown(wait=False, cancel_futures=True)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self.is_closed:
                raise closed_error("gate")
            if self._thread is threading.current_thread():
                raise RuntimeError("A listener of the gate cannot call the gate: it would wait for itself")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._loop.set_default_executor(self._workers)
                self._thread = threading.Thread(target=self._loop.run_forever, name="gatehouse-client", daemon=True)
                self._thread.start()
            return self._loop


async def _next(iterator: AsyncIterator[T]) -> T:
    return await anext(iterator)


async def _end(last: Callable[[], Coroutine[Any, Any, None]]) -> None:
    await last()
    # Generators that were left are closed by tasks that the loop starts later, some of them one after the other.
    for _ in range(10):
        await asyncio.sleep(0)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


async def within(act: Callable[[], Coroutine[Any, Any, T]], timeout: float | None) -> T:
    try:
        return await asyncio.wait_for(act(), timeout)
    except asyncio.TimeoutError:
        raise TimeoutError(f"Nothing came within {timeout:g} seconds") from None
