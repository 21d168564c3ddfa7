"""Files of trajectories: AgentGym's AgentTraj-L and AgentEval, and TRL's conversational datasets. Imports no torch."""

from amemgym_train.formats.agenteval import read_item_ids, write_item_ids
from amemgym_train.formats.agenttraj import read_trajectories, write_trajectories
from amemgym_train.formats.episodes import from_episode
from amemgym_train.formats.items import ItemId, item_of, parse_item
from amemgym_train.formats.records import Message, Trajectory
from amemgym_train.formats.trl import rows, write_rows

__all__ = [
    "ItemId",
    "Message",
    "Trajectory",
    "from_episode",
    "item_of",
    "parse_item",
    "read_item_ids",
    "read_trajectories",
    "rows",
    "write_item_ids",
    "write_rows",
    "write_trajectories",
]
