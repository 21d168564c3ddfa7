"""The built-in questions: each kind says how it is asked, and finds its answer with the tools."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any, NamedTuple

import numpy as np

from amemgym_envs.toolkit import Call, Recorder, ToolTask
from amemgym_envs.weather.climate import GeneratedClimate, Place, places
from amemgym_envs.weather.tools import TOOLS, Visit

SEED = 20_241
COUNTS = {"train": 240, "validation": 60, "test": 60}


class Question(NamedTuple):
    goal: str
    answer: Any
    tolerance: float = 0.01


class Dull(Exception):
    """The answer is one that could be guessed, or there is more than one; draw again."""


class Asker:
    """Draws places and days, and asks the tools as a good agent would."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.today = date(2022, 1, 1) + timedelta(days=int(rng.integers(900)))
        self.home = self.draw_places(1)[0]
        self.recorder = Recorder(TOOLS, Visit(GeneratedClimate(), self.today.isoformat(), named(self.home)))
        self.use = self.recorder.use

    def draw_places(self, count: int) -> list[Place]:
        return [places()[int(number)] for number in self.rng.choice(len(places()), size=count, replace=False)]

    def draw_days(self, longest: int = 14) -> tuple[date, date]:
        """A period of 5 to ``longest`` days that ended at least a day ago."""
        length = int(self.rng.integers(5, longest + 1))
        last = self.today - timedelta(days=int(self.rng.integers(1, 700)))
        return last - timedelta(days=length - 1), last

    def cold_days(self, place: Place) -> tuple[date, date]:
        """As ``draw_days``, with snow on two days at least."""
        for _ in range(30):
            first, last = self.draw_days()
            if sum(fall > 0 for fall in GeneratedClimate().snow(place.latitude, place.longitude, first, last)) >= 2:
                return first, last
        raise Dull

    def where(self, place: Place) -> dict[str, float]:
        results = self.use("get_latitude_longitude", name=place.name)["results"]
        match = next(result for result in results if result["country"] == place.country)
        return {"latitude": match["latitude"], "longitude": match["longitude"]}

    def here(self) -> dict[str, float]:
        self.use("get_user_current_location")
        return self.where(self.home)

    def now(self) -> str:
        return self.use("get_user_current_date")

    def series(self, tool: str, where: dict[str, float], first: date, last: date) -> dict[str, list[Any]]:
        return self.use(tool, **where, start_date=first.isoformat(), end_date=last.isoformat())["daily"]


def named(place: Place) -> str:
    """``place`` as people call it: with its country where the name is not enough."""
    alike = sum(place.name == other.name for other in places())
    return f"{place.name}, {place.country}" if alike > 1 else place.name


def only(values: list[Any], pick: Callable[[list[Any]], Any]) -> int:
    """Where ``pick(values)`` is among ``values``; Dull: at several places."""
    if values.count(pick(values)) > 1:
        raise Dull
    return values.index(pick(values))


def telling(value: Any) -> Any:
    """``value``, unless it is what one would answer without looking."""
    if value in (0, 0.0, [], ""):
        raise Dull
    return value


def elevation(ask: Asker) -> Question:
    place = ask.draw_places(1)[0]
    return Question(f"How many metres above sea level is {named(place)}? Answer with a number.",
                    ask.use("get_elevation", **ask.where(place))["elevation"])


def climb(ask: Asker) -> Question:
    there = ask.draw_places(1)[0]
    heights = [ask.use("get_elevation", **where)["elevation"] for where in (ask.here(), ask.where(there))]
    return Question(f"By how many metres does {named(there)} lie higher than the place where I am? Answer with a number, "
                    "negative if it lies lower.", telling(heights[1] - heights[0]))


def distance(ask: Asker) -> Question:
    one, other = ask.draw_places(2)
    return Question(f"How far is it from {named(one)} to {named(other)}, in kilometres? Answer with a number, to one decimal.",
                    _apart(ask, ask.where(one), ask.where(other)), 0.1)


def nearest(ask: Asker) -> Question:
    others = ask.draw_places(3)
    if ask.home in others:
        raise Dull
    here = ask.here()
    far = [_apart(ask, here, ask.where(other)) for other in others]
    at = only(far, min)
    return Question(f"Which of {_listed(others)} is nearest to where I am, and how many kilometres away? Answer with a list: the "
                    "name of the city alone, and the distance to one decimal.", [others[at].name, far[at]], 0.1)


def past_temperature(ask: Asker) -> Question:
    place, (day, _) = ask.draw_places(1)[0], ask.draw_days()
    word, key = (("highest", "max"), ("lowest", "min"), ("mean", "mean"))[int(ask.rng.integers(3))]
    daily = ask.series("get_historical_temp", ask.where(place), day, day)
    return Question(f"What was the {word} temperature in {named(place)} on {day}? Answer with a number, in °C.",
                    telling(daily[f"temperature_2m_{key}"][0]))


def hottest_day(ask: Asker) -> Question:
    place, (first, last) = ask.draw_places(1)[0], ask.draw_days()
    daily = ask.series("get_historical_temp", ask.where(place), first, last)
    word, key, pick = (("hottest", "max", max), ("coldest", "min", min))[int(ask.rng.integers(2))]
    values = daily[f"temperature_2m_{key}"]
    return Question(f"From {first} to {last}, which day had the {'highest' if pick is max else 'lowest'} temperature in "
                    f"{named(place)}? Answer with the date of that {word} day, as YYYY-MM-DD.", daily["time"][only(values, pick)])


def warmest_city(ask: Asker) -> Question:
    cities, (day, _) = ask.draw_places(3), ask.draw_days()
    highest = [ask.series("get_historical_temp", ask.where(city), day, day)["temperature_2m_max"][0] for city in cities]
    at = only(highest, max)
    return Question(f"Which of {_listed(cities)} had the highest temperature on {day}? Answer with a list: the name of the city "
                    "alone, and that temperature in °C.", [cities[at].name, highest[at]])


def yesterday_and_today(ask: Asker) -> Question:
    where, today = ask.here(), ask.now()
    before = int(ask.rng.integers(1, 8))
    day = ask.today - timedelta(days=before)
    then = ask.series("get_historical_temp", where, day, day)["temperature_2m_mean"][0]
    now = ask.use("get_current_temp", **where, current_date=today)["daily"]["temperature_2m_mean"][0]
    ago = "yesterday" if before == 1 else f"{before} days ago"
    return Question(f"How much warmer is it where I am today than it was {ago}, by mean temperature? Answer with a number, in "
                    "°C, to one decimal, negative if it is colder.", telling(round(now - then, 1)), 0.05)


def coming_temperature(ask: Asker) -> Question:
    ahead, where, _ = int(ask.rng.integers(1, 8)), ask.here(), ask.now()
    day = ask.today + timedelta(days=ahead)
    word, key = (("highest", "max"), ("lowest", "min"))[int(ask.rng.integers(2))]
    daily = ask.series("get_temp_forecast", where, day, day)
    return Question(f"What will the {word} temperature be where I am {_in(ahead)}? Answer with a number, in °C.",
                    telling(daily[f"temperature_2m_{key}"][0]))


def rain_in_all(ask: Asker) -> Question:
    place, (first, last) = ask.draw_places(1)[0], ask.draw_days(7)
    daily = ask.series("get_historical_rain", ask.where(place), first, last)
    return Question(f"How many millimetres of rain fell in {named(place)} from {first} to {last} in all? Answer with a number.",
                    telling(round(sum(daily["rain_sum"]), 1)), 0.05)


def rainy_days(ask: Asker) -> Question:
    place, limit, _ = ask.draw_places(1)[0], int(ask.rng.integers(0, 6)), ask.now()
    days = int(ask.rng.integers(5, 11))
    daily = ask.series("get_rain_forecast", ask.where(place), ask.today + timedelta(days=1), ask.today + timedelta(days=days))
    wet = [day for day, fall in zip(daily["time"], daily["rain_sum"], strict=True) if fall > limit]
    if len(wet) == days:
        raise Dull
    return Question(f"On which of the next {days} days, from tomorrow on, will there be more than {limit} mm of rain in "
                    f"{named(place)}? Answer with the list of their dates, as YYYY-MM-DD.", telling(wet))


def wettest_city(ask: Asker) -> Question:
    cities, (first, last) = ask.draw_places(3), ask.draw_days(7)
    falls = [round(sum(ask.series("get_historical_rain", ask.where(city), first, last)["rain_sum"]), 1) for city in cities]
    at = only(falls, max)
    return Question(f"Which of {_listed(cities)} got the most rain from {first} to {last} in all? Answer with a list: the name "
                    "of the city alone, and the rain in mm, to one decimal.", [cities[at].name, telling(falls[at])], 0.05)


def snow_days(ask: Asker) -> Question:
    place = ask.draw_places(1)[0]
    first, last = ask.cold_days(place)
    daily = ask.series("get_historical_snow", ask.where(place), first, last)
    days = [day for day, fall in zip(daily["time"], daily["snowfall_sum"], strict=True) if fall > 0]
    return Question(f"On which days from {first} to {last} did snow fall in {named(place)}? Answer with the list of their dates, "
                    "as YYYY-MM-DD.", days)


def most_snow(ask: Asker) -> Question:
    place = ask.draw_places(1)[0]
    first, last = ask.cold_days(place)
    daily = ask.series("get_historical_snow", ask.where(place), first, last)
    at = only(daily["snowfall_sum"], max)
    return Question(f"On which day from {first} to {last} did most snow fall in {named(place)}, and how much? Answer with a "
                    "list: the date, as YYYY-MM-DD, and the snow in cm.", [daily["time"][at], daily["snowfall_sum"][at]])


def air_now(ask: Asker) -> Question:
    place = ask.draw_places(1)[0]
    today = ask.now()
    index = ask.use("get_current_air_quality_index", **ask.where(place), current_date=today)["daily"]["air_quality_index"][0]
    return Question(f"How good is the air in {named(place)} today? Answer with a list: the air quality index, and its "
                    "level in words.",
                    [index, ask.use("get_air_quality_level", air_quality_index=index)])


def worst_air(ask: Asker) -> Question:
    place, (first, last) = ask.draw_places(1)[0], ask.draw_days(10)
    daily = ask.series("get_historical_air_quality_index", ask.where(place), first, last)
    at = only(daily["air_quality_index"], max)
    words = ask.use("get_air_quality_level", air_quality_index=daily["air_quality_index"][at])
    return Question(f"On which day from {first} to {last} was the air in {named(place)} worst, and at which level? Answer with a "
                    "list: the date, as YYYY-MM-DD, and the level in words.", [daily["time"][at], words])


KINDS: dict[Callable[[Asker], Question], str] = {
    elevation: "easy", distance: "easy", past_temperature: "easy", hottest_day: "easy", rain_in_all: "easy", snow_days: "easy",
    most_snow: "easy", coming_temperature: "medium", rainy_days: "medium", air_now: "medium", worst_air: "medium",
    climb: "medium", yesterday_and_today: "hard", nearest: "hard", warmest_city: "hard", wettest_city: "hard",
}


def make_tasks() -> dict[str, list[ToolTask]]:
    """The same tasks at every call; no two ask the same of the same user."""
    asked: set[tuple[Any, ...]] = set()
    return {split: [_task(f"{split}-{number}", [SEED, index, number], number, asked) for number in range(count)]
            for index, (split, count) in enumerate(COUNTS.items())}


def _task(name: str, seed: list[int], number: int, asked: set[tuple[Any, ...]]) -> ToolTask:
    kind = list(KINDS)[number % len(KINDS)]
    rng = np.random.default_rng(seed)
    while True:
        ask = Asker(rng)
        try:
            question = kind(ask)
        except Dull:
            continue
        task = _written(name, kind, ask, question)
        if (key := (task.goal, *task.init.values())) not in asked:
            asked.add(key)
            return task


def _written(name: str, kind: Callable[[Asker], Question], ask: Asker, question: Question) -> ToolTask:
    gold: list[Call] = ask.recorder.calls
    listed = isinstance(question.answer, list) and kind not in (rainy_days, snow_days)
    init = {"current_date": ask.today.isoformat(), "current_location": named(ask.home)}
    return ToolTask(name, question.goal, question.answer, tuple(gold), init, kind.__name__, KINDS[kind],
                    tolerance=question.tolerance, ordered=listed)


def _apart(ask: Asker, one: dict[str, float], other: dict[str, float]) -> float:
    ends = {f"{key}{number}": value for number, where in ((1, one), (2, other)) for key, value in where.items()}
    return ask.use("get_distance", **ends)


def _listed(cities: list[Place]) -> str:
    if len({city.name for city in cities}) < len(cities):
        raise Dull
    names = [f"{city.name} ({city.country})" for city in cities]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _in(days: int) -> str:
    return "tomorrow" if days == 1 else f"in {days} days"
