"""One connection that is kept, and requests that are made again where that harms nothing. Only the standard library."""

import http.client
import json
import select
import time
from typing import Any
from urllib.parse import urlsplit

from amemgym_envs.client.errors import AGAIN, UNDONE, ServerError

LONGEST_PAUSE = 5.0  # seconds


def pause(first: float, attempt: int) -> float:
    """Seconds to wait after ``attempt`` (from 0) has failed: twice as long each time."""
    return min(first * 2**attempt, LONGEST_PAUSE)


class Connection:
    """To the server at ``url``, for one thread at a time. ``tries`` of a request, with pauses that begin at ``wait`` seconds.

    ValueError: no such address.
    """

    def __init__(self, url: str, token: str | None = None, timeout: float = 60.0, tries: int = 5, wait: float = 0.1) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"server url is {url!r}, expected one like http://127.0.0.1:8000")
        if tries < 1:
            raise ValueError(f"tries is {tries}, expected at least 1")
        self.url, self.tries, self.wait = url.rstrip("/"), tries, wait
        self._path = parts.path.rstrip("/")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._http = kind(parts.hostname, parts.port, timeout=timeout)
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"

    def ask(self, method: str, path: str, body: Any = None, repeat: bool = True) -> tuple[int, Any]:
        """Status and content (from JSON; else as text) of the reply. ``repeat``: to do it twice is the same as once.

        ConnectionError: the server is gone, or was too busy at every try.
        """
        content = None if body is None else json.dumps(body).encode()
        for attempt in range(self.tries):
            last = attempt + 1 == self.tries
            reached = False
            try:
                self._connect()
                reached = True
                status, told = self._once(method, path, content)
            except (OSError, http.client.HTTPException) as error:
                self._http.close()
                if last or (reached and not repeat):
                    raise ConnectionError(f"{self.url}{path}: {type(error).__name__} {error}, {self._tried(attempt)}") from error
            else:
                if last or status not in (AGAIN if repeat else UNDONE):
                    return status, told
            time.sleep(pause(self.wait, attempt))
        raise AssertionError("the last try returns or raises")

    def good(self, method: str, path: str, body: Any = None, repeat: bool = True) -> Any:
        """The content of a reply with status 200. ServerError: it has another."""
        status, told = self.ask(method, path, body, repeat)
        if status != 200:
            raise ServerError(f"{self.url}{path}: status {status}, {str(told)[:300]}")
        return told

    def close(self) -> None:
        self._http.close()

    def _connect(self) -> None:
        """A kept connection that the server has closed meanwhile is found out before a request is lost in it."""
        if self._http.sock is not None:
            poll = select.poll()
            poll.register(self._http.sock, select.POLLIN)
            if not poll.poll(0):
                return
            self._http.close()
        self._http.connect()

    def _once(self, method: str, path: str, content: bytes | None) -> tuple[int, Any]:
        self._http.request(method, self._path + path, content, self._headers)
        reply = self._http.getresponse()
        told = reply.read()
        try:
            return reply.status, json.loads(told)
        except ValueError:
            return reply.status, told.decode("utf-8", "replace")

    @staticmethod
    def _tried(attempt: int) -> str:
        return f"tried {attempt + 1} time{'s' * (attempt > 0)}"
