"""The chat endpoints of the recipe: as the agent's model, as users, as reflector."""

import asyncio
import os
from urllib.parse import urlsplit

from amemgym_train.config.chat import ChatConfig
from amemgym_train.config.recipe import Recipe
from amemgym_train.doctor.finding import Finding, green, red

NAME = "chat"
PATIENCE_S = 30
HERE = ("localhost", "127.0.0.1", "::1")
HELLO = [{"role": "user", "content": "Say OK."}]


def chat(recipe: Recipe) -> list[Finding]:
    """Each endpoint has its key and answers one short call, which costs what it costs."""
    used = endpoints(recipe)
    return [_examined(key, config) for key, config in used.items()] or [green(NAME, "no endpoint is used")]


def endpoints(recipe: Recipe) -> dict[str, ChatConfig]:
    """Those that the recipe would call, by their keys."""
    policy, user, reflector = recipe.policy.chat, recipe.scenarios.user, recipe.reflection.reflector.chat
    found = {
        "policy.chat": policy,
        "scenarios.user.chat": user and user.chat,
        "reflection.reflector.chat": reflector if recipe.reflection.asks else None,
    }
    return {key: config for key, config in found.items() if config is not None}


def _examined(key: str, config: ChatConfig) -> Finding:
    from amemgym_envs.amemgym.errors import ScenarioError

    where = f"{key}: {config.model} at {config.base_url}"
    if urlsplit(config.base_url).hostname not in HERE and not os.environ.get(config.api_key_env, "").strip():
        return red(NAME, f"{where}: the environment variable {config.api_key_env} is not set", f"export {config.api_key_env}=KEY")
    endpoint = config.model_copy(update={"retries": 0, "timeout_s": min(config.timeout_s, PATIENCE_S)}).endpoint()

    async def ask():
        async with endpoint:
            return await endpoint.complete(HELLO, config.sampling(8, 0.0, 1.0, 0))

    try:
        asyncio.run(ask())
    except ScenarioError as error:
        return red(NAME, f"{where}: {error}", f"{key}.base_url=URL, {key}.model=NAME, or export {config.api_key_env}=KEY")
    return green(NAME, f"{where} answers")
