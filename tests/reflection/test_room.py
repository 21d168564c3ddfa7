from types import SimpleNamespace

from amemgym_train.agents.templates import Prompt
from amemgym_train.policy.encoding import encode
from amemgym_train.reflection.room import leaves_room


def test_half_of_a_known_window_is_for_what_calls_fill_in(tokenizer):
    prompt = Prompt("Remember this.", "{conversation}")
    tokens = len(encode(tokenizer, prompt.messages()))

    def local(window):
        return SimpleNamespace(model=SimpleNamespace(config=SimpleNamespace(max_position_embeddings=window)), tokenizer=tokenizer)

    assert leaves_room(local(2 * tokens), prompt) and not leaves_room(local(2 * tokens - 1), prompt)
    assert leaves_room(SimpleNamespace(), prompt)  # a chat endpoint
