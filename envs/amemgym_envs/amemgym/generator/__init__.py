"""Structured users without an LLM: a schema, a life of changes, sessions that tell it, and questions that depend on it."""

from amemgym_envs.amemgym.generator.config import PUBLIC_KEYS, GeneratorConfig
from amemgym_envs.amemgym.generator.presets import preset, presets
from amemgym_envs.amemgym.generator.user import generate, generate_user

__all__ = ["PUBLIC_KEYS", "GeneratorConfig", "generate", "generate_user", "preset", "presets"]
