"""Which model plays and learns, and the adapter that is trained on it."""

from typing import Annotated, Literal

from pydantic import Field

from amemgym_train.config.base import Section
from amemgym_train.config.chat import ChatConfig
from amemgym_train.config.server import ServerConfig


class LoraConfig(Section):
    """The adapter: rank ``r``, scale ``alpha / r`` (LoRA, arXiv 2106.09685), on which linear layers."""

    r: int = Field(16, ge=1)
    alpha: int = Field(32, ge=1)
    dropout: float = Field(0.0, ge=0, lt=1)
    target_modules: Literal["all-linear"] | Annotated[list[str], Field(min_length=1)] = "all-linear"


class PolicyConfig(Section):
    """``model`` is "smollm2", "quickstart", a local folder or a hub id; only a hub id ever fetches anything.

    ``adapter``: folder of a saved LoRA adapter to start from, such as another run's best; it keeps its own rank and layers, and
    ``lora`` is for new ones. ``max_batch_size``: most prompts in one call of generate. ``server``: vLLM servers of ``model``
    answer; ``chat``: another model answers, which cannot be trained.
    """

    model: str = Field("smollm2", min_length=1)
    dtype: Literal["float32", "bfloat16"] = "float32"
    adapter: str | None = Field(None, min_length=1)
    max_batch_size: int = Field(32, ge=1)
    lora: LoraConfig = LoraConfig()
    server: ServerConfig | None = None
    chat: ChatConfig | None = None

    @property
    def remote(self) -> bool:
        """Whether servers answer, which wait for nobody: the more is asked of them at once, the better."""
        return self.server is not None or self.chat is not None
