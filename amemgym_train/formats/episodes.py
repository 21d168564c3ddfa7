"""Episodes of task environments as trajectories: what the agent was told and what it replied, call by call."""

from collections.abc import Iterator
from pathlib import Path

from amemgym_train.errors import UserError
from amemgym_train.formats.items import item_of
from amemgym_train.formats.records import Message, Trajectory
from amemgym_train.rollout.records import Episode, Turn
from amemgym_train.rollout.store import load_episodes

ACKNOWLEDGED = "Understood. I will follow these instructions."


def read_episodes(path: str | Path) -> Iterator[tuple[str, Episode]]:
    """(``<file>, entry <n>``, episode) of one parquet file, or of all in a folder, by name. UserError: there is none."""
    path = Path(path)
    files = [path]
    if path.is_dir():
        files = sorted(path.rglob("*.parquet"))
        files = [file for file in files if not any(part[0] == "." for part in file.relative_to(path).parts)]  # unfinished ones
    if not files:
        raise UserError(f"there is no file of episodes (*.parquet) in {path}; play some first, or name another folder")
    for file in files:
        for number, episode in enumerate(load_episodes(file), 1):
            yield f"{file}, entry {number}", episode


def from_episode(episode: Episode, acknowledged: bool = True, where: str = "episode") -> Trajectory:
    """``acknowledged``: the instruction is a message of its own that the agent says yes to, as AgentGym has it; otherwise
    it heads the first observation. Every reply is to be learned. ``where`` names the episode in errors.

    UserError: the episode does not have what the agent was told.
    """
    turns = [turn for turn in episode.turns if turn.operation == "act"]
    where = f"{where} ({episode.id})"
    if not turns:
        raise UserError(f"{where}: no turn of it acts, so it is no episode of a task environment; only those are exported")
    instruction = _told(turns[0], "instruction", where)
    observations = [_told(turn, "observation", where) for turn in turns]
    if acknowledged:
        messages = [Message("user", instruction), Message("assistant", ACKNOWLEDGED, loss=False)]
    else:
        messages, observations[0] = [], f"{instruction}\n\n{observations[0]}"
    for observation, turn in zip(observations, turns, strict=True):
        messages += [Message("user", observation), Message("assistant", turn.text, loss=True)]
    steps = [{"reward": reward} for reward in episode.rewards] or None
    told = {"task": episode.task, "seed": episode.seed}
    return Trajectory(item_of(episode.environment, episode.task), messages, episode.score, episode.success, steps, told)


def _told(turn: Turn, key: str, where: str) -> str:
    value = turn.meta.get(key)
    if not isinstance(value, str):
        raise UserError(f"{where}, turn {turn.slot}: its meta has no {key}; only episodes of the react agent are exported")
    return value
