"""The films fit together, the tools tell of them, and the answers are what the world says when it is asked another way."""

import re
from collections import Counter

import pytest

from amemgym_envs import make
from amemgym_envs.movie.environment import MovieEnv
from amemgym_envs.movie.world import MOST_CREDITS, World, world
from amemgym_envs.toolkit import Call, ToolError, write

WORLD = world()


def use(tool, **arguments):
    return MovieEnv.tools[tool].method(WORLD, **arguments)


def by_title(title):
    return next(film for film in WORLD.films.values() if film.title == title)


def by_name(name):
    return next(person for person in WORLD.people.values() if person.name == name)


def test_a_seed_draws_one_world():
    assert world.__wrapped__(4) == world.__wrapped__(4) != world.__wrapped__(5)


def test_titles_names_and_ids_are_unique_and_dates_possible():
    films, people = list(WORLD.films.values()), list(WORLD.people.values())
    for values in ([film.title for film in films], [person.name for person in people], [*WORLD.films, *WORLD.people],
                   [person.external_ids["imdb_id"] for person in people]):
        assert len(set(values)) == len(values)
    for film in films:
        assert set(dict(film.cast + film.crew)) <= set(WORLD.people)
        assert len(dict(film.cast)) == len(film.cast) and len({character for _, character in film.cast}) == len(film.cast)
        assert all(WORLD.people[person].birthday[:4] < film.release_date[:4] for person, _ in film.cast + film.crew)


def test_no_list_that_a_tool_gives_is_cut_off():
    for kind in ("cast", "crew"):
        credits = Counter(person for film in WORLD.films.values() for person, _ in getattr(film, kind))
        assert max(credits.values()) <= MOST_CREDITS < 10
        assert max(len(getattr(film, kind)) for film in WORLD.films.values()) <= 10


def test_what_films_say_of_people_is_what_people_say_of_films():
    for film in WORLD.films.values():
        for kind, what in (("cast", "character"), ("crew", "job")):
            for credit in use(f"get_movie_{kind}", movie_id=film.id):
                mirrored = {"id": film.id, "title": film.title, what: credit[what]}
                assert mirrored in use(f"get_person_{kind}", person_id=credit["id"])


def test_every_film_and_person_is_found_first_by_its_name_in_any_case():
    for film in WORLD.films.values():
        assert use("get_search_movie", movie_name=film.title.upper())[0]["id"] == film.id
    for person in WORLD.people.values():
        assert use("get_search_person", person_name=f"  {person.name.lower()} ")[0] == {"id": person.id, "name": person.name}


def test_words_of_a_title_find_it_and_unknown_ones_say_so():
    found = use("get_search_movie", movie_name="river")
    assert 1 < len(found) <= 10 and all("River" in film["title"] for film in found)
    for tool, name in (("get_search_movie", "movie_name"), ("get_search_person", "person_name")):
        for nobody in ("Nowhere to be found", "", "   "):
            with pytest.raises(ToolError, match="check the spelling"):
                use(tool, **{name: nobody})


def test_an_id_that_nothing_has_is_explained():
    with pytest.raises(ToolError, match="get_search_movie gives"):
        use("get_movie_cast", movie_id="1")
    with pytest.raises(ToolError, match="get_search_person gives"):
        use("get_person_cast", person_id=next(iter(WORLD.films)))


def test_lists_of_another_database_are_cut_to_ten(tmp_path):
    class Long(World):
        def search_movie(self, name):
            return list(WORLD.films.values())

    path = tmp_path / "tasks.jsonl"
    path.write_text('{"goal": "g", "subgoals": ["a"], "additional_info": {"answer": "a"}}\n')
    env = make("Movie", tasks=path, world=Long())
    env.reset(options={"task": "0"})
    env.step(write(Call("get_search_movie", {"movie_name": "x"})))
    assert len(env.results[-1]) == 10
    assert env.step(write(Call("finish", {"answer": "A"})))[4]["success"]


CHECKS = {
    r"Who directed the film in which (.+) played (.+)\?": lambda name, character: next(
        WORLD.people[film.did("Director")[0]].name for film in WORLD.films.values()
        if film.played(by_name(name).id) == character),
    r"In how many films do both (.+) and (.+) act\?": lambda first, second: sum(
        {by_name(first).id, by_name(second).id} <= set(dict(film.cast)) for film in WORLD.films.values()),
    r"Which film took in more money, '(.+)' or '(.+)'\? .*": lambda first, second: (
        first if by_title(first).revenue > by_title(second).revenue else second),
    r"By how many dollars do the revenues of '(.+)' and '(.+)' differ\?": lambda first, second: abs(
        by_title(first).revenue - by_title(second).revenue),
    r"Which of the films that (.+) directed was released first\? .*": lambda name: min(
        (film for film in WORLD.films.values() if film.did("Director") == [by_name(name).id]),
        key=lambda film: film.release_date).title,
    r"When was the director of the film '(.+)' born\? .*": lambda title: next(
        WORLD.people[person].birthday for person, job in by_title(title).crew if job == "Director"),
    r"When was the film that (.+) directed and (.+) acts in released\? .*": lambda director, actor: next(
        film.release_date for film in WORLD.films.values()
        if by_name(director).id in film.did("Director") and film.played(by_name(actor).id)),
}


@pytest.mark.parametrize("pattern", CHECKS)
def test_answers_are_those_of_the_world(pattern):
    env = make("Movie")
    tasks = [task for task in map(env.task_of, env.tasks) if re.fullmatch(pattern, task.goal)]
    assert tasks
    for task in tasks:
        assert CHECKS[pattern](*re.fullmatch(pattern, task.goal).groups()) == task.answer


def test_the_tasks_stay_what_they_are():
    first, last = (make("Movie").task_of(task) for task in ("train-0", "test-50"))
    assert (first.goal, first.answer) == ("What is the average vote for the film 'The Crooked Horizon'?", 8.3)
    assert last.goal.startswith("When was the actor born who plays in both 'Crown of Arlow' and 'Lighthouse of Ravensholm'?")
    assert last.answer == "1941-10-14"
