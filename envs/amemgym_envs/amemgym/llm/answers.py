"""The choices of a question: personal advice for each combination of states, and proof that a reader tells them apart."""

import json
from itertools import product
from statistics import median

from amemgym_envs.amemgym.llm.caller import Caller, GaveUp, attempted, together
from amemgym_envs.amemgym.llm.parsing import part, prose, unquoted
from amemgym_envs.amemgym.llm.schema import Asked, Schema, listed_types
from amemgym_envs.amemgym.node import Node

_SPREAD = 1.6  # an answer is at most so many times as long, or as short, as the median one
Combination = tuple[str, ...]


async def write_answers(caller: Caller, question: Asked, pools: Schema) -> dict[Combination, str]:
    """{combination: answer} for every combination of the pools that ``question`` requires; GaveUp when one fails its check."""
    types = {name: pools[name] for name in question.required}
    grid = list(product(*types.values()))
    words = {word for name, values in types.items() for word in (name, *values)}
    fields: dict[str, str | int] = {
        "question": question.query,
        "types": listed_types(types),
        "combinations": "\n".join(f"{i}. {_said(question, combination)}" for i, combination in enumerate(grid, start=1)),
        "count": len(grid),
    }
    drafts = await caller.write("answers", fields, lambda node: _drafts(node, len(grid), words))
    middle = median(map(len, drafts))
    span = (int(middle / _SPREAD), int(middle * _SPREAD) + 1)

    async def settled(i: int) -> str:
        async def verdict(answer: str) -> str | None:
            guess = await caller.classify("check_answer", fields | {"answer": answer}, lambda node: _guess(node, len(grid)))
            if guess == i:
                return None
            if guess is None:
                return "a reader could not tell for which combination the answer was written"
            return (
                f"a reader who saw nothing but this answer took it for combination {guess + 1} ({_said(question, grid[guess])}), "
                f"but it is meant for combination {i + 1} ({_said(question, grid[i])})"
            )

        complaint = await verdict(drafts[i])
        if complaint is None:
            return drafts[i]
        caller.report.rejected += 1
        one = fields | {"number": i + 1, "combination": _said(question, grid[i]), "shortest": span[0], "longest": span[1]}
        rejected = (json.dumps({"answer": drafts[i]}, ensure_ascii=False), complaint)
        return await caller.write("answer", one, lambda node: _answer(node, span, words), verdict, rejected=rejected)

    outcomes = await together(attempted(settled(i)) for i in range(len(grid)))  # all end, so that timing decides nothing
    for outcome in outcomes:
        if isinstance(outcome, GaveUp):
            raise outcome
    answers = [str(outcome) for outcome in outcomes]
    if len(set(answers)) < len(answers):
        raise GaveUp("answer", "two combinations ended with the same answer")
    return dict(zip(grid, answers, strict=True))


def _said(question: Asked, combination: Combination) -> str:
    return ", ".join(f"{name} = {value}" for name, value in zip(question.required, combination, strict=True))


def _drafts(node: Node, count: int, words: set[str]) -> list[str]:
    answers = part(node, "answers")
    drafts = [unquoted(prose(entry), words) for entry in answers.items()]
    if len(set(drafts)) != count or len(drafts) != count:
        answers.fail(f"{count} different answers, one for each combination")
    middle = median(map(len, drafts))
    uneven = [str(i) for i, draft in enumerate(drafts, start=1) if not middle / _SPREAD <= len(draft) <= middle * _SPREAD]
    if uneven:
        raise ValueError(f"the answers differ too much in length: bring {', '.join(uneven)} to about {middle:.0f} characters")
    return drafts


def _answer(node: Node, span: tuple[int, int], words: set[str]) -> str:
    answer = unquoted(prose(part(node, "answer")), words)
    if not span[0] <= len(answer) <= span[1]:
        raise ValueError(f"the answer has {len(answer)} characters, expected {span[0]} to {span[1]}")
    return answer


def _guess(node: Node, count: int) -> int:
    """The 0-based combination."""
    number = part(node, "combination").is_a(int, "the number of a combination")
    if not 1 <= number <= count:
        part(node, "combination").fail(f"a number from 1 to {count}")
    return number - 1
