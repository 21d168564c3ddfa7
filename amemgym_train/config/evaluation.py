"""How an agent is scored."""

from typing import Literal

from amemgym_train.config.base import Section

Control = Literal["random", "oracle", "scrambled", "empty", "instruction"]


class EvaluationConfig(Section):
    """``upper``: the upper bound of the memory score, 1 by construction ("oracle") or the model given the states ("model").

    ``controls`` are scored beside the agent: random answers, a policy that knows all states, and the agent answering from the
    memory of another user ("scrambled"), from none ("empty"), or from nothing but the instruction and the question, which is the
    same for every agent ("instruction").
    ``limits``: of the replies of an agent that a public config file describes: ``agent.max_new_tokens`` of the recipe, which fit
    the model that answers, or the file's ``max_tokens`` for every operation.
    """

    upper: Literal["oracle", "model"] = "oracle"
    controls: list[Control] = ["random", "oracle"]
    limits: Literal["recipe", "file"] = "recipe"
