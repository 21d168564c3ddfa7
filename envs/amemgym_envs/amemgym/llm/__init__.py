"""Scenarios written by a language model behind an OpenAI-compatible endpoint; the lives in them are drawn from the seed."""

from amemgym_envs.amemgym.llm.endpoint import Endpoint, EndpointError, Reply
from amemgym_envs.amemgym.llm.reading import read_openings
from amemgym_envs.amemgym.llm.report import Report, WriterFailure
from amemgym_envs.amemgym.llm.writer import LLMWriter

__all__ = ["Endpoint", "EndpointError", "LLMWriter", "Reply", "Report", "WriterFailure", "read_openings"]
