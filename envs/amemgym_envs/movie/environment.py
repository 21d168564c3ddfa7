"""Movie: questions about films and the people who made them, answered by calling a film database."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from amemgym_envs.core import EnvCard
from amemgym_envs.movie.questions import QUESTIONS
from amemgym_envs.movie.words import COUNTRIES, LANGUAGES
from amemgym_envs.movie.world import SEED, Film, Person, world
from amemgym_envs.toolkit import Parameter, Tool, ToolEnv, ToolError, ToolTask, catalogue

COUNTS = {"train": 14, "validation": 3, "test": 3}  # tasks of each kind
LONGEST_LIST = 10


class FilmSource(Protocol):
    """A film database. ``movie.world.World`` is the built-in one; ``search_*`` give the best match first."""

    def search_movie(self, name: str) -> list[Film]: ...

    def search_person(self, name: str) -> list[Person]: ...

    def film(self, film_id: str) -> Film | None: ...

    def person(self, person_id: str) -> Person | None: ...

    def films_of(self, person_id: str) -> list[Film]: ...


def search_movie(source: FilmSource, movie_name: str) -> list[dict[str, Any]]:
    found = source.search_movie(movie_name)[:LONGEST_LIST]
    if not found:
        raise ToolError(f"no film has the words {movie_name[:60]!r} in its title; check the spelling or use fewer words")
    return [{"id": film.id, "title": film.title, "overview": film.overview} for film in found]


def search_person(source: FilmSource, person_name: str) -> list[dict[str, Any]]:
    found = source.search_person(person_name)[:LONGEST_LIST]
    if not found:
        raise ToolError(f"nobody has the words {person_name[:60]!r} in the name; check the spelling or use fewer words")
    return [{"id": person.id, "name": person.name} for person in found]


def of_film(told: Callable[[FilmSource, Film], Any]) -> Callable[..., Any]:
    """A tool's method from a function of the film; lists are cut."""

    def method(source: FilmSource, movie_id: str) -> Any:
        film = source.film(movie_id)
        if film is None:
            raise ToolError(f"there is no film with the id {movie_id[:40]!r}; get_search_movie gives the ids of films")
        result = told(source, film)
        return result[:LONGEST_LIST] if isinstance(result, list) else result

    return method


def of_person(told: Callable[[FilmSource, Person], Any]) -> Callable[..., Any]:
    """A tool's method from a function of the person; lists are cut."""

    def method(source: FilmSource, person_id: str) -> Any:
        person = source.person(person_id)
        if person is None:
            raise ToolError(f"there is no person with the id {person_id[:40]!r}; get_search_person gives the ids of people")
        result = told(source, person)
        return result[:LONGEST_LIST] if isinstance(result, list) else result

    return method


def details(source: FilmSource, film: Film) -> dict[str, Any]:
    return {"title": film.title, "budget": film.budget, "genres": list(film.genres), "revenue": film.revenue,
            "vote_average": film.vote_average, "release_date": film.release_date, "runtime": film.runtime}


def credited(source: FilmSource, pairs: Sequence[tuple[str, str]], what: str) -> list[dict[str, Any]]:
    people = [(source.person(person_id), said) for person_id, said in pairs]
    return [{"id": person.id, "name": person.name, what: said} for person, said in people if person is not None]


def alternative_titles(source: FilmSource, film: Film) -> list[dict[str, Any]]:
    countries = dict(COUNTRIES)
    return [{"iso_3166_1": code, "country": countries.get(code, code), "title": title}
            for code, title in film.alternative_titles.items()]


def translations(source: FilmSource, film: Film) -> list[dict[str, Any]]:
    names = {code: (english, own, country) for code, english, own, country in LANGUAGES}
    told = []
    for code, title in film.translations.items():
        english, own, country = names.get(code, (code, code, ""))
        told.append({"iso_3166_1": country, "iso_639_1": code, "name": own, "english_name": english, "title": title})
    return told


def person_details(source: FilmSource, person: Person) -> dict[str, Any]:
    return {"name": person.name, "biography": person.biography, "birthday": person.birthday,
            "place_of_birth": person.place_of_birth}


def person_credits(source: FilmSource, person: Person, kind: str, what: str) -> list[dict[str, Any]]:
    return [{"id": film.id, "title": film.title, what: said}
            for film in source.films_of(person.id) for who, said in getattr(film, kind) if who == person.id]


def some(values: Callable[[], list[str]]) -> Callable[[np.random.Generator], str]:
    """A draw of one of ``values``, which are not made before they are needed."""

    def draw(rng: np.random.Generator) -> str:
        known = values()
        return known[int(rng.integers(len(known)))]

    return draw


FILM_NAME = Parameter("movie_name", "string", "the title, or words of it",
                      draw=some(lambda: [film.title for film in world().films.values()]))
PERSON_NAME = Parameter("person_name", "string", "the name, or words of it",
                        draw=some(lambda: [person.name for person in world().people.values()]))
FILM_ID = Parameter("movie_id", "string", 'the id of the film, such as "1234"', draw=some(lambda: list(world().films)))
PERSON_ID = Parameter("person_id", "string", 'the id of the person, such as "12345"', draw=some(lambda: list(world().people)))


def film_tool(what: str, description: str, returns: str, told: Callable[[FilmSource, Film], Any]) -> Tool:
    return Tool(f"get_movie_{what}", description, (FILM_ID,), returns, of_film(told))


def person_tool(what: str, description: str, returns: str, told: Callable[[FilmSource, Person], Any]) -> Tool:
    return Tool(f"get_person_{what}", description, (PERSON_ID,), returns, of_person(told))


TOOLS = catalogue(
    Tool("get_search_movie", "Finds films by title.", (FILM_NAME,), "list of id, title and overview, the best match first",
         search_movie),
    film_tool("details", "Gives the facts of a film.",
              "title, budget and revenue in dollars, genres, average vote, release date, runtime in minutes", details),
    film_tool("production_companies", "Says which companies produced a film.", "list of names",
              lambda source, film: [{"name": name} for name in film.companies]),
    film_tool("production_countries", "Says in which countries a film was produced.", "list of names",
              lambda source, film: [{"name": name} for name in film.countries]),
    film_tool("cast", "Says who plays whom in a film.", "list of person id, name and character",
              lambda source, film: credited(source, film.cast, "character")),
    film_tool("crew", "Says who made a film.", "list of person id, name and job",
              lambda source, film: credited(source, film.crew, "job")),
    film_tool("keywords", "Gives the keywords of a film.", "list of names",
              lambda source, film: [{"name": word} for word in film.keywords]),
    film_tool("alternative_titles", "Gives the titles that a film has in other countries.", "list of country and title",
              alternative_titles),
    film_tool("translation", "Gives the title of a film in other languages.", "list of language and title", translations),
    Tool("get_search_person", "Finds people by name.", (PERSON_NAME,), "list of id and name, the best match first",
         search_person),
    person_tool("details", "Gives the facts of a person.", "name, biography, birthday, place of birth", person_details),
    person_tool("cast", "Says in which films a person plays whom.", "list of film id, title and character",
                lambda source, person: person_credits(source, person, "cast", "character")),
    person_tool("crew", "Says which films a person had a part in making.", "list of film id, title and job",
                lambda source, person: person_credits(source, person, "crew", "job")),
    person_tool("external_ids", "Gives the ids of a person elsewhere.", "imdb_id, facebook_id, instagram_id, twitter_id",
                lambda source, person: dict(person.external_ids)),
)


class MovieEnv(ToolEnv):
    """``world``: another ``FilmSource`` than the built-in one, with tasks that hold there."""

    card: ClassVar[EnvCard] = EnvCard(
        id="Movie-v0",
        summary="Answer a question about films and their people with the tools of a film database.",
        tasks="questions of one to three hops about a generated world of films",
        splits={split: count * len(QUESTIONS.kinds) for split, count in COUNTS.items()},
        score=(0.0, 1.0),
        success="the answer given to finish is the expected one",
        step_cap=12,
        grammar='tool with Action Input: {"parameter": value}',
    )
    role = "You answer questions about films and the people who made them by asking a film database, which holds all you need."
    advice = (
        "The films and people are invented, so that nothing about them can be known from elsewhere. Take ids from results of "
        "tools, never make one up; they are strings. Titles and names in an answer are written exactly as the database has them. "
        "An answer that is a number is given as a number, an answer that is a list as a list of strings."
    )
    tools = TOOLS

    @classmethod
    def make_tasks(cls) -> Mapping[str, Sequence[ToolTask]]:
        return QUESTIONS.deal(world(), SEED, COUNTS)

    def open(self, task: ToolTask) -> FilmSource:
        return world() if self.world is None else self.world
