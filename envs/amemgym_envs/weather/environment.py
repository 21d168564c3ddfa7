"""Weather: questions answered by calling tools."""

from collections.abc import Mapping, Sequence
from typing import Any

from amemgym_envs.core import EnvCard
from amemgym_envs.toolkit import ToolEnv, ToolTask, same
from amemgym_envs.weather.climate import GeneratedClimate, distance
from amemgym_envs.weather.open_meteo import OpenMeteo
from amemgym_envs.weather.questions import COUNTS, make_tasks
from amemgym_envs.weather.tools import TOOLS, Visit

CLOSE = 50.0  # km: AgentGym takes coordinates as those wanted within that
COORDINATES = {"latitude", "longitude"}


class WeatherEnv(ToolEnv):
    """``world``: a ``Climate``, or "open-meteo"; see ``ToolEnv`` for the rest."""

    card = EnvCard(
        id="Weather-v0",
        summary="Answer a question about the weather with tools for places, dates, temperature, rain, snow and air",
        tasks="generated from templates over a generated climate at 119 real cities",
        splits=dict(COUNTS),
        score=(0.0, 1.0),
        success="the answer given to finish is right",
        step_cap=10,
        grammar='name with Action Input: {"parameter": value}, ended by finish',
    )
    role = ("You answer a user's question about the weather. What you do not know you find out with tools, one call at a time, "
            "and give the answer at the end.")
    advice = ("Dates are written YYYY-MM-DD. If the question says today, tomorrow or days ago, ask for the user's date first; if "
              "it says where I am, for the location. Take coordinates from get_latitude_longitude, never from memory, and look "
              "at the country where several cities have one name. The weather here need not be the one that you remember.")
    tools = TOOLS
    worlds = {"open-meteo": OpenMeteo}

    @classmethod
    def make_tasks(cls) -> Mapping[str, Sequence[ToolTask]]:
        return make_tasks()

    def open(self, task: ToolTask) -> Visit:
        today, location = (str(task.init.get(key) or "") for key in ("current_date", "current_location"))
        return Visit(self.world or GeneratedClimate(), today, location, strict=self.world is None)

    def progress(self) -> float:
        """As in AgentGym, any progress is all of it."""
        return float(super().progress() > 0)

    def meets(self, result: Any, wanted: Any) -> bool:
        """As in AgentGym, coordinates close to those wanted are those wanted."""
        if _is_place(result) and _is_place(wanted):
            return distance(result["latitude"], result["longitude"], wanted["latitude"], wanted["longitude"]) <= CLOSE
        return same(result, wanted, tolerance=self.task.tolerance)


def _is_place(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() >= COORDINATES and all(
        isinstance(value[key], int | float) for key in COORDINATES)
