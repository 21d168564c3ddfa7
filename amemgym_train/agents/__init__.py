"""Agents: an LLM plus a memory system, playing one episode."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amemgym_train.agents.base import Agent
    from amemgym_train.config.agent import AgentConfig
    from amemgym_train.policy.base import Policy, Sampling


def build_agent(
    config: "AgentConfig", policy: "Policy", episode: str, seed: int = 0, sampling: "Sampling | None" = None
) -> "Agent":
    """The agent that ``config`` names; ``episode`` and ``seed`` fix its random draws, ``sampling`` how tokens are drawn."""
    from amemgym_train.agents.awe import AweAgent
    from amemgym_train.agents.awi import AwiAgent
    from amemgym_train.agents.mem0 import Mem0Agent
    from amemgym_train.agents.native import NativeAgent
    from amemgym_train.agents.rag import RagAgent
    from amemgym_train.agents.react import ReactAgent
    from amemgym_train.policy.base import Sampling

    awi = dict.fromkeys(("awi", "awi-hack"), AwiAgent)
    agents = {"native": NativeAgent, **awi, "awe": AweAgent, "rag": RagAgent, "mem0": Mem0Agent, "react": ReactAgent}
    return agents[config.name](config, policy, episode, seed, sampling or Sampling())
