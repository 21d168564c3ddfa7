"""How an agent is scored."""

from typing import Literal

from amemgym_train.config.base import Section

Control = Literal["random", "oracle", "scrambled", "empty"]


class EvaluationConfig(Section):
    """``upper``: the upper bound of the memory score, 1 by construction ("oracle") or the model given the states ("model").

    ``controls`` are scored beside the agent: random answers, a policy that knows all states, and the agent answering from the
    memory of another user ("scrambled") or from none ("empty").
    """

    upper: Literal["oracle", "model"] = "oracle"
    controls: list[Control] = ["random", "oracle"]
