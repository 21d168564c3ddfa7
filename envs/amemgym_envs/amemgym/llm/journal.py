"""Every finished request, so that a run that was cut off asks for nothing twice."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import IO, Any

from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.llm.endpoint import Reply

BEGINNING = b'{"key": "'  # of every line


def request_key(*parts: Any) -> str:
    """The SHA-256 of a request's JSON ``parts``."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("ascii")).hexdigest()


class Journal:
    """An append-only file of lines {"key", "text", "tokens_in", "tokens_out", "finish_reason"}.

    A process that was killed may leave a torn last line: it is cut off when the file is opened. Lines are flushed one by one and
    not synced, so a power cut may cost the last of them. Two requests of the same key at one time are asked once. One event loop
    may use it after the other.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._replies = _load(path)
        self._asked: dict[str, asyncio.Future[None]] = {}  # those being asked, each done when it has a reply or has failed
        self._file: IO[str] | None = None

    def __len__(self) -> int:
        return len(self._replies)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    async def reply(self, key: str, ask: Callable[[], Awaitable[Reply]]) -> tuple[Reply, bool]:
        """The reply to the request ``key``, and whether it had to be asked for."""
        while key in self._asked and key not in self._replies:
            await asyncio.wait([self._asked[key]])  # unlike a bare await, does not cancel it for the others
        if key in self._replies:
            return self._replies[key], False
        asked = self._asked[key] = asyncio.get_running_loop().create_future()
        try:
            reply = await ask()
            self._append(key, reply)
            self._replies[key] = reply
            return reply, True
        finally:
            del self._asked[key]
            asked.set_result(None)

    def _append(self, key: str, reply: Reply) -> None:
        line = json.dumps({"key": key, **vars(reply)})
        try:
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self.path.open("a", encoding="ascii")
            self._file.write(line + "\n")
            self._file.flush()
        except OSError as error:
            raise ScenarioError(f"{self.path}: cannot be written ({error.strerror}); check free space and permissions") from error


def _load(path: Path) -> dict[str, Reply]:
    try:
        raw = path.read_bytes()
        whole = raw.rfind(b"\n") + 1
        torn = raw[whole:]
        if not (torn.startswith(BEGINNING) or BEGINNING.startswith(torn)):
            raise ScenarioError(f"{path} is no journal, it ends in {torn[-40:]!r}; name another file, this one is left as it is")
        if torn:
            with path.open("r+b") as file:
                file.truncate(whole)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    replies = {}
    for number, line in enumerate(raw[:whole].splitlines(), start=1):
        try:
            entry = json.loads(line)
            if not isinstance(entry["text"], str):
                raise TypeError("its text is no string")
            replies[entry["key"]] = Reply(entry["text"], entry["tokens_in"], entry["tokens_out"], entry.get("finish_reason"))
        except (ValueError, KeyError, TypeError) as error:
            raise ScenarioError(
                f"{path}, line {number}: no line of a journal ({error}); delete the line, its request will be made again"
            ) from error
    return replies
