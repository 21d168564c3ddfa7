"""The agents of an evaluation: named, or described by a config file of the public AMemGym code, which is read as it is.

Of a file are taken: ``type`` and ``agent_config`` (which agent, with which batches), ``name`` (that in the results) and
``llm_config.temperature``. The recipe says everything else, above all which model answers and how long a reply may be
(``evaluation.limits``). Keys are neither stored nor shown.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from amemgym_train.config.agent import OF_SOME, AgentConfig, TokenLimits, problems
from amemgym_train.config.public_evolution import evolution
from amemgym_train.config.recipe import Recipe
from amemgym_train.config.reflection import ReflectionConfig
from amemgym_train.config.reflection import problems as reflection_problems
from amemgym_train.config.sampling import SamplingConfig
from amemgym_train.errors import UserError

NAMES: tuple[str, ...] = get_args(AgentConfig.model_fields["name"].annotation)
EVOLVING = {"awi-evolve": "awi", "awe-evolve": "awe", "rag-evolve": "awe", "mem0-evolution": "awe"}
TYPES = {"native": "native", "awi": "awi", "awe": "awe", "rag": "rag", "awi-hack": "awi-hack"} | EVOLVING
SECTIONS = ("llm_config", "agent_config", "memory_config", "evolution_config")
TAKEN = ("update_bsz", "local_length", "top_k")  # of agent_config
NO_FOLDER = re.compile(r"[/\\\0-\x1f\ud800-\udfff]|^\.|^\s*$|^upperbound$|\.parquet$")
LONGEST = 200  # bytes of such a name: a file's may have 255, and seeds and endings are added


@dataclass(frozen=True)
class NamedAgent:
    """``notes`` say what of its description is not followed; ``reflection``: None for the recipe's."""

    name: str
    config: AgentConfig
    sampling: SamplingConfig = SamplingConfig(temperature=0.0)
    notes: tuple[str, ...] = ()
    reflection: ReflectionConfig | None = None

    def settings(self) -> dict[str, Any]:
        """All that decides what it does, as JSON values."""
        reflects = {} if self.reflection is None else {"reflection": self.reflection.model_dump(mode="json")}
        return {"config": self.config.settings(), "sampling": self.sampling.model_dump(mode="json")} | reflects


def named_agents(words: Sequence[str], recipe: Recipe) -> list[NamedAgent]:
    """The agents that ``words`` name: ours with the recipe's other settings, or paths of public config files. None: the recipe's.

    UserError: a word is neither, a file is broken, or two agents would have one name.
    """
    found = [_named(word, recipe) for word in words] or [NamedAgent(recipe.agent.name, recipe.agent)]
    names = [agent.name for agent in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"--agents: two of them are called {twice}; leave one out, or change the name in its file")
    return found


def _named(word: str, recipe: Recipe) -> NamedAgent:
    if word in NAMES:
        config = _config({"name": word}, recipe, f"--agents {word}")
        reflection, notes = _reflection(config, recipe, word)
        return NamedAgent(word, config, notes=notes, reflection=reflection)
    path = Path(word)
    if not path.is_file():
        hint = "; a KEY=VALUE of the recipe stands before --agents" if "=" in word else ""
        raise UserError(f"--agents: {word} is no agent and no file; expected {', '.join(NAMES)}, or a public config file{hint}")
    return public_agent(path, recipe)


def _reflection(config: AgentConfig, recipe: Recipe, name: str) -> tuple[ReflectionConfig | None, tuple[str, ...]]:
    """None where the recipe's reflection fits this agent, else one that rewrites nothing, and a note of why."""
    if recipe.reflection.prompts.cadence != "period":
        return None, ()
    found = [problem for key, problem in reflection_problems(recipe.model_copy(update={"agent": config})) if "prompts" in key]
    return (ReflectionConfig(), (f"{name}: it rewrites no prompts: {found[0]}",)) if found else (None, ())


def public_agent(path: Path, recipe: Recipe) -> NamedAgent:
    """The agent that a config file of the public code describes. UserError naming file and key."""
    content = _read(path)
    kind, name = content.get("type"), content.get("name")
    if not isinstance(kind, str) or kind not in TYPES:
        raise UserError(f"{path}: type is {kind!r}, expected one of {', '.join(TYPES)}")
    if not isinstance(name, str) or not names_folder(name):
        expected = f"a text of at most {LONGEST} bytes that can name a folder of results, and not upperbound"
        raise UserError(f"{path}: name is {name!r}, expected {expected}")
    llm, own = content["llm_config"], dict(content["agent_config"])
    stores = own.pop("enable_llm_mem_policy", None)
    ours = "rag" if kind == "awe" and stores is False else TYPES[kind]
    if ours not in NAMES:
        raise UserError(f"{path}: type {kind} needs the agent {ours}; there are {', '.join(NAMES)}")
    known = {key: value for key, value in own.items() if key in TAKEN and value is not None}
    if recipe.evaluation.limits == "file" and llm.get("max_tokens") is not None:
        known["max_new_tokens"] = dict.fromkeys(TokenLimits.model_fields, llm["max_tokens"])
    reflection = ReflectionConfig() if recipe.reflection.prompts.cadence == "period" else None  # the file says what evolves
    ignored: list[str] = []
    if kind in EVOLVING:
        start, reflection, ignored = evolution(content["evolution_config"], recipe, path)
        known |= {"start": start}
    config = _config(known | {"name": ours}, recipe, str(path))
    notes = _notes(content, own, recipe) + ignored
    if reflection is not None:
        for key, problem in reflection_problems(recipe.model_copy(update={"agent": config, "reflection": reflection})):
            if key.startswith("reflection."):
                raise UserError(f"{path}: {key}: {problem}")
    return NamedAgent(name, config, _sampling(llm, path), tuple(f"{name}: {note}" for note in notes), reflection)


def names_folder(name: str) -> bool:
    """Whether results may be called so: no other folder or file of an evaluation is."""
    return not NO_FOLDER.search(name) and len(name.encode()) <= LONGEST


def _read(path: Path) -> dict[str, Any]:
    """The object in a file, each of SECTIONS an object, too."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: no agent config that can be read ({error}); expected a JSON object") from error
    if not isinstance(content, dict):
        raise UserError(f"{path}: holds a {type(content).__name__}, expected an object with type and name")
    for section in SECTIONS:
        content[section] = {} if content.get(section) is None else content[section]
        if not isinstance(content[section], dict):
            raise UserError(f"{path}: {section} is a {type(content[section]).__name__}, expected an object")
    return content


def _config(changes: dict[str, Any], recipe: Recipe, place: str) -> AgentConfig:
    """The recipe's agent with ``changes``, without the keys that the changed one does not look at."""
    values = recipe.agent.model_dump() | changes
    values = {key: value for key, value in values.items() if values["name"] in OF_SOME.get(key, values["name"])}
    try:
        config = AgentConfig.model_validate(values)
    except ValidationError as error:
        raise UserError(f"{place}: {_first(error)}") from error
    for key, problem in problems(recipe.model_copy(update={"agent": config})):
        raise UserError(f"{place}: {key}: {problem}")
    return config


def _sampling(llm: dict[str, Any], path: Path) -> SamplingConfig:
    temperature = llm.get("temperature")
    try:
        return SamplingConfig.model_validate({"temperature": 0.0 if temperature is None else temperature})
    except ValidationError as error:
        raise UserError(f"{path}: llm_config: {_first(error)}") from error


def _first(error: ValidationError) -> str:
    problem = error.errors()[0]
    return f"{'.'.join(map(str, problem['loc']))}: got {problem['input']!r}, {problem['msg']}"


def _notes(content: dict[str, Any], own: dict[str, Any], recipe: Recipe) -> list[str]:
    """What of the file is not followed."""
    llm, notes = content["llm_config"], []
    if llm.get("llm_model") or llm.get("base_url"):
        answers = recipe.policy.chat.model if recipe.policy.chat else recipe.policy.model
        notes.append(f"llm_model {llm.get('llm_model')} and its base_url are not asked: the recipe's model {answers} answers")
    if llm.get("max_tokens") and recipe.evaluation.limits == "recipe":
        notes.append(f"max_tokens {llm['max_tokens']} is not followed, but agent.max_new_tokens (see evaluation.limits)")
    if content["memory_config"]:
        notes.append("memory_config is not followed: the store is the recipe's")
    if content["type"] == "mem0-evolution":
        notes.append("mem0's own prompts cannot be rewritten: awe plays, whose two calls are those of mem0")
    unknown = sorted(set(own) - set(TAKEN))
    if unknown:
        notes.append(f"agent_config.{', agent_config.'.join(unknown)} is not known here and not followed")
    return notes
