"""The section ``evolution_config`` of a public agent config: how the agent rewrites its memory-update prompt in an episode."""

from pathlib import Path
from typing import Any, get_args

from amemgym_train.config.agent import AgentConfig
from amemgym_train.config.recipe import Recipe
from amemgym_train.config.reflection import FeedbackKind, PromptsConfig, ReflectionConfig, Target
from amemgym_train.errors import UserError

CADENCES = {"period": "period", "no_evolution": "none"}
KINDS: tuple[str, ...] = get_args(FeedbackKind)[:4]  # each tells more than the one before
NAMED = {"vanilla_question_only": "question_only"} | {kind: kind for kind in KINDS}  # there, and here
STARTS: tuple[str, ...] = get_args(AgentConfig.model_fields["start"].annotation)
WRITING = ("memory_update_prompt", "fact_extraction_prompt")  # names of targets there that are our write
OTHER = "update_memory_prompt"  # mem0's second call, which is not rewritten here
KEYS = ("cadence", "feedback_types", "targets", "init_prompt_type")


def evolution(section: dict[str, Any], recipe: Recipe, path: Path) -> tuple[str, ReflectionConfig, list[str]]:
    """The start of the prompts, what rewrites them, and what of the section is not followed. UserError naming file and key.

    Several feedback types together tell as much as the one of them that tells most. The recipe says who reflects.
    """
    cadence = _one_of(section, "cadence", tuple(CADENCES), "no_evolution", path)
    start = _one_of(section, "init_prompt_type", STARTS, "default", path)
    told = max((KINDS.index(NAMED[kind]) for kind in _some_of(section, "feedback_types", tuple(NAMED), path)), default=0)
    wanted = _some_of(section, "targets", (*WRITING, OTHER), path) or ["memory_update_prompt"]
    notes = [f"evolution_config.targets {OTHER} is not followed: that prompt stays as it is"] if OTHER in wanted else []
    notes += [f"evolution_config.{key} is not known here and not followed" for key in sorted(set(section) - set(KEYS))]
    if not set(wanted) & set(WRITING):
        raise UserError(f"{path}: evolution_config.targets is {wanted}; expected {' or '.join(WRITING)} among them")
    target: Target = "types" if start.endswith("info_type") else "write"
    prompts = PromptsConfig(cadence=CADENCES[cadence], targets=(target,))
    return start, ReflectionConfig(feedback=KINDS[told], prompts=prompts, reflector=recipe.reflection.reflector), notes


def _one_of(section: dict[str, Any], key: str, allowed: tuple[str, ...], default: str, path: Path) -> str:
    value = default if section.get(key) is None else section[key]
    if value not in allowed:
        raise UserError(f"{path}: evolution_config.{key} is {value!r}, expected one of {', '.join(allowed)}")
    return value


def _some_of(section: dict[str, Any], key: str, allowed: tuple[str, ...], path: Path) -> list[str]:
    value = [] if section.get(key) is None else section[key]
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or any(one not in allowed for one in values):
        raise UserError(f"{path}: evolution_config.{key} is {value!r}, expected a list of {', '.join(allowed)}")
    return values
