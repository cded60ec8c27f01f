"""An asyncio event loop on a thread of its own.

Whoever owns it stays on its own thread: it hands over callbacks, and waits for coroutines where it has to.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, TypeVar

T = TypeVar("T")

_GRACE_S: Final = 1.0  # for what was cancelled; what takes longer blocks or does not want to end


class EventLoop:
    """Starts with the first thing that is handed to it and runs until ``close()``, after which it may start
    again. One that is dropped ends too.

    What the user's code starts on the loop (connections, their heartbeats) lives on between epochs, and is
    cancelled when the loop ends.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread
        self._stop: Callable[[], object]

    def post(self, callback: Callable[..., object], *arguments: Any) -> None:
        """Have the loop call ``callback`` soon; it must not raise."""
        self._running().call_soon_threadsafe(callback, *arguments)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of ``coroutine``, which runs on the loop while the caller waits."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._running()).result()

    def run_briefly(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Like ``run()``, but give up waiting after a short grace period."""
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(coroutine, self._running()).result(_GRACE_S)

    def close(self) -> None:
        """Cancel what is left and end the thread; one whose loop is blocked ends later on its own."""
        if self._loop is not None:
            self._loop = None
            self._stop()
            self._thread.join(2 * _GRACE_S)

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._stop = weakref.finalize(self, self._loop.call_soon_threadsafe, self._loop.stop)
            self._thread = threading.Thread(target=_serve, args=(self._loop,), name=self._name, daemon=True)
            self._thread.start()
        return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    while True:
        try:
            loop.run_forever()
            break
        except (SystemExit, KeyboardInterrupt):
            continue  # raised by one task and kept as its result; those of the others are still owed
    try:
        loop.run_until_complete(_cancel_everything())
    finally:
        loop.close()


async def _cancel_everything() -> None:
    await cancel(asyncio.all_tasks() - {asyncio.current_task()})
    await asyncio.get_running_loop().shutdown_asyncgens()


async def cancel(tasks: set[Any]) -> None:
    """Cancel ``tasks`` of the running loop, and wait a moment for them to end."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_GRACE_S)
