import asyncio

import pytest

from amemgym_train.agents.parsing import parse_object
from amemgym_train.agents.templates import load_prompts
from amemgym_train.reflection.edits import Bounds, Refused, edited
from amemgym_train.reflection.feedback import Feedback
from amemgym_train.reflection.leaks import Secrets
from amemgym_train.reflection.reflectors import Ask
from amemgym_train.reflection.scripted import ScriptedReflector

NAMES = {"write": ("write", "facts"), "types": ("write", "facts"), "read": ("read",), "answer": ("answer",)}
CALLS = [(target, name) for target, names in NAMES.items() for name in names]


def rewritten(target, name, prompt, draw=0):
    ask = Ask(target, name, prompt, Feedback("diagnostic", "", (), {}), draw)
    return edited(target, name, prompt, asyncio.run(ScriptedReflector().reply(ask)), Bounds(20_000, Secrets([]))).prompt


@pytest.mark.parametrize("folder", ["default", "fewshot"])
@pytest.mark.parametrize("target, name", CALLS)
def test_each_rule_is_applied_once_until_none_is_left(folder, target, name):
    prompt, seen = load_prompts(folder, "info_type")[name], []
    with pytest.raises(Refused) as refusal:
        for draw in range(20):
            prompt = rewritten(target, name, prompt, draw)
            seen.append(prompt.text)
    assert refusal.value.kind == "same" and len(seen) >= 3 and len(set(seen)) == len(seen)
    assert prompt.body == load_prompts(folder)[name].body
    assert all(parse_object(reply)[1] == "strict" for reply in prompt.examples[1::2])


@pytest.mark.parametrize("target, name", CALLS)
def test_different_draws_propose_different_prompts(target, name):
    prompt = load_prompts("fewshot", "info_type")[name]
    assert len({rewritten(target, name, prompt, draw).text for draw in range(3)}) == 3


def test_no_rule_gives_away_a_value_of_the_generator():
    from amemgym_envs.amemgym.languages import wording

    for target, name in CALLS:
        before = prompt = load_prompts("fewshot", "info_type")[name]
        for draw in range(20):
            try:
                prompt = rewritten(target, name, prompt, draw)
            except Refused:
                break
        added = prompt.text.replace(before.text, "").casefold()
        for variable in wording().variables:
            for word in (variable.name, *variable.values):
                assert word.casefold() not in added, (target, word)
