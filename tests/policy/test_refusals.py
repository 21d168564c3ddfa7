"""What servers say of a prompt that is too long, in the wordings that are about."""

import pytest

from amemgym_envs.amemgym.llm import EndpointError, Exhausted, Refused
from amemgym_train.errors import Unscorable, UserError
from amemgym_train.policy.base import TooLong
from amemgym_train.policy.refusals import failure, lengths

SAID = [
    ("This model's maximum context length is 4097 tokens. However, your messages resulted in 6164 tokens.", 6164, 4033),
    (
        "This model's maximum context length is 512 tokens. However, you requested 664 tokens (600 in the messages, 64 in the "
        "completion).",
        *(600, 448),
    ),
    (
        "'max_tokens' is too large: 64. This model's maximum context length is 4096 tokens and your request has 4078 input "
        "tokens (64 > 4096 - 4078).",
        *(4078, 4032),
    ),
    (
        "You passed 449 input tokens and requested 64 output tokens. However, the model's context length is only 512 tokens, "
        "resulting in a maximum input length of 448 tokens.",
        *(None, 448),  # it stops counting there
    ),
    ("prompt is too long: 210000 tokens > 200000 maximum", 210000, 199936),
    ("request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it", 9412, 8128),
    ("The input token count (1,200,000) exceeds the maximum number of tokens allowed (1048576).", 1200000, 1048512),
    ("Your input exceeds the context window of this model.", None, None),
    ('{"code": "context_length_exceeded"}', None, None),
]


@pytest.mark.parametrize(("said", "tokens", "room"), SAID)
def test_a_prompt_that_is_too_long_is_told_with_its_figures(said, tokens, room):
    assert lengths(said, 64) == (tokens, room)
    found = failure("policy.chat", "episode e, s", Refused("told", 400, said), 64)
    assert isinstance(found, TooLong) and (found.tokens, found.room) == (tokens, room)
    assert str(found) == "episode e, s: policy.chat told"


def test_other_failures_are_no_matter_of_length():
    assert type(failure("policy.chat", "e", Refused("told", 400, "temperature must be 1"), 64)) is UserError
    assert type(failure("policy.chat", "e", Refused("told", 401, "maximum context length is 9"), 64)) is UserError
    assert type(failure("policy.chat", "e", EndpointError("told"), 64)) is UserError
    assert type(failure("policy.chat", "e", Exhausted("told"), 64)) is Unscorable
