"""Films and the people who made them: the records, and a world of them drawn from a seed in which every fact fits the others."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from random import Random

from amemgym_envs.movie import words

FILMS, ACTORS, CREW, TROUPE = 130, 100, 50, 14
MOST_CREDITS = 9  # of one person as cast or as crew: tools cut lists to ten, and no answer may depend on what is cut off
SEED = 20


@dataclass(frozen=True)
class Person:
    id: str
    name: str
    birthday: str  # ISO date
    place_of_birth: str
    biography: str
    external_ids: dict[str, str]


@dataclass(frozen=True)
class Film:
    id: str
    title: str
    overview: str
    genres: tuple[str, ...]
    release_date: str  # ISO date
    runtime: int  # minutes
    budget: int  # dollars
    revenue: int
    vote_average: float
    companies: tuple[str, ...]
    countries: tuple[str, ...]
    keywords: tuple[str, ...]
    alternative_titles: dict[str, str]  # by code of the country
    translations: dict[str, str]  # title by code of the language
    cast: tuple[tuple[str, str], ...]  # person id, character
    crew: tuple[tuple[str, str], ...]  # person id, job

    def did(self, job: str) -> list[str]:
        """The ids of those who had ``job``."""
        return [person for person, what in self.crew if what == job]

    def played(self, person: str) -> str | None:
        """Whom ``person`` played; None: is not in the cast."""
        return next((character for actor, character in self.cast if actor == person), None)


@dataclass
class World:
    """All films and people by id. It is what ``MovieEnv`` asks; another back end has the same five methods."""

    films: dict[str, Film] = field(default_factory=dict)
    people: dict[str, Person] = field(default_factory=dict)

    def search_movie(self, name: str) -> list[Film]:
        return best(name, [(film.title, film) for film in self.films.values()])

    def search_person(self, name: str) -> list[Person]:
        return best(name, [(person.name, person) for person in self.people.values()])

    def film(self, film_id: str) -> Film | None:
        return self.films.get(film_id)

    def person(self, person_id: str) -> Person | None:
        return self.people.get(person_id)

    def films_of(self, person_id: str) -> list[Film]:
        """The films that the person has a credit in, as cast or crew."""
        return [film for film in self.films.values() if any(who == person_id for who, _ in film.cast + film.crew)]


def best(query: str, named: list) -> list:
    """What is called ``query``, before what has all of its words in its name."""
    wanted = query.casefold().split()
    found = [(name.casefold().split(), thing) for name, thing in named]
    exact = [thing for name, thing in found if name == wanted]
    return exact + [thing for name, thing in found if wanted and name != wanted and set(wanted) <= set(name)]


def day(rng: Random, first: int, last: int) -> str:
    """A date of the years ``first`` to ``last``."""
    start = date(first, 1, 1)
    return (start + timedelta(days=rng.randrange((date(last, 12, 31) - start).days + 1))).isoformat()


def numbers(rng: Random, first: int, count: int) -> Iterator[str]:
    """``count`` different ids of the same length, in no order."""
    return iter([str(number) for number in rng.sample(range(first, first * 9), count)])


def people(rng: Random) -> list[Person]:
    names = rng.sample([f"{first} {last}" for first in words.FIRST for last in words.LAST], ACTORS + CREW)
    ids, imdb = numbers(rng, 10_000, len(names)), numbers(rng, 1_000_000, len(names))
    made = []
    for name in names:
        first, last = name.lower().split()
        place = f"{rng.choice(words.TOWNS)}, {rng.choice(words.COUNTRIES)[1]}"
        handles = {"facebook_id": f"{first}.{last}", "instagram_id": f"the_{first}{last}",
                   "twitter_id": f"{first[0]}{last}{rng.randrange(10, 99)}"}
        biography = f"{name} began {rng.choice(words.STARTS)} and once worked as a {rng.choice(words.TRADES)}."
        made.append(Person(next(ids), name, day(rng, 1930, 1975), place, biography, {"imdb_id": "nm" + next(imdb)} | handles))
    return made


def titles(rng: Random) -> list[tuple[str, tuple[str, ...], str]]:
    """Title, its thing in all languages, and its town, for every film; no title twice."""
    found: dict[str, tuple[str, tuple[str, ...], str]] = {}
    while len(found) < FILMS:
        noun, town, adjective = rng.choice(words.NOUNS), rng.choice(words.TOWNS), rng.choice(words.ADJECTIVES)
        title = rng.choice((f"The {adjective} {noun[0]}", f"{adjective} {noun[0]}", f"{noun[0]} of {town}"))
        found.setdefault(title, (title, noun, town))
    return list(found.values())


def drawn(rng: Random, candidates: list[Person], count: int, credits: Counter) -> list[str]:
    """``count`` of the candidates who have credits left, which are counted."""
    chosen = rng.sample([person.id for person in candidates if credits[person.id] < MOST_CREDITS], count)
    credits.update(chosen)
    return chosen


def credits(rng: Random, actors: list[Person], crew: list[Person], cast_credits: Counter,
            crew_credits: Counter) -> tuple[tuple, tuple]:
    """Cast and crew of one film. Most of a cast is one troupe, so that people meet again."""
    first = rng.randrange(len(actors))
    troupe = [actors[(first - first % 7 + i) % len(actors)] for i in range(TROUPE)]
    free = [person for person in troupe if cast_credits[person.id] < MOST_CREDITS]
    cast = drawn(rng, free, min(len(free), rng.randint(3, 5)), cast_credits)
    cast += drawn(rng, [person for person in actors if person.id not in cast], rng.randint(1, 2), cast_credits)
    characters = rng.sample([f"{first} {last}" for first in words.FIRST for last in words.LAST], len(cast))
    team = drawn(rng, crew, len(words.JOBS), crew_credits)
    jobs = list(zip(team, words.JOBS, strict=True))
    if rng.random() < 0.4 and crew_credits[team[0]] < MOST_CREDITS:  # the director also wrote it
        jobs[1] = (team[0], "Writer")
        crew_credits.update(team[:1])
    return tuple(zip(cast, characters, strict=True)), tuple(jobs)


@cache
def world(seed: int = SEED) -> World:
    """The world of ``seed``; the same object at every call."""
    rng = Random(seed)
    everybody = people(rng)
    actors, crew = everybody[:ACTORS], everybody[ACTORS:] + everybody[:60]  # some actors direct, write and produce
    ids, cast_credits, crew_credits = numbers(rng, 1000, FILMS), Counter(), Counter()
    made = World(people={person.id: person for person in everybody})
    for title, noun, town in titles(rng):
        cast, jobs = credits(rng, actors, crew, cast_credits, crew_credits)
        budget = rng.randrange(2_000, 180_000) * 1000
        languages = sorted(rng.sample(range(4), rng.randint(2, 4)))
        film = Film(
            id=next(ids), title=title, overview=f"A {rng.choice(words.TRADES)} from {town} {rng.choice(words.PLOTS)}.",
            genres=tuple(rng.sample(words.GENRES, rng.randint(1, 3))), release_date=day(rng, 1995, 2023),
            runtime=rng.randint(78, 171),
            budget=budget, revenue=int(budget * rng.uniform(0.2, 5)) // 1000 * 1000 + rng.randrange(1000),
            vote_average=rng.randrange(42, 93) / 10, companies=tuple(rng.sample(words.COMPANIES, rng.randint(1, 3))),
            countries=tuple(name for _, name in rng.sample(words.COUNTRIES, rng.randint(1, 3))),
            keywords=tuple(rng.sample(words.KEYWORDS, rng.randint(3, 5))),
            alternative_titles={code: f"{town}: {alternative} {noun[0]}" for (code, _), alternative in zip(
                rng.sample(words.COUNTRIES, 3), rng.sample(words.ADJECTIVES, 3), strict=True)},
            translations={words.LANGUAGES[i][0]: f"{noun[1 + i]} – {town}" for i in languages}, cast=cast, crew=jobs,
        )
        made.films[film.id] = film
    return made
