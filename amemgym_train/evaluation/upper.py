"""The model's own upper bound: each question asked once per choice, with the states of that choice given as notes."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from amemgym_train.agents.parsing import parse_answer
from amemgym_train.agents.templates import load_prompts
from amemgym_train.config.agent import AgentConfig
from amemgym_train.policy.base import Policy, Request, Sampling

if TYPE_CHECKING:
    from amemgym_envs.amemgym.scenario import Question, Scenario


def upper_bound(config: AgentConfig, policy: Policy, scenarios: "Sequence[Scenario]") -> dict[tuple[str, int, int], float]:
    """{(scenario id, question, 0-based choice): 1.0 if the policy, told the states, picks that choice, else 0.0}."""
    return asyncio.run(_upper_bound(config, policy, scenarios))


async def _upper_bound(config: AgentConfig, policy: Policy, scenarios: "Sequence[Scenario]") -> dict[tuple[str, int, int], float]:
    from amemgym_envs.amemgym.environment import question_text

    prompts = load_prompts(config.prompts)
    sampling = replace(Sampling(temperature=0.0), max_new_tokens=config.max_new_tokens.answer)
    places = [
        (scenario, number, choice)
        for scenario in scenarios
        for number, question in enumerate(scenario.questions)
        for choice in range(len(question.answer_choices))
    ]
    names = [f"upper/{scenario.id}/q{number}/c{choice}" for scenario, number, choice in places]
    for name in names:
        policy.enter(name)

    async def ask(name: str, scenario: "Scenario", number: int, choice: int) -> float:
        question = scenario.questions[number]
        messages = prompts["answer"].messages(notes=given(question, choice), conversation="", question=question_text(question))
        texts = [one.answer for one in question.answer_choices]
        choices = len(texts)
        request = Request(messages, "answer", name, sampling, name, 0, {"choices": choices})
        completion = await policy.complete(request)
        policy.leave(name)
        return float(parse_answer(completion.text, choices, texts)[0] == choice)

    values = await asyncio.gather(*(ask(name, *place) for name, place in zip(names, places, strict=True)))
    return {(scenario.id, number, choice): value for (scenario, number, choice), value in zip(places, values, strict=True)}


def given(question: "Question", choice: int) -> str:
    """The states of a choice as notes."""
    states = zip(question.required_info, question.answer_choices[choice].state, strict=True)
    return "\n".join(f"{name}: {value}" for name, value in states)
