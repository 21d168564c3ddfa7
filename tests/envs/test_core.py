"""What every text environment shares."""

from amemgym_envs.amemgym.environment import AMemGymEnv
from amemgym_envs.core import AnyText


def test_any_text_takes_every_string_and_nothing_else():
    space = AnyText(seed=1)
    assert all(text in space for text in ("", "héllo\n", "x" * 10_000, "日本", space.sample()))
    assert not any(other in space for other in (None, 3, b"bytes", ["text"]))


def test_environments_declare_their_card_once():
    env = AMemGymEnv()
    assert env.card is AMemGymEnv.card
    assert env.card.score == (0.0, 1.0) and set(env.card.splits) == {"train", "validation", "test"}
    assert len(env.tasks) == len(set(env.tasks)) > 1
