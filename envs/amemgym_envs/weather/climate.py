"""Where the weather tools get their numbers from, and the generated climate that is built in."""

import math
import unicodedata
from datetime import date
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, Protocol

CELL = 0.1  # degrees: coordinates that round to the same cell have the same weather
NEAR = 0.3  # degrees from a known place within which the ground is as high as there
FIRST, LAST = date(1940, 1, 1), date(2060, 12, 31)
EARTH = 6371.0  # km


class Place(NamedTuple):
    """``latitude``, ``longitude`` in degrees, ``elevation`` in metres."""

    name: str
    country: str
    latitude: float
    longitude: float
    elevation: float

    def __str__(self) -> str:
        return f"{self.name}, {self.country}"


class Day(NamedTuple):
    """``highest``, ``lowest``, ``mean`` in °C; ``rain`` in mm, ``snow`` in cm, ``air``: European air quality index."""

    highest: float
    lowest: float
    mean: float
    rain: float
    snow: float
    air: int


class Climate(Protocol):
    """What the tools ask. Dates are inclusive; every list has one element per day."""

    def find(self, name: str) -> list[Place]: ...
    def elevation(self, latitude: float, longitude: float) -> float: ...
    def temperatures(self, latitude: float, longitude: float, start: date, end: date) -> list[tuple[float, float, float]]: ...
    def rain(self, latitude: float, longitude: float, start: date, end: date) -> list[float]: ...
    def snow(self, latitude: float, longitude: float, start: date, end: date) -> list[float]: ...
    def air(self, latitude: float, longitude: float, start: date, end: date) -> list[int]: ...


class GeneratedClimate:
    """Weather drawn from place and date alone: the same for every tool, run and machine. It is plausible, not real: warmer near
    the equator and in the valleys, seasons by hemisphere, spells of some days, snow instead of rain in the cold."""

    def find(self, name: str) -> list[Place]:
        wanted, _, country = (plain(part) for part in name.partition(","))
        return [place for place in places() if plain(place.name) == wanted and (not country or plain(place.country) == country)]

    def elevation(self, latitude: float, longitude: float) -> float:
        return _elevation(*_cell(latitude, longitude))

    def temperatures(self, latitude: float, longitude: float, start: date, end: date) -> list[tuple[float, float, float]]:
        return [day[:3] for day in self.days(latitude, longitude, start, end)]

    def rain(self, latitude: float, longitude: float, start: date, end: date) -> list[float]:
        return [day.rain for day in self.days(latitude, longitude, start, end)]

    def snow(self, latitude: float, longitude: float, start: date, end: date) -> list[float]:
        return [day.snow for day in self.days(latitude, longitude, start, end)]

    def air(self, latitude: float, longitude: float, start: date, end: date) -> list[int]:
        return [day.air for day in self.days(latitude, longitude, start, end)]

    def days(self, latitude: float, longitude: float, start: date, end: date) -> list[Day]:
        cell = _cell(latitude, longitude)
        return [_day(*cell, ordinal) for ordinal in range(start.toordinal(), end.toordinal() + 1)]


@cache
def places() -> tuple[Place, ...]:
    lines = Path(__file__).with_name("places.txt").read_text(encoding="utf-8").splitlines()
    rows = ([part.strip() for part in line.split("|")] for line in lines if not line.startswith("#"))
    return tuple(Place(name, country, float(north), float(east), float(high)) for name, country, north, east, high in rows)


def plain(name: str) -> str:
    """``name`` in small letters without accents, so that Cordoba finds Córdoba."""
    letters = unicodedata.normalize("NFKD", name.replace("ø", "o").replace("Ø", "O"))
    return " ".join("".join(letter for letter in letters if not unicodedata.combining(letter)).casefold().split())


def distance(latitude1: float, longitude1: float, latitude2: float, longitude2: float) -> float:
    """Along the great circle, in km."""
    north1, north2 = math.radians(latitude1), math.radians(latitude2)
    half = math.sin((north2 - north1) / 2) ** 2
    half += math.cos(north1) * math.cos(north2) * math.sin(math.radians(longitude2 - longitude1) / 2) ** 2
    return 2 * EARTH * math.asin(min(1.0, math.sqrt(half)))


def _cell(latitude: float, longitude: float) -> tuple[int, int]:
    return round(latitude / CELL), round(longitude / CELL)


def _chance(*what: object) -> float:
    """A number in [0, 1) that ``what`` fixes."""
    return int.from_bytes(blake2b(repr(what).encode(), digest_size=6).digest()) / 2**48


@lru_cache(maxsize=4096)
def _elevation(row: int, column: int) -> float:
    for place in places():
        if max(abs(place.latitude - row * CELL), abs(place.longitude - column * CELL)) <= NEAR:
            return place.elevation
    return float(int(1500 * _chance("height", row // 5, column // 5) ** 3))


@lru_cache(maxsize=8192)
def _spell(kind: str, row: int, column: int, number: int) -> float:
    return _chance(kind, row, column, number)


def _spells(kind: str, row: int, column: int, ordinal: int, length: int) -> float:
    """A chance that changes slowly: from one spell of ``length`` days to the next."""
    number, within = divmod(ordinal, length)
    one, other = _spell(kind, row, column, number), _spell(kind, row, column, number + 1)
    return one + (other - one) * within / length


@lru_cache(maxsize=32768)
def _day(row: int, column: int, ordinal: int) -> Day:
    latitude = row * CELL
    tilt = math.sin(math.radians(latitude))
    season = math.cos(2 * math.pi * ((ordinal % 365.2425) - 200) / 365.2425)  # 1 in the middle of July
    mean = 28 - 34 * tilt * tilt - 0.0055 * _elevation(row, column) + 15 * tilt * season
    mean += 10 * (_spells("warmth", row, column, ordinal, 6) - 0.5) + 3 * (_chance("mean", row, column, ordinal) - 0.5)
    below, above = (2 + 6 * _chance(kind, row, column, ordinal) for kind in ("lowest", "highest"))
    wet = 0.2 + 0.4 * _spell("wet", row, column, 0) + 0.5 * (_spells("front", row, column, ordinal, 4) - 0.5)
    draw = _chance("fall", row, column, ordinal)
    fall = 0.2 - 9 * math.log(1 - draw / wet) * (0.5 + wet) if draw < wet else 0.0
    fall = min(fall, 90.0)
    snowing = mean < 1
    air = 8 + 60 * _spell("smoke", row, column, 0) ** 2 + 45 * _spells("haze", row, column, ordinal, 5) ** 2
    air += 12 * _chance("air", row, column, ordinal) - min(fall, 10)
    return Day(
        highest=round(mean + above, 1),
        lowest=round(mean - below, 1),
        mean=round(mean, 1),
        rain=0.0 if snowing else round(fall, 1),
        snow=round(0.7 * fall, 2) if snowing else 0.0,
        air=max(3, round(air)),
    )
