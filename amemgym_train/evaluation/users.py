"""Who talks to the agent: the script, or the chat model that a recipe names."""

import atexit
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.llm import EndpointError, Usage
from amemgym_envs.amemgym.llm.simulator import LLMUser, Speaker
from amemgym_envs.amemgym.simulator import ScriptedUser, User
from amemgym_train.config.user import UserConfig
from amemgym_train.errors import UserError
from amemgym_train.policy.chat import opened
from amemgym_train.policy.refusals import failure

if TYPE_CHECKING:
    from amemgym_envs.amemgym.records import Scenario

KEY = "scenarios.user.chat"


class ChatUser(LLMUser):
    """Tells what went wrong as a rollout needs to know it: Unscorable or UserError, with the user, the period and the round."""

    def follow_up(self, period: int, session: int, round: int, talk: Sequence[dict[str, str]] = ()) -> str:
        try:
            return super().follow_up(period, session, round, talk)
        except EndpointError as error:
            call = f"user {self.scenario.id}, period {period}, session {session}, round {round}"
            raise failure(KEY, call, error, 0) from error
        except ScenarioError as error:  # the cache cannot be written
            raise UserError(f"{KEY}.cache: {error}") from error


def user_factory(config: UserConfig | None) -> "Callable[[Scenario, int], User]":
    """(scenario, seed) -> the user of one episode."""
    if config is None:
        return ScriptedUser
    shared = speaker(config)
    return lambda scenario, seed: ChatUser(scenario, seed, shared)


@cache
def speaker(config: UserConfig) -> Speaker:
    """The one speaker of this process for ``config``; its connections are closed when the process ends."""

    def sampling(seed: int) -> dict[str, int | float]:
        return config.chat.sampling(config.max_new_tokens, config.temperature, 1.0, seed)

    made = Speaker(Usage(config.chat.endpoint()), opened(config.chat, KEY), sampling, config.history, config.tries)
    atexit.register(made.close)
    return made
