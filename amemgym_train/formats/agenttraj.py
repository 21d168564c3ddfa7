"""AgentTraj-L (https://huggingface.co/datasets/AgentGym/AgentTraj-L), and the outcome files of AgentGym's evaluator.

    [{"conversations": [{"from": "human", "loss": null, "value": ...}, {"from": "gpt", ...}, ...], "item_id": "webshop_12"}, ...]

The evaluator writes the same objects with reward and success, one a line. Both are read; messages with role and content, as its
API agents leave them, too. ``steps`` is ours: one object for every action. Readers of the original format do not look at it.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from amemgym_train.errors import UserError
from amemgym_train.formats.entries import read_entries, taken, text_of, write_entries
from amemgym_train.formats.records import Message, Trajectory

SPEAKERS = {"human": "user", "gpt": "assistant", "system": "system"}
NAMES = {role: name for name, role in SPEAKERS.items()}
KNOWN = ("conversations", "item_id", "reward", "success", "steps")


def read_trajectories(path: str | Path) -> list[Trajectory]:
    """The trajectories of a JSON list or of JSON lines. UserError names file and entry."""
    return [_trajectory(where, entry) for where, entry in read_entries(path)]


def write_trajectories(path: str | Path, trajectories: Iterable[Trajectory], indent: int | None = None) -> None:
    """A JSON list, or JSON lines where ``path`` ends in .jsonl. What was read and is written again has every key and value."""
    write_entries(path, [_entry(trajectory) for trajectory in trajectories], indent)


def _trajectory(where: str, entry: dict[str, Any]) -> Trajectory:
    item_id = text_of(where, entry, "item_id")
    if "conversations" in entry and entry["conversations"] is None:
        raise UserError(f"{where} ({item_id}): conversations is null; a list of tasks (AgentEval) holds no trajectories")
    said = taken(where, entry, "conversations", list, "a list of messages")
    reward, success, steps = entry.get("reward"), entry.get("success"), entry.get("steps")
    if reward is not None:
        reward = taken(where, entry, "reward", (int, float), "a number")
    if success is not None and success not in (0, 1):
        raise UserError(f"{where} ({item_id}): success is {success!r:.60}, expected true or false")
    if steps is not None and not (isinstance(steps, list) and all(isinstance(step, dict) for step in steps)):
        raise UserError(f"{where} ({item_id}): steps is {steps!r:.60}, expected a list of objects")
    return Trajectory(
        item_id=item_id,
        messages=[_message(f"{where} ({item_id}), message {place}", message) for place, message in enumerate(said, 1)],
        reward=reward,
        success=None if success is None else bool(success),
        steps=steps,
        extra={key: value for key, value in entry.items() if key not in KNOWN},
    )


def _message(where: str, message: Any) -> Message:
    if not isinstance(message, dict):
        raise UserError(f"{where}: {message!r:.60}, expected an object with from, loss and value")
    speaker, text = ("role", "content") if "from" not in message and "role" in message else ("from", "value")
    name = text_of(where, message, speaker)
    role = SPEAKERS.get(name) if speaker == "from" else name
    if role not in NAMES:
        raise UserError(f"{where}: {speaker} is {name!r}, expected one of {', '.join(SPEAKERS if speaker == 'from' else NAMES)}")
    loss = message.get("loss")
    if loss is not None and not isinstance(loss, bool):
        raise UserError(f"{where}: loss is {loss!r:.60}, expected true, false or null")
    return Message(
        role=role,
        content=text_of(where, message, text),
        loss=loss,
        extra={key: value for key, value in message.items() if key not in (speaker, text, "loss")},
    )


def _entry(trajectory: Trajectory) -> dict[str, Any]:
    said = [
        {"from": NAMES[message.role], "loss": message.loss, "value": message.content, **message.extra}
        for message in trajectory.messages
    ]
    told = {key: getattr(trajectory, key) for key in ("reward", "success", "steps")}
    told = {key: value for key, value in told.items() if value is not None}
    return {"conversations": said, "item_id": trajectory.item_id, **told, **trajectory.extra}
