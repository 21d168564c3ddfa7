"""What an evaluation was asked to do, kept beside its results: a folder never mixes two."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from amemgym_train.config.chat import ChatConfig
from amemgym_train.config.environments import sources
from amemgym_train.config.public_agent import NamedAgent
from amemgym_train.config.recipe import Recipe
from amemgym_train.errors import UserError
from amemgym_train.evaluation.files import read_json, write_json

NAME = "settings.json"
KEPT = ("unfinished", "episodes", "results", "controls")  # before one of them is there, nothing was played
ASKED = ("model", "max_tokens_key", "omit")  # what decides a chat model's reply; the rest is how and where it is reached


def settings(
    recipe: Recipe, role: str, agents: Sequence[NamedAgent], seeds: Sequence[int], hashes: dict[str, str]
) -> dict[str, Any]:
    """All that decides the results, as JSON values. ``hashes``: of what the recipe and the command name, by key."""
    policy, user = recipe.policy, recipe.scenarios.user
    played = {
        f"{name}.{role}" if name else role: source.model_dump(mode="json", exclude={"data"})  # content decides, not its place
        for name, source in sources(recipe, role).items()
    }
    return {
        "split": role,
        "seed": recipe.seed,
        "seeds": list(seeds),
        "policy": {"model": policy.model, "dtype": policy.dtype, "server": policy.server is not None, "chat": _chat(policy.chat)},
        "agent": recipe.agent.settings(),
        "agents": {agent.name: agent.settings() for agent in agents},
        "scenarios": {
            **played,
            "user": user and user.model_dump(mode="json", exclude={"chat"}) | {"chat": _chat(user.chat)},
        },
        "evaluation": recipe.evaluation.model_dump(mode="json"),
        "hashes": hashes,
        **({"reflection": recipe.reflection.model_dump(mode="json")} if recipe.reflection.prompts.cadence == "period" else {}),
    }


def hash_of(value: Any) -> str:
    """SHA-256 of JSON values."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def adopt(folder: Path, wanted: dict[str, Any]) -> None:
    """Write settings.json into ``folder``. UserError: something was kept with other settings, or something else is there."""
    path = folder / NAME
    if path.is_file():
        keys = differing(read_json(path, dict), wanted)
        if keys and any((folder / name).exists() for name in KEPT):
            raise UserError(
                f"{folder} holds another evaluation; it differs in {', '.join(keys)}. Choose another --out, or delete the folder"
            )
    elif any(not entry.name.startswith(".") for entry in folder.iterdir()):
        raise UserError(f"{folder} holds files, but no {NAME} of an evaluation to go on with; choose another --out")
    write_json(path, wanted)


def differing(stored: Any, wanted: Any, key: str = "") -> list[str]:
    """The dotted keys whose values differ."""
    if not (isinstance(stored, dict) and isinstance(wanted, dict)):
        return [] if stored == wanted else [key or NAME]
    keys = sorted(stored.keys() | wanted.keys())
    return [found for name in keys for found in differing(stored.get(name), wanted.get(name), f"{key}.{name}" if key else name)]


def _chat(chat: ChatConfig | None) -> dict[str, Any] | None:
    return None if chat is None else chat.model_dump(mode="json", include=set(ASKED))
