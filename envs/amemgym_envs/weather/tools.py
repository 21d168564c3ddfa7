"""The tools of the weather environment, with AgentGym's names and parameters."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np

from amemgym_envs.toolkit import Parameter, Tool, ToolError, catalogue
from amemgym_envs.weather.climate import FIRST, LAST, Climate, distance, places

SPAN = 30  # days that one call may ask for
LEVELS = ((20, "good"), (40, "fair"), (60, "moderate"), (80, "poor"), (100, "very poor"))  # European Environment Agency's bounds
WORST = "extremely poor"
TEMPERATURES = ("temperature_2m_max", "temperature_2m_min", "temperature_2m_mean")


@dataclass(frozen=True)
class Visit:
    """What the tools work on: the weather, and when and where the user is (empty: nobody knows). ``strict``: the past is to be
    asked from history and the future from the forecast."""

    climate: Climate
    today: str = ""
    location: str = ""
    strict: bool = True


def current_date(visit: Visit) -> str:
    return visit.today or _unknown("date")


def current_location(visit: Visit) -> str:
    return visit.location or _unknown("location")


def coordinates(visit: Visit, name: str) -> dict[str, Any]:
    found = visit.climate.find(name)
    if not found:
        raise ToolError(f"no place has the name {name[:60]!r}; give the name of a city alone, such as Vienna")
    return {"results": [{"name": place.name, "country": place.country, "latitude": place.latitude, "longitude": place.longitude}
                        for place in found]}


def elevation(visit: Visit, latitude: float, longitude: float) -> dict[str, float]:
    _check_place(latitude, longitude)
    return {"elevation": visit.climate.elevation(latitude, longitude)}


def distance_between(visit: Visit, latitude1: float, longitude1: float, latitude2: float, longitude2: float) -> float:
    _check_place(latitude1, longitude1)
    _check_place(latitude2, longitude2)
    return round(distance(latitude1, longitude1, latitude2, longitude2), 1)


def level(visit: Visit, air_quality_index: float) -> str:
    if air_quality_index < 0:
        raise ToolError(f"air_quality_index is {air_quality_index}, expected at least 0")
    return next((name for bound, name in LEVELS if air_quality_index <= bound), WORST)


def temperatures(climate: Climate, *where_and_when: Any) -> dict[str, list[float]]:
    days = climate.temperatures(*where_and_when)
    return {name: [day[at] for day in days] for at, name in enumerate(TEMPERATURES)}


def rain(climate: Climate, *where_and_when: Any) -> dict[str, list[float]]:
    return {"rain_sum": climate.rain(*where_and_when)}


def snow(climate: Climate, *where_and_when: Any) -> dict[str, list[float]]:
    return {"snowfall_sum": climate.snow(*where_and_when)}


def air(climate: Climate, *where_and_when: Any) -> dict[str, list[int]]:
    return {"air_quality_index": climate.air(*where_and_when)}


def history(series: Callable[..., dict[str, list[Any]]]) -> Callable[..., dict[str, Any]]:
    def call(visit: Visit, latitude: float, longitude: float, start_date: str, end_date: str) -> dict[str, Any]:
        if visit.strict and end_date > (visit.today or end_date):
            raise ToolError(f"history ends today, {visit.today}; later days are forecast")
        return _daily(visit, series, latitude, longitude, start_date, end_date)
    return call


def forecast(series: Callable[..., dict[str, list[Any]]]) -> Callable[..., dict[str, Any]]:
    def call(visit: Visit, latitude: float, longitude: float, start_date: str, end_date: str) -> dict[str, Any]:
        if visit.strict and start_date < (visit.today or start_date):
            raise ToolError(f"forecasts begin today, {visit.today}; earlier days are history")
        return _daily(visit, series, latitude, longitude, start_date, end_date)
    return call


def current(series: Callable[..., dict[str, list[Any]]]) -> Callable[..., dict[str, Any]]:
    def call(visit: Visit, latitude: float, longitude: float, current_date: str) -> dict[str, Any]:
        if visit.strict and current_date != (visit.today or current_date):
            raise ToolError("current_date is not the user's current date; ask for that first")
        return _daily(visit, series, latitude, longitude, current_date, current_date)
    return call


def _daily(visit: Visit, series: Callable[..., dict[str, list[Any]]], latitude: float, longitude: float, start: str,
           end: str) -> dict[str, Any]:
    _check_place(latitude, longitude)
    first, last = date.fromisoformat(start), date.fromisoformat(end)
    if first > last:
        raise ToolError(f"the first day, {start}, is after the last, {end}")
    if (last - first).days >= SPAN:
        raise ToolError(f"{start} to {end} are more than {SPAN} days; ask for them in parts")
    if first < FIRST or last > LAST:
        raise ToolError(f"there is weather from {FIRST} to {LAST} only")
    days = [(first + timedelta(days=day)).isoformat() for day in range((last - first).days + 1)]
    return {"latitude": latitude, "longitude": longitude,
            "daily": {"time": days, **series(visit.climate, latitude, longitude, first, last)}}


def _check_place(latitude: float, longitude: float) -> None:
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
        raise ToolError(f"({latitude}, {longitude}) is nowhere; latitudes are -90 to 90, longitudes -180 to 180")


def _unknown(what: str) -> str:
    raise ToolError(f"the user's {what} is not known; the goal does not need it")


def _number(name: str, description: str, low: float, high: float) -> Parameter:
    return Parameter(name, "number", description, draw=lambda rng: round(float(rng.uniform(low, high)), 2))


def _name(rng: np.random.Generator) -> str:
    return places()[int(rng.integers(len(places())))].name


def _place(suffix: str = "") -> tuple[Parameter, Parameter]:
    return _number(f"latitude{suffix}", "degrees north", -90, 90), _number(f"longitude{suffix}", "degrees east", -180, 180)


PERIOD = (Parameter("start_date", "date", "the first day"),
          Parameter("end_date", "date", f"the last day, at most {SPAN} days in all"))
TODAY = (Parameter("current_date", "date", "today's date"),)
KINDS = {
    "temp": ("highest, lowest and mean temperature (°C)", temperatures),
    "rain": ("rain (mm)", rain),
    "snow": ("fresh snow (cm)", snow),
    "air_quality_index": ("European air quality index (worst of the day)", air),
}


def _series(name: str, kind: str, when: str, method: Any, period: tuple[Parameter, ...]) -> Tool:
    what, series = KINDS[kind]
    returns = "object with daily: time (the days) and the values"
    return Tool(name, f"The {what} at a place, {when}.", (*_place(), *period), returns, method(series))


TOOLS = catalogue(
    Tool("get_user_current_date", "The date of today for the user.", (), "date, YYYY-MM-DD", current_date),
    Tool("get_user_current_location", "The city where the user is.", (), "name of the city", current_location),
    *(_series(f"get_historical_{kind}", kind, "for past days up to today", history, PERIOD) for kind in ("temp", "rain", "snow")),
    *(_series(f"get_{kind}_forecast", kind, "for today and days to come", forecast, PERIOD) for kind in ("temp", "rain", "snow")),
    *(_series(f"get_current_{kind}", kind, "today", current, TODAY) for kind in ("temp", "rain", "snow")),
    Tool("get_latitude_longitude", "Finds a city by its name. Several cities may have one name.",
         (Parameter("name", "string", "the name of the city", draw=_name),),
         "object with results: name, country, coordinates of each", coordinates),
    Tool("get_elevation", "The height of a place above sea level.", _place(), "object with elevation in metres", elevation),
    Tool("get_distance", "The distance between two places.", (*_place("1"), *_place("2")), "kilometres", distance_between),
    _series("get_historical_air_quality_index", "air_quality_index", "for past days up to today", history, PERIOD),
    _series("get_current_air_quality_index", "air_quality_index", "today", current, TODAY),
    Tool("get_air_quality_level", "Puts an air quality index into words.", (_number("air_quality_index", "the index", 0, 120),),
         f"one of {', '.join(name for _, name in LEVELS)}, {WORST}", level),
)
