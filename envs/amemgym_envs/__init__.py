"""Text environments for language agents. Importing this registers them with gymnasium; it loads neither torch nor the toolkit."""

import gymnasium

from amemgym_envs.core import EnvCard, TextEnv

__all__ = ["EnvCard", "TextEnv"]

gymnasium.register(id="AMemGym-v0", entry_point="amemgym_envs.amemgym.environment:AMemGymEnv")
