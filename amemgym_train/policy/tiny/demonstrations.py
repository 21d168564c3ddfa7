"""What the quickstart model learns from before it is ever evaluated: a recall drill, and the oracle's own calls."""

import json
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from amemgym_train.agents import build_agent
from amemgym_train.agents.templates import load_prompts
from amemgym_train.config.agent import AgentConfig
from amemgym_train.config.scenarios import ScenarioConfig
from amemgym_train.policy.oracle import OraclePolicy
from amemgym_train.rollout.pool import Task
from amemgym_train.rollout.runner import play

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class Example(NamedTuple):
    """The token ids of a prompt and of the reply to learn, the end token included."""

    operation: str
    prompt: list[int]
    reply: list[int]

    @property
    def length(self) -> int:
        return len(self.prompt) + len(self.reply)


def demonstrations(agent: AgentConfig, users: ScenarioConfig, tokenizer: "PreTrainedTokenizerBase") -> list[Example]:
    """The oracle's calls for every user of ``users``, made by the real agent in the real environment; answers are quoted."""
    from amemgym_envs.amemgym.environment import AMemGymEnv

    scenarios = {scenario.id: scenario for scenario in users.build()}

    def oracle_agent(task: Task, episode: str, seed: int):
        return build_agent(agent, OraclePolicy(scenarios[task.id], tokenizer, quotes=True), episode, seed)

    tasks = [Task(name, name, 0) for name in scenarios]
    episodes = play(lambda task: AMemGymEnv([scenarios[task.id]]), tasks, oracle_agent, label=None)
    turns = [turn for episode in episodes for turn in episode.turns]
    return [Example(turn.operation, list(turn.prompt_ids), list(turn.completion_ids)) for turn in turns]


def recall_drill(
    agent: AgentConfig, users: ScenarioConfig, tokenizer: "PreTrainedTokenizerBase", count: int, seed: int
) -> list[Example]:
    """``count`` reads of random notes that ask for every one of them, in another order: many look-ups in each example.

    They go from a single note to ``users.num_variables`` of them. Which value belongs to which topic is soon learned where
    there is but one to look at; with all of them from the start, training sits on a plateau for minutes.
    """
    prompt, rng = load_prompts(agent.prompts)["read"], Random(seed)
    variables = users.generator().variables()
    conversations, replies = [], []
    for i in range(count):
        size = min(users.num_variables, 1 + users.num_variables * 5 * i // (count * 4))  # the last fifth has full size
        notes = {variable.name: rng.choice(variable.values) for variable in rng.sample(variables, size)}
        asked = rng.sample(list(notes), size)
        listed = "\n".join(f"{name}: {value}" for name, value in notes.items())
        conversations.append(prompt.messages(notes=listed, conversation="", keys=" and ".join(asked)))
        replies.append(json.dumps({name: notes[name] for name in asked}))
    prompts = tokenizer.apply_chat_template(conversations, add_generation_prompt=True, return_dict=False)
    bodies = tokenizer(replies, add_special_tokens=False)["input_ids"]
    return [Example("drill", ids, body + [tokenizer.eos_token_id]) for ids, body in zip(prompts, bodies, strict=True)]
