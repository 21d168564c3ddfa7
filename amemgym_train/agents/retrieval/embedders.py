"""What turns texts into vectors of length 1, so that their dot product is their cosine."""

import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from amemgym_train.agents.retrieval.words import words
from amemgym_train.errors import UserError

if TYPE_CHECKING:
    import numpy as np

REMEMBERED = 50_000  # vectors by text: the episodes of a group hear the same user, and a loaded agent knows its texts already


class Embedder(Protocol):
    size: int

    def embed(self, texts: Sequence[str]) -> "np.ndarray":
        """[texts, size], float32."""
        ...


class HashedWords:
    """Each word counts at one of ``size`` places, by its checksum: an embedder without a model (Weinberger et al. 2009)."""

    size = 512

    def embed(self, texts: Sequence[str]) -> "np.ndarray":
        import numpy as np

        vectors = np.zeros((len(texts), self.size), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for word in words(text):
                place = zlib.crc32(word.encode())
                vector[place % self.size] += 1 if place >> 31 else -1
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


class SentenceModel:
    """A model of the sentence-transformers kind, by folder or hub id, on the CPU. Texts that were embedded lately are not again.

    UserError: the extra is not installed, or there is no such model.
    """

    def __init__(self, name: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            needs = "needs sentence-transformers; install it with: pip install 'amemgym-train[dense]'"
            raise UserError(f"agent.embedder: {name} {needs} ({error})") from error
        try:
            self.model = SentenceTransformer(name, device="cpu")
        except (OSError, ValueError) as error:
            raise UserError(
                f"agent.embedder: {name} is no sentence-embedding model that can be loaded ({error}); name a folder or a hub id"
            ) from error
        self.known: dict[str, np.ndarray] = {}
        self.size = len(self.embed([""])[0])

    def embed(self, texts: Sequence[str]) -> "np.ndarray":
        import numpy as np

        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        found = dict(zip(new, self._encode(new), strict=True)) if new else {}
        vectors = np.stack([found[text] if text in found else self.known[text] for text in texts])
        self.known |= found
        for text in list(self.known)[: max(len(self.known) - REMEMBERED, 0)]:
            del self.known[text]
        return vectors

    def _encode(self, texts: Sequence[str]) -> "np.ndarray":
        return self.model.encode(list(texts), normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False)


@lru_cache(4)  # agents share a model
def embedder(name: str | None) -> Embedder:
    """The model ``name``; None: hashed words."""
    return HashedWords() if name is None else SentenceModel(name)
