"""What is made of failures: better prompts, and second tries to learn from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from amemgym_train.config.base import Section
from amemgym_train.config.chat import ChatConfig
from amemgym_train.config.environments import sources
from amemgym_train.config.training import GROUPED

if TYPE_CHECKING:
    from amemgym_train.config.recipe import Recipe

FeedbackKind = Literal["question_only", "vanilla", "with_answer", "with_exposed_states", "diagnostic"]
Target = Literal["write", "types", "read", "answer"]
WRITERS = {"awi": "write", "awi-hack": "write", "awe": "facts"}  # by agent, the prompt that the targets write and types mean
Problem = tuple[str, str]


class ReflectorConfig(Section):
    """Who rewrites prompts: ``policy``, the agent's own model as it is by then; ``model``, another one, from a folder or the hub;
    ``chat``, a chat endpoint; ``scripted``, rules, which are the same on every machine.

    ``max_new_tokens``: of a reply; ``temperature``: of its draw.
    """

    kind: Literal["policy", "model", "chat", "scripted"] = "policy"
    model: str | None = Field(None, min_length=1)
    chat: ChatConfig | None = None
    max_new_tokens: int = Field(1024, ge=1)
    temperature: float = Field(0.7, ge=0)


class PromptsConfig(Section):
    """How prompts evolve. ``cadence``: ``iteration``, rewritten before each iteration's rollout and kept if better on validation
    users; ``period``, rewritten by the agent after each period of an episode and forgotten with it, as in AMemGym's public code.

    ``targets``: what may be rewritten; ``types`` is the section of the memory-update prompt that lists types of information.
    ``proposals`` an iteration; ``users``: training users of a rollout that feedback comes from and a proposal is first played
    with; ``keep``: prompts kept to go on from, those that are best for some validation user (GEPA, arXiv 2507.19457); ``alpha``:
    the highest p-value of the paired test that a better prompt may have; ``max_chars``: of a prompt and of a feedback;
    ``leaks``: what becomes of a prompt with values or names of training users.
    """

    cadence: Literal["none", "iteration", "period"] = "none"
    targets: Annotated[tuple[Target, ...], Field(min_length=1)] = ("write",)
    proposals: int = Field(4, ge=1)
    users: int = Field(8, ge=1)
    keep: int = Field(4, ge=1)
    alpha: float = Field(0.05, gt=0, le=1)
    max_chars: int = Field(6000, ge=100)
    leaks: Literal["reject", "flag"] = "reject"


class RetryConfig(Section):
    """Second tries: ``episodes`` of each group, those with the most failures, are played again with a reflection in the prompts
    of the calls that failed. Where that helped, the reply is learned without the reflection (ERL, arXiv 2602.13949).

    ``weight``: of what on-policy methods of groups learn so, beside their policy gradient (``training.imitation``); rft and dpo
    take the second tries among their rows. ``written``: by ``rules``, which tell what ``reflection.feedback`` may tell, or by the
    ``reflector``, who is told that and the call with its reply, and writes what to do otherwise.
    """

    episodes: int = Field(0, ge=0)
    weight: float = Field(0.1, gt=0)
    written: Literal["rules", "reflector"] = "rules"


class ReflectionConfig(Section):
    """``feedback``: how much a reflection tells of a failure, by the public code's names of its feedback types, or
    ``diagnostic``: what the diagnosis says was lost (``reflection.feedback``, ``reflection.hints``).
    """

    feedback: FeedbackKind = "diagnostic"
    prompts: PromptsConfig = PromptsConfig()
    reflector: ReflectorConfig = ReflectorConfig()
    retry: RetryConfig = RetryConfig()

    @property
    def asks(self) -> bool:
        """Whether a reflector is asked for anything."""
        return self.prompts.cadence != "none" or (self.retry.episodes > 0 and self.retry.written == "reflector")


def problems(recipe: Recipe) -> Iterator[Problem]:
    """Reflections that could not be made, or that nobody would learn from."""
    yield from _retries(recipe)
    if recipe.reflection.asks:
        yield from _reflector(recipe)
    if recipe.reflection.prompts.cadence == "none":
        if recipe.training.method == "none":
            yield "training.method", "none trains nothing, and reflection.prompts.cadence none evolves no prompts; change one"
        return
    yield from _prompts(recipe)


def _retries(recipe: Recipe) -> Iterator[Problem]:
    tries, group = recipe.reflection.retry.episodes, recipe.rollout.group_size
    if not tries:
        return
    key = "reflection.retry.episodes"
    if tries > group:
        yield key, f"{tries} is more than the {group} episodes of a group (rollout.group_size)"
    if recipe.training.method not in ("rft", "dpo", *GROUPED):
        yield key, f"training.method {recipe.training.method} does not learn from second tries; set 0, or take another method"
    elif recipe.training.selects and recipe.reflection.retry.weight != RetryConfig.model_fields["weight"].default:
        yield "reflection.retry.weight", f"{recipe.training.method} has no loss beside the one of its rows; remove it"
    if recipe.scenarios.user is not None:
        yield key, "a second try meets the same user only where users are scripted; remove scenarios.user, or set 0"
    if recipe.agent.name == "mem0":
        yield key, "a reflection names calls of our own agents, and mem0 words its own; set 0, or take awe"
    if recipe.reflection.retry.written == "reflector" and recipe.reflection.reflector.kind == "scripted":
        yield "reflection.retry.written", "the scripted reflector rewrites prompts only; set reflection.reflector.kind, or rules"
    elif recipe.reflection.retry.written == "reflector" and recipe.training.on_policy and recipe.reflection.reflector.model:
        yield "reflection.reflector.kind", "another model cannot be loaded while this one trains; set policy or chat"
    if recipe.reflection.prompts.cadence == "period":
        yield key, "a second try needs the prompts of the first, and they change with reflection.prompts.cadence period; set 0"


def _prompts(recipe: Recipe) -> Iterator[Problem]:
    prompts, agent = recipe.reflection.prompts, recipe.agent
    key = "reflection.prompts.targets"
    if agent.name == "mem0":
        yield "reflection.prompts.cadence", "mem0 words its prompts itself, so none can be rewritten; set none, or take awe"
        return
    if len(set(prompts.targets)) < len(prompts.targets):
        yield key, f"{', '.join(prompts.targets)} names one twice"
    writes = [target for target in prompts.targets if target in ("write", "types")]
    if writes and agent.name not in WRITERS:
        yield key, f"the {agent.name} agent has no memory-update prompt; remove {' and '.join(writes)}"
    elif "types" in prompts.targets:
        yield from _types(recipe, key)
    if prompts.cadence == "iteration":
        yield from _provable(recipe)
    if prompts.cadence == "iteration" and recipe.evaluation.upper == "model":
        problem = "prompts are compared by the gap to a perfect answer, and a model's own upper bound changes with its prompts"
        yield "evaluation.upper", f"{problem}; set oracle"
    if prompts.cadence == "iteration" and recipe.scenarios.user is not None:
        problem = "prompts are compared on users who say the same each time; remove scenarios.user"
        yield "reflection.prompts.cadence", f"{problem}, or set period"
    if prompts.cadence == "period" and recipe.training.method == "none":
        yield "training.method", "none trains nothing, and cadence period keeps no prompts: score it with amemgym-train evaluate"


def _provable(recipe: Recipe) -> Iterator[Problem]:
    found, alpha = sources(recipe, "validation").values(), recipe.reflection.prompts.alpha
    counts = [source.num_users if source.data is None else len(source.users or ()) for source in found]
    users = sum(counts) if all(counts) else 0  # of a file nobody knows yet
    if users and 0.5**users > alpha:
        least = f"{users} validation users can show p = {0.5**users:.2g} at best, so that no prompt would ever be accepted"
        yield "reflection.prompts.alpha", f"{least}; raise it, or have more"


def _types(recipe: Recipe, key: str) -> Iterator[Problem]:
    from amemgym_train.agents.templates import TYPES, load_prompts
    from amemgym_train.errors import UserError

    try:
        prompts = load_prompts(recipe.agent.prompts, recipe.agent.start)
    except UserError:
        return  # told of agent.prompts
    name = WRITERS[recipe.agent.name]
    if name in prompts and TYPES not in prompts[name].instruction.splitlines():
        yield key, f"types needs a line {TYPES!r} in the instruction of {name}.txt; set agent.start to info_type, or take write"


def _reflector(recipe: Recipe) -> Iterator[Problem]:
    reflector, key = recipe.reflection.reflector, "reflection.reflector"
    for kind in ("model", "chat"):
        if reflector.kind == kind and getattr(reflector, kind) is None:
            yield f"{key}.{kind}", f"{key}.kind is {kind}, so it must be given"
        if reflector.kind != kind and getattr(reflector, kind) is not None:
            yield f"{key}.{kind}", f"{key}.kind is {reflector.kind}, which does not look at it; remove it, or set kind to {kind}"
