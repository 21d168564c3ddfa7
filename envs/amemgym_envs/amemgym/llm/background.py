"""An event loop in a thread of its own, for callers that are no coroutines."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """Runs the coroutines of many threads in one loop, which starts with the first of them and ends at ``close``."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._guard = threading.Lock()
        self._held: tuple[threading.Thread, asyncio.AbstractEventLoop] | None = None

    def begin(self, job: Coroutine[Any, Any, T]) -> Future[T]:
        """The result of ``job`` to come, or its error: CancelledError when ``close`` comes first."""
        return asyncio.run_coroutine_threadsafe(job, self._loop())

    def run(self, job: Coroutine[Any, Any, T]) -> T:
        """As ``begin``, but blocks the calling thread, and it alone, until the result is there."""
        return self.begin(job).result()

    def close(self) -> None:
        """Cancel what still runs, tidy up and wait for the thread's end; a later ``run`` begins anew."""
        with self._guard:
            if self._held is None:
                return
            thread, loop = self._held
            self._held = None
        loop.call_soon_threadsafe(loop.stop)
        thread.join()

    def _loop(self) -> asyncio.AbstractEventLoop:
        with self._guard:
            if self._held is None:
                begun: Future[asyncio.AbstractEventLoop] = Future()
                thread = threading.Thread(target=_serve, args=(begun,), name=self.name, daemon=True)
                thread.start()
                self._held = thread, begun.result()
            return self._held[1]


def _serve(begun: "Future[asyncio.AbstractEventLoop]") -> None:
    with asyncio.Runner() as runner:  # at its end it cancels tasks and finishes generators
        loop = runner.get_loop()
        begun.set_result(loop)
        loop.run_forever()
