"""A model as a reflector: the agent's own, another one, and what is too long for either."""

import asyncio

import pytest

from amemgym_train.agents.templates import TYPES, load_prompts
from amemgym_train.config.reflection import ReflectorConfig
from amemgym_train.errors import Unscorable, UserError
from amemgym_train.policy.base import TooLong
from amemgym_train.policy.local import LocalPolicy
from amemgym_train.reflection.feedback import Feedback
from amemgym_train.reflection.reflectors import Ask, Failure, messages, reflector_of

FAILED = Feedback("diagnostic", "It was never noted.", (), {})
FAILURE = Failure("write/p0/0", "User: hello", "{}", "all of it")


def ask(target="write", start="default", guided=False):
    return Ask(target, "write", load_prompts("default", start)["write"], FAILED, 0, guided)


@pytest.mark.parametrize("kind", ["policy", "model"])
def test_a_local_model_answers_the_same_each_time(llama, tokenizer, model_folder, kind):
    own = LocalPolicy(llama, tokenizer)
    given = {"model": str(model_folder)} if kind == "model" else {}
    reflector = reflector_of(ReflectorConfig(kind=kind, max_new_tokens=8, **given), own, "float32", seed=3)
    assert (reflector.policy is own) == (kind == "policy")
    replies = [asyncio.run(reflector.reply(ask())) for _ in range(2)]
    assert replies[0] == replies[1] and replies[0]
    assert asyncio.run(reflector.advise(FAILURE)) == asyncio.run(reflector.advise(FAILURE))


def test_a_model_is_told_the_prompt_its_fields_and_the_feedback():
    system, user = (message["content"] for message in messages(ask()))
    assert load_prompts()["write"].text in user and FAILED.text in user and "{conversation}" in user
    listed = messages(ask("types", "info_type"))[-1]["content"]
    assert TYPES in listed and "new_types" in listed and "{conversation}" not in listed
    guided = messages(ask("types", "info_type", guided=True))[-1]["content"]
    assert guided.startswith(listed) and "invented example" in guided.removeprefix(listed)


class Failing:
    version = "failing"

    def __init__(self, error):
        self.error = error

    def enter(self, episode):
        pass

    leave = enter

    async def complete(self, request):
        raise self.error


def test_what_is_too_long_is_a_mistake_to_mend_for_a_rewrite_and_no_advice_for_a_second_try():
    reflector = reflector_of(ReflectorConfig(), Failing(TooLong("9000 tokens do not fit")), "float32", 0)
    with pytest.raises(UserError, match="9000 tokens do not fit, or lower reflection.prompts.max_chars"):
        asyncio.run(reflector.reply(ask()))
    assert asyncio.run(reflector.advise(FAILURE)) == ""


def test_a_lost_connection_is_infrastructure():
    reflector = reflector_of(ReflectorConfig(), Failing(ConnectionResetError("gone")), "float32", 0)
    with pytest.raises(Unscorable, match="gone"):
        asyncio.run(reflector.reply(ask()))
