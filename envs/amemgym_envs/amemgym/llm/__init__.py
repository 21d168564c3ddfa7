"""Language models behind OpenAI-compatible endpoints: scenarios that one writes, and users whom one plays.

The lives in written scenarios are drawn from the seed.
"""

from amemgym_envs.amemgym.llm.endpoint import Endpoint, EndpointError, Exhausted, Refused, Reply
from amemgym_envs.amemgym.llm.journal import Journal, request_key
from amemgym_envs.amemgym.llm.reading import read_openings
from amemgym_envs.amemgym.llm.report import Report, WriterFailure
from amemgym_envs.amemgym.llm.usage import Usage
from amemgym_envs.amemgym.llm.writer import LLMWriter

__all__ = [
    "Endpoint",
    "EndpointError",
    "Exhausted",
    "Journal",
    "LLMWriter",
    "Refused",
    "Reply",
    "Report",
    "Usage",
    "WriterFailure",
    "read_openings",
    "request_key",
]
