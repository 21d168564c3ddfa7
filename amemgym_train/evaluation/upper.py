"""The model's own upper bound: each question asked once per choice, with the states of that choice given as notes."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from amemgym_train.agents.parsing import parse_answer
from amemgym_train.agents.templates import load_prompts
from amemgym_train.config.agent import AgentConfig
from amemgym_train.errors import Unscorable, UserError
from amemgym_train.policy.base import Policy, Request, Sampling

if TYPE_CHECKING:
    from amemgym_envs.amemgym.scenario import Question, Scenario

Replies = list[list[str]]  # [question][choice]
Keep = Callable[["Scenario", Replies], None]


def upper_bound(config: AgentConfig, policy: Policy, scenarios: "Sequence[Scenario]") -> dict[tuple[str, int, int], float]:
    """{(scenario id, question, 0-based choice): 1.0 if the policy, told the states, picks that choice, else 0.0}."""
    replies: dict[str, Replies] = {}
    ask_upper(config, policy, scenarios, lambda scenario, said: replies.update({scenario.id: said}))
    return bound(scenarios, replies)


def bound(scenarios: "Sequence[Scenario]", replies: Mapping[str, Replies]) -> dict[tuple[str, int, int], float]:
    """What ``replies``, by scenario id, are worth."""
    return {
        (scenario.id, number, choice): float(_picked(said, question) == choice)
        for scenario in scenarios
        for number, (question, row) in enumerate(zip(scenario.questions, replies[scenario.id], strict=True))
        for choice, said in enumerate(row)
    }


def ask_upper(config: AgentConfig, policy: Policy, scenarios: "Sequence[Scenario]", keep: Keep) -> None:
    """Ask all questions of all users at once; ``keep`` gets a user's replies as soon as they are there.

    UserError, once all others are kept, for users whose questions infrastructure broke.
    """
    asyncio.run(_ask_upper(config, policy, scenarios, keep))


async def _ask_upper(config: AgentConfig, policy: Policy, scenarios: "Sequence[Scenario]", keep: Keep) -> None:
    from amemgym_envs.amemgym.environment import question_text

    prompts = load_prompts(config.prompts)
    sampling = replace(Sampling(temperature=0.0), max_new_tokens=config.max_new_tokens.answer)
    broken: dict[str, str] = {}

    def name(scenario: "Scenario", number: int, choice: int) -> str:
        return f"upper/{scenario.id}/q{number}/c{choice}"

    async def ask(scenario: "Scenario", number: int, choice: int) -> str:
        question, slot = scenario.questions[number], name(scenario, number, choice)
        messages = prompts["answer"].messages(notes=given(question, choice), conversation="", question=question_text(question))
        facts = {"choices": len(question.answer_choices)}
        try:
            return (await policy.complete(Request(messages, "answer", slot, sampling, slot, 0, facts))).text
        finally:
            policy.leave(slot)

    async def ask_all(scenario: "Scenario") -> None:
        try:
            said = iter(await asyncio.gather(*(ask(scenario, *place) for place in _places(scenario))))
        except (Unscorable, OSError) as error:
            broken[scenario.id] = f"{type(error).__name__}: {error}"
            return
        keep(scenario, [[next(said) for _ in question.answer_choices] for question in scenario.questions])

    for scenario in scenarios:
        for place in _places(scenario):
            policy.enter(name(scenario, *place))
    await asyncio.gather(*map(ask_all, scenarios))
    if broken:
        user, error = next(iter(broken.items()))
        raise UserError(
            f"the upper bound of {len(broken)} of {len(scenarios)} users could not be measured; the first: user {user}: {error}. "
            "Mend it and run the same command again"
        )


def _places(scenario: "Scenario") -> list[tuple[int, int]]:
    """(question, choice)"""
    return [(number, choice) for number, q in enumerate(scenario.questions) for choice in range(len(q.answer_choices))]


def _picked(said: str, question: "Question") -> int | None:
    texts = [one.answer for one in question.answer_choices]
    return parse_answer(said, len(texts), texts)[0]


def given(question: "Question", choice: int) -> str:
    """The states of a choice as notes."""
    states = zip(question.required_info, question.answer_choices[choice].state, strict=True)
    return "\n".join(f"{name}: {value}" for name, value in states)
