"""mem0 (arXiv 2504.19413): the package of that name as an agent's memory, with a store in this process and no service.

mem0 1.x makes the two calls of AWE (``agents.awe``) with prompts of its own; mem0 2 never updates or deletes.
"""

import asyncio
import atexit
import functools
import hashlib
import logging
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from amemgym_train.agents.batches import BatchAgent, about
from amemgym_train.agents.parsing import parse_object
from amemgym_train.agents.past import Message, Past
from amemgym_train.agents.retrieval.embedders import Embedder, embedder
from amemgym_train.errors import UserError
from amemgym_train.rollout.records import Memory

if TYPE_CHECKING:
    import mem0

Result = TypeVar("Result")
USER = {"user_id": "user"}  # a store belongs to one episode, so all its users have one name
EVERYTHING = 1_000_000  # more memories than an episode makes


class Mem0Agent(BatchAgent):
    """mem0 is synchronous: it works in a thread of the agent's own, and its LLM calls come back to the event loop, to the policy.

    A thread for each agent, for a policy that waits until every episode has asked would wait for ever for one without a thread.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.embedder = embedder(self.config.embedder)
        self.thread = ThreadPoolExecutor(1, "mem0")
        self.store = open_store(self.embedder)

    async def recall(self, query: str) -> Sequence[str]:
        search = functools.partial(self.store.search, query, **USER, limit=self.config.top_k)
        found = [one["id"] for one in (await self._in_thread(search))["results"]] if query.strip() else []
        return [f"[{one['timestamp']}] {one['data']}" for one in self._memories() if one["id"] in found]

    async def write(self, batch: list[Message], period: int, number: int) -> None:
        """mem0's ``add``, which makes one LLM call or two."""
        calls = _Calls(self, asyncio.get_running_loop(), f"write/p{period}/{number}", about(batch, period))
        self.store.llm = calls
        messages = [{"role": message["role"], "content": message["content"]} for message in batch]
        await self._in_thread(functools.partial(self.store.add, messages, **USER, metadata={"timestamp": batch[-1]["time"]}))
        self.store.llm = None  # else store and agent would hold each other, and the thread would outlast the episode
        if calls.failed is not None:  # mem0 goes on after an error; the episode must not
            raise calls.failed
        entries = [{"label": "memory", "value": one["data"], "timestamp": one["timestamp"]} for one in self._memories()]
        self.memories.append(Memory(len(self.turns) - 1, period, entries))

    def save(self) -> dict[str, Any]:
        """The entries in the order in which they were made, which decides among those of one time."""
        made = sorted(self._memories(), key=lambda one: one["created_at"])
        kept = [{"value": one["data"], "timestamp": one["timestamp"]} for one in made]
        return {**super().save(), "entries": kept}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        self.store = open_store(self.embedder)
        entries = state.get("entries", [])
        if entries:
            self.store.vector_store.insert(
                [vector.tolist() for vector in self.embedder.embed([entry["value"] for entry in entries])],
                [_payload(entry, i) for i, entry in enumerate(entries)],
                [str(uuid4()) for _ in entries],
            )

    def _memories(self) -> list[dict[str, Any]]:
        """The payloads, oldest first."""
        points, _ = self.store.vector_store.list(filters=USER, limit=EVERYTHING)
        found = [{"id": point.id, **point.payload} for point in points]
        return sorted(found, key=lambda one: (one["timestamp"], one["created_at"]))

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self.thread, work)


@dataclass
class _Calls:
    """What mem0 takes for its LLM during one ``add``: the first call asks for facts, the second for decisions."""

    agent: Mem0Agent
    loop: asyncio.AbstractEventLoop
    slot: str
    meta: dict[str, Any]
    made: int = 0
    failed: BaseException | None = None

    def generate_response(self, messages: list[dict[str, str]], **_: Any) -> str:
        """Called in mem0's thread."""
        try:
            return asyncio.run_coroutine_threadsafe(self._ask(messages), self.loop).result()
        except BaseException as error:
            self.failed = error
            raise

    async def _ask(self, messages: list[dict[str, str]]) -> str:
        step = ("facts", "decide")[self.made]
        self.made += 1
        agent, prompt = self.agent, _Given(messages)
        turn = await agent.call("write", f"{self.slot}/{step}", prompt, Past(()), {}, self.meta, step=step, found=())
        turn.meta["parsed"] = parse_object(turn.text)[1]
        agent.record(turn)
        return turn.text


@dataclass(frozen=True)
class _Given:
    """A prompt that mem0 has filled in already."""

    given: list[dict[str, str]]

    def messages(self, **_: str) -> list[dict[str, str]]:
        return self.given


def open_store(embedder: Embedder) -> "mem0.Memory":
    """An empty store in memory: qdrant's local mode. UserError: mem0 is not installed."""
    os.environ["MEM0_TELEMETRY"] = "False"  # read when mem0 is imported, which somebody may have done before
    if "MEM0_DIR" not in os.environ:  # mem0 would make a folder at home
        os.environ["MEM0_DIR"] = tempfile.mkdtemp(prefix="mem0-")
        atexit.register(shutil.rmtree, os.environ["MEM0_DIR"], ignore_errors=True)
    logging.getLogger("mem0").setLevel(logging.CRITICAL)  # of replies that it cannot read: our turns say so themselves
    warnings.filterwarnings("ignore", "Payload indexes have no effect in the local Qdrant")
    try:
        import mem0.memory.main
        import mem0.memory.telemetry
        from qdrant_client import QdrantClient
    except ImportError as error:
        told = f"mem0 is not installed ({error}); install it with: pip install 'amemgym-train[mem0]'"
        raise UserError(f"agent.name: {told}") from error
    mem0.memory.main.MEM0_TELEMETRY = mem0.memory.telemetry.MEM0_TELEMETRY = False
    unused = {"provider": "openai", "config": {"api_key": "unused"}}
    vectors = {"client": QdrantClient(":memory:"), "embedding_model_dims": embedder.size, "path": "unused"}
    store = mem0.Memory.from_config(
        {
            "llm": unused,
            "embedder": unused,
            "vector_store": {"provider": "qdrant", "config": vectors},
            "history_db_path": ":memory:",
        }
    )
    store.embedding_model = _Embeddings(embedder)
    return store


@dataclass(frozen=True)
class _Embeddings:
    embedder: Embedder

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self.embedder.embed([text])[0].tolist()


def _payload(entry: dict[str, str], place: int) -> dict[str, str]:
    """What mem0 keeps beside a vector. The time of creation, long past, puts the entries of a loaded state in their order."""
    created = datetime.fromtimestamp(0, UTC) + timedelta(seconds=place)
    digest = hashlib.md5(entry["value"].encode(), usedforsecurity=False).hexdigest()
    return {"data": entry["value"], "hash": digest, "timestamp": entry["timestamp"], "created_at": created.isoformat(), **USER}
