"""Prompts that an agent rewrites within an episode, after each period (the cadence ``period`` of AMemGym's public code).

The reflector is told what this period showed. The rewritten prompts are part of the agent's state and are forgotten with the
episode. A prompt that tells what the user's states are would be a memory by another name: the leak guard refuses it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from amemgym_train.config.recipe import Recipe
from amemgym_train.config.reflection import WRITERS
from amemgym_train.diagnosis.operations import diagnose
from amemgym_train.policy.base import Policy
from amemgym_train.reflection.cases import cases_of
from amemgym_train.reflection.edits import Refused, edited
from amemgym_train.reflection.feedback import summarise
from amemgym_train.reflection.reflectors import Ask, reflector_of
from amemgym_train.reflection.room import bounds_of
from amemgym_train.rollout.records import Episode

if TYPE_CHECKING:
    from amemgym_envs.amemgym.scenario import Scenario
    from amemgym_train.agents.base import MemoryAgent


@dataclass(frozen=True)
class PeriodReflection:
    """Rewrites the prompts of the agent that plays ``scenario``, each of the recipe's targets after every period but the last.

    What became of each goes to the agent's ``rewrites``: {period, target, verdict (rewritten | refused_<why>), message, changes}.
    """

    recipe: Recipe
    policy: Policy
    scenario: "Scenario"

    async def __call__(self, agent: "MemoryAgent", episode: Episode, period: int) -> None:
        if period + 1 >= len(self.scenario.periods):
            return
        config = self.recipe.reflection
        diagnosis = diagnose(episode) if episode.probes else None
        cases = cases_of(episode, self.scenario, diagnosis, range(period, period + 1))
        feedback = summarise(cases, config.feedback, config.prompts.max_chars)
        bounds, guided = bounds_of(config.prompts, [self.scenario], self.policy), self.recipe.agent.start == "guided_info_type"
        reflector = reflector_of(config.reflector, self.policy, self.recipe.policy.dtype, agent.seed, episode.id)
        for target in config.prompts.targets:
            name = WRITERS[self.recipe.agent.name] if target in ("write", "types") else target
            prompt, verdict = agent.prompts[name], {"period": period, "target": target}
            reply = await reflector.reply(Ask(target, name, prompt, feedback, period, guided))
            try:
                edit = edited(target, name, prompt, reply, bounds)
            except Refused as refusal:
                agent.rewrites.append(verdict | {"verdict": f"refused_{refusal.kind}", "message": str(refusal), "changes": []})
                continue
            agent.prompts = agent.prompts | {name: edit.prompt}
            message = f"it gives away {', '.join(edit.leaks)}" if edit.leaks else ""
            agent.rewrites.append(verdict | {"verdict": "rewritten", "message": message, "changes": list(edit.changes)})
