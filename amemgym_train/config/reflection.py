"""What is made of failures: second tries to learn from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from amemgym_train.config.base import Section

if TYPE_CHECKING:
    from amemgym_train.config.recipe import Recipe

FeedbackKind = Literal["question_only", "vanilla", "with_answer", "with_exposed_states", "diagnostic"]


class RetryConfig(Section):
    """Second tries: ``episodes`` of each group, those with the most failures, are played again with a reflection in the prompts
    of the calls that failed. Where that helped, the reply is learned without the reflection (ERL, arXiv 2602.13949).
    """

    episodes: int = Field(0, ge=0)


class ReflectionConfig(Section):
    """``feedback``: how much a reflection tells of a failure, by the public code's names of its feedback types, or
    ``diagnostic``: what the diagnosis says was lost (``reflection.hints``).
    """

    feedback: FeedbackKind = "diagnostic"
    retry: RetryConfig = RetryConfig()


def problems(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """Second tries that could not be played, or that nobody would learn from."""
    tries, group = recipe.reflection.retry.episodes, recipe.rollout.group_size
    if not tries:
        return
    key = "reflection.retry.episodes"
    if tries > group:
        yield key, f"{tries} is more than the {group} episodes of a group (rollout.group_size)"
    if recipe.training.on_policy is not None:
        yield key, f"rft and dpo learn from second tries, training.method is {recipe.training.method}; set 0"
    if recipe.scenarios.user is not None:
        yield key, "a second try meets the same user only where users are scripted; remove scenarios.user, or set 0"
    if recipe.agent.name == "mem0":
        yield key, "a reflection names calls of our own agents, and mem0 words its own; set 0, or take awe"
