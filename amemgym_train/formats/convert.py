"""``amemgym-train convert``: episodes, trajectories and lists of tasks from one format into another."""

import sys
from pathlib import Path

from amemgym_train.errors import UserError
from amemgym_train.formats.agenteval import read_item_ids, write_item_ids
from amemgym_train.formats.agenttraj import read_trajectories, write_trajectories
from amemgym_train.formats.entries import read_entries
from amemgym_train.formats.episodes import from_episode, read_episodes
from amemgym_train.formats.records import Trajectory
from amemgym_train.formats.trl import Form, rows, write_rows

ENDS = {"agenttraj": (".json", ".jsonl"), "agenteval": (".json", ".jsonl"), "trl": (".jsonl", ".parquet")}


def convert(
    source: str, target: str, to: str, source_format: str | None = None, form: Form = "messages", overwrite: bool = False
) -> None:
    """UserError: the source is none of the formats or cannot become the target, or the target is there and not to be replaced."""
    _check(source, target, to, overwrite)
    kind = source_format or detect(source)
    if to == "agenteval" and kind == "agenteval":
        ids = read_item_ids(source)
    elif kind == "agenteval":
        raise UserError(f"{source} is a list of tasks without conversations: it can become agenteval, not {to}")
    else:
        trajectories = _trajectories(source, kind, acknowledged=to != "trl")
        ids = [trajectory.item_id for trajectory in trajectories]
    if to == "agenteval":
        try:
            write_item_ids(target, ids)
        except UserError as error:
            raise UserError(f"{source}: {error}") from error
        count = f"{len(set(ids))} tasks"
    elif to == "agenttraj":
        write_trajectories(target, trajectories)
        count = f"{len(trajectories)} trajectories"
    else:
        count = _to_trl(source, target, trajectories, form)
    print(f"{count} from {source} ({kind}) are in {target} ({to})")


def detect(source: str) -> str:
    """episodes (a folder, or parquet), agenttraj or agenteval, by the first entry."""
    if Path(source).is_dir() or Path(source).suffix == ".parquet":
        return "episodes"
    _, entry = next(read_entries(source))
    return "agenttraj" if entry.get("conversations") is not None else "agenteval"


def _check(source: str, target: str, to: str, overwrite: bool) -> None:
    path = Path(target)
    if path.suffix not in ENDS[to]:
        raise UserError(f"{target}: a file of {to} ends in {' or '.join(ENDS[to])}; name such a file")
    if path.is_dir():
        raise UserError(f"{target} is a folder; name a file in it")
    if path.exists() and Path(source).exists() and path.samefile(source):
        raise UserError(f"{target} is the source itself; name another file")
    if path.exists() and not overwrite:
        raise UserError(f"{target} is there already; name another file, or replace it with --overwrite")


def _trajectories(source: str, kind: str, acknowledged: bool) -> list[Trajectory]:
    if kind == "agenttraj":
        return read_trajectories(source)
    episodes = list(read_episodes(source))
    scorable = [(where, episode) for where, episode in episodes if episode.error is None]
    if not scorable:
        raise UserError(f"{source}: none of {len(episodes)} episodes was played to its end (infrastructure failed); play again")
    if left_out := len(episodes) - len(scorable):
        print(f"{left_out} of {len(episodes)} episodes were ended by infrastructure and are left out", file=sys.stderr)
    return [from_episode(episode, acknowledged, where) for where, episode in scorable]


def _to_trl(source: str, target: str, trajectories: list[Trajectory], form: Form) -> str:
    made = [row for trajectory in trajectories for row in rows(trajectory, form)]
    if not made:
        raise UserError(f"{source}: no message has loss true, so that there is nothing to learn; --form messages takes them all")
    untrained = sum(message.role == "assistant" and not message.loss for one in trajectories for message in one.messages)
    if form == "messages" and untrained:
        print(
            f"{untrained} messages of the assistant are not to be learned, which this form cannot say; --form completions leaves "
            "them out of the loss",
            file=sys.stderr,
        )
    write_rows(target, made)
    return f"{len(made)} rows"
