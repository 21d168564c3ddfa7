"""What a run will play, and how much of the disk that takes: estimates from one episode that needs no model."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amemgym_train.agents import build_agent
from amemgym_train.config.curriculum import longest
from amemgym_train.config.environments import alike, environment_of, users
from amemgym_train.config.recipe import Recipe
from amemgym_train.config.scenarios import ROLES
from amemgym_train.config.tasks import Goal
from amemgym_train.errors import UserError
from amemgym_train.evaluation.controls import GREEDY, environment
from amemgym_train.evaluation.goals import play_guided
from amemgym_train.policy.base import Request
from amemgym_train.policy.oracle import OraclePolicy
from amemgym_train.rollout.pool import Task
from amemgym_train.rollout.runner import play

if TYPE_CHECKING:
    from amemgym_envs.amemgym.scenario import Scenario

CHARACTERS = 4  # of a token, as in English text of most tokenizers
GUESS = 400  # characters of an observation and its reply, of an environment that cannot be played here
TOKEN_BYTES = 2  # of a token in an episode's parquet file, prompts included; measured: 0.5 to 1.7
WHOLE = 3  # copies of an adapter in a checkpoint: itself and AdamW's two moments, in float32
CHECKPOINTS = 3  # at a time: two that are kept, and the one being written


@dataclass(frozen=True)
class Size:
    """Of one episode: its model calls, and the tokens that they read and write."""

    calls: int
    read: int
    written: int


def mean_size(recipe: Recipe, role: str, scenarios: "Sequence[Scenario]") -> Size:
    """Of the episodes of ``scenarios``: in every environment as many tokens as its first user has."""
    first = {environment_of(recipe, one.id): one for one in reversed(alike(recipe, role))}
    sizes = {name: episode_size(recipe, role, one) for name, one in first.items()}
    counts = Counter(environment_of(recipe, one.id) for one in scenarios)

    def mean(figure: str) -> int:
        return sum(getattr(sizes[name], figure) * count for name, count in counts.items()) // len(scenarios)

    return Size(mean("calls"), mean("read"), mean("written"))


def episode_size(recipe: Recipe, role: str, scenario: "Scenario") -> Size:
    """That of a user's episode with an agent who notes and answers everything right, which real ones come close to; of a task's,
    with its expert, or else with random actions."""
    if recipe.tasks is not None:
        return goal_size(recipe, scenario)
    counted: list[tuple[int, int]] = []

    class Counting(OraclePolicy):
        def reply(self, request: Request) -> str:
            text = super().reply(request)
            counted.append((sum(len(message["content"]) for message in request.messages), len(text)))
            return text

    def agent(task: Task, episode: str, seed: int):
        return build_agent(recipe.agent, Counting(scenario), episode, seed, GREEDY)

    play(environment(recipe, role, [scenario], scripted=True), [Task(scenario.id, "", 0)], agent, recipe.seed, label=None)
    read, written = (sum(lengths) // CHARACTERS for lengths in zip(*counted, strict=True))
    return Size(len(counted), read, written)


def goal_size(recipe: Recipe, goal: Goal) -> Size:
    """A prompt repeats what was said before it: of step t the first message, and t observations and replies."""
    if recipe.tasks.server is not None:  # nobody knows what it will say
        steps = recipe.tasks.longest()
        return Size(steps, steps * (steps + 1) // 2 * GUESS // CHARACTERS, steps * recipe.agent.max_new_tokens.act)
    try:
        [played] = play_guided(recipe, "oracle", [goal])
    except UserError:  # the environment knows no solution
        [played] = play_guided(recipe, "random", [goal])
    told = [len(turn.meta["observation"]) + len(turn.meta.get("instruction", "")) for turn in played.turns]
    said = [len(turn.text) for turn in played.turns]
    steps = len(told)
    read = sum((steps - at) * length for at, length in enumerate(told)) + sum((steps - 1 - at) * n for at, n in enumerate(said))
    return Size(steps, read // CHARACTERS, sum(said) // CHARACTERS)


@dataclass(frozen=True)
class Stage:
    """What a stage plays, at most: ``episodes``, the ``tokens`` that are read and written in them; ``bytes`` on disk, of which
    ``scratch`` are gone when it has finished. ``times``: how often the run comes to it."""

    name: str
    times: int
    episodes: int
    read: int
    written: int
    bytes: int
    scratch: int


def forecast(recipe: Recipe, adapter_bytes: int) -> list[Stage]:
    """The stages of a run in the order in which it first comes to them. ``adapter_bytes``: of a saved adapter, 0 if not known."""
    recipe, iterations = longest(recipe), recipe.evolution.iterations
    everybody = {role: users(recipe, role) for role in ROLES}
    sizes = {role: mean_size(recipe, role, scenarios) for role, scenarios in everybody.items()}

    def playing(name: str, times: int, role: str, group: int = 1, saved: bool = True) -> Stage:
        episodes, size = len(everybody[role]) * group, sizes[role]
        read, written = episodes * size.read, episodes * size.written
        room = (read + written) * TOKEN_BYTES if saved else 0
        return Stage(name, times, episodes, read, written, room, room)

    group, training, reflection = recipe.rollout.group_size, recipe.training, recipe.reflection
    found = [playing("test before", 1, "test"), playing("evaluate", iterations + 1, "validation")]
    if reflection.prompts.cadence == "iteration":
        found.append(_tries(recipe, iterations, sizes))
    if training.selects:
        found.append(playing("rollout", iterations, "train", group))
        if reflection.retry.episodes:
            found.append(playing("retry", iterations, "train", min(reflection.retry.episodes, group)))
    if training.method != "none":
        steps = training.on_policy.steps if training.on_policy else 0
        played = playing("train", iterations, "train", group * steps, saved=False)
        scratch = adapter_bytes * WHOLE * CHECKPOINTS
        found.append(Stage("train", iterations, played.episodes, played.read, played.written, adapter_bytes, scratch))
    return [*found, playing("test after", 1, "test")]


def _tries(recipe: Recipe, iterations: int, sizes: dict[str, Size]) -> Stage:
    """The stage reflect, if every proposal is tried on training and validation users."""
    prompts = recipe.reflection.prompts
    tried = 1 + prompts.proposals + prompts.keep
    validation = len(users(recipe, "validation"))
    train = min(prompts.users, len(users(recipe, "train")))
    read = tried * (train * sizes["train"].read + validation * sizes["validation"].read)
    written = tried * (train * sizes["train"].written + validation * sizes["validation"].written)
    return Stage("reflect", iterations, tried * (train + validation), read, written, 0, (read + written) * TOKEN_BYTES)


def disk_bytes(stages: Sequence[Stage], keep_last: int | None) -> int:
    """The most that a run takes: what stays of its iterations, and the scratch of the stage that needs most."""
    staying = [stage for stage in stages if stage.times > 1 or not stage.name.startswith("test")]
    tests = sum(stage.bytes for stage in stages if stage not in staying)
    times = {stage.name: stage.times if keep_last is None else min(stage.times, keep_last + 2) for stage in staying}
    return tests + sum(stage.bytes * times[stage.name] for stage in staying) + max(stage.scratch for stage in stages)
