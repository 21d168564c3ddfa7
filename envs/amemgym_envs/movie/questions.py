"""Questions about the films: what is asked, the one right answer, and the calls by which it is found."""

from random import Random

from amemgym_envs.movie import words
from amemgym_envs.movie.world import Film, Person, World
from amemgym_envs.toolkit import Call
from amemgym_envs.toolkit.questions import Question, Questions

QUESTIONS: Questions[World] = Questions()


def find(named: Film | Person) -> Call:
    if isinstance(named, Film):
        return Call("get_search_movie", {"movie_name": named.title})
    return Call("get_search_person", {"person_name": named.name})


def look(what: str, named: Film | Person) -> Call:
    """The call that gives ``what`` of a film or a person whose id is known by now."""
    kind = "movie" if isinstance(named, Film) else "person"
    return Call(f"get_{kind}_{what}", {f"{kind}_id": named.id})


def a_film(world: World, rng: Random) -> Film:
    return rng.choice(list(world.films.values()))


def an_actor(world: World, rng: Random) -> tuple[Person, list[Film]]:
    """Somebody who plays in at least two films, and those."""
    while True:
        person = rng.choice(list(world.people.values()))
        films = [film for film in world.films_of(person.id) if film.played(person.id)]
        if len(films) > 1:
            return person, films


def a_director(world: World, rng: Random) -> tuple[Person, list[Film]]:
    """The director of two to four films, and those."""
    while True:
        person = world.people[a_film(world, rng).did("Director")[0]]
        films = [film for film in world.films_of(person.id) if person.id in film.did("Director")]
        if 2 <= len(films) <= 4:
            return person, films


def two_films(world: World, rng: Random) -> tuple[Film, Film]:
    """In the order of their titles: a pair is asked about one way round only."""
    first, second = sorted(rng.sample(list(world.films.values()), 2), key=lambda film: film.title)
    return first, second


# One hop: a film or a person is found, and one thing looked up.


@QUESTIONS.kind("1 hop")
def detail(world: World, rng: Random) -> Question:
    film = a_film(world, rng)
    ask, answer = rng.choice((
        (f"When was the film '{film.title}' released? Answer as YYYY-MM-DD.", film.release_date),
        (f"How many minutes does the film '{film.title}' last?", film.runtime),
        (f"What did the film '{film.title}' cost to make, in dollars?", film.budget),
        (f"How much did the film '{film.title}' take in, in dollars?", film.revenue),
        (f"What is the average vote for the film '{film.title}'?", film.vote_average),
        (f"Which genres does the film '{film.title}' belong to? Answer with a list.", list(film.genres)),
    ))
    return Question(ask, answer, [find(film), look("details", film)])


@QUESTIONS.kind("1 hop")
def listed(world: World, rng: Random) -> Question:
    film = a_film(world, rng)
    what, ask, answer = rng.choice((
        ("production_companies", f"Which companies produced the film '{film.title}'?", film.companies),
        ("production_countries", f"In which countries was the film '{film.title}' produced?", film.countries),
        ("keywords", f"Which keywords does the film '{film.title}' have?", film.keywords),
    ))
    return Question(f"{ask} Answer with a list of names.", list(answer), [find(film), look(what, film)])


@QUESTIONS.kind("1 hop")
def other_title(world: World, rng: Random) -> Question:
    film = a_film(world, rng)
    if rng.random() < 0.5:
        code, answer = rng.choice(list(film.alternative_titles.items()))
        ask = f"What is the alternative title of the film '{film.title}' in {dict(words.COUNTRIES)[code]} ({code})?"
        return Question(ask, answer, [find(film), look("alternative_titles", film)])
    code, answer = rng.choice(list(film.translations.items()))
    language = next(english for short, english, _, _ in words.LANGUAGES if short == code)
    return Question(f"What is the film '{film.title}' called in {language}?", answer, [find(film), look("translation", film)])


@QUESTIONS.kind("1 hop")
def role(world: World, rng: Random) -> Question:
    film = a_film(world, rng)
    person, character = rng.choice(film.cast)
    answer = world.people[person].name
    return Question(f"Who played {character} in the film '{film.title}'?", answer, [find(film), look("cast", film)])


@QUESTIONS.kind("1 hop")
def job(world: World, rng: Random) -> Question:
    film = a_film(world, rng)
    what, asked = rng.choice((("Director", "directed"), ("Writer", "wrote"), ("Producer", "produced"),
                              ("Original Music Composer", "composed the music of"),
                              ("Director of Photography", "was director of photography of")))
    answer = world.people[film.did(what)[0]].name
    return Question(f"Which person {asked} the film '{film.title}'?", answer, [find(film), look("crew", film)])


@QUESTIONS.kind("1 hop")
def about_person(world: World, rng: Random) -> Question:
    person = rng.choice(list(world.people.values()))
    ids = person.external_ids
    what, ask, answer = rng.choice((
        ("details", f"When was {person.name} born? Answer as YYYY-MM-DD.", person.birthday),
        ("details", f"Where was {person.name} born? Answer as town, country.", person.place_of_birth),
        ("external_ids", f"What is the IMDb id of {person.name}?", ids["imdb_id"]),
        ("external_ids", f"What is the Instagram id of {person.name}?", ids["instagram_id"]),
    ))
    return Question(ask, answer, [find(person), look(what, person)])


# Two hops: what is looked up says whom or what to look up next, or two things are compared.


@QUESTIONS.kind("2 hops")
def director_of_role(world: World, rng: Random) -> Question:
    person, films = an_actor(world, rng)
    film = rng.choice(films)
    answer = world.people[film.did("Director")[0]].name
    ask = f"Who directed the film in which {person.name} played {film.played(person.id)}?"
    return Question(ask, answer, [find(person), look("cast", person), look("crew", film)])


@QUESTIONS.kind("2 hops")
def detail_of_role(world: World, rng: Random) -> Question:
    person, films = an_actor(world, rng)
    film = rng.choice(films)
    one = f"the film in which {person.name} played {film.played(person.id)}"
    what, ask, answer = rng.choice((
        ("details", f"When was {one} released? Answer as YYYY-MM-DD.", film.release_date),
        ("details", f"How much did {one} take in, in dollars?", film.revenue),
        ("production_companies", f"Which companies produced {one}? Answer with a list of names.", list(film.companies)),
        ("keywords", f"Which keywords does {one} have? Answer with a list of names.", list(film.keywords)),
    ))
    return Question(ask, answer, [find(person), look("cast", person), look(what, film)])


@QUESTIONS.kind("2 hops")
def birth_of_director(world: World, rng: Random) -> Question:
    film = a_film(world, rng)
    person = world.people[film.did("Director")[0]]
    what, ask, answer = rng.choice((
        ("details", f"When was the director of the film '{film.title}' born? Answer as YYYY-MM-DD.", person.birthday),
        ("details", f"Where was the director of the film '{film.title}' born? Answer as town, country.", person.place_of_birth),
        ("external_ids", f"What is the IMDb id of the director of the film '{film.title}'?", person.external_ids["imdb_id"]),
    ))
    return Question(ask, answer, [find(film), look("crew", film), look(what, person)])


@QUESTIONS.kind("2 hops")
def shared_films(world: World, rng: Random) -> Question | None:
    person, films = an_actor(world, rng)
    other = world.people[rng.choice(rng.choice(films).cast)[0]]
    both = [film.title for film in films if film.played(other.id)]
    if person == other:
        return None
    person, other = sorted((person, other), key=lambda one: one.name)
    calls = [find(person), look("cast", person), find(other), look("cast", other)]
    if rng.random() < 0.5:
        return Question(f"In which films do both {person.name} and {other.name} act? Answer with a list of titles.", both, calls)
    return Question(f"In how many films do both {person.name} and {other.name} act?", len(both), calls)


@QUESTIONS.kind("2 hops")
def shared_actors(world: World, rng: Random) -> Question | None:
    first, second = two_films(world, rng)
    both = [world.people[person].name for person, _ in first.cast if second.played(person)]
    if not both:
        return None
    ask = f"Which actors play in both '{first.title}' and '{second.title}'? Answer with a list of names."
    return Question(ask, both, [find(first), look("cast", first), find(second), look("cast", second)])


@QUESTIONS.kind("2 hops")
def compared(world: World, rng: Random) -> Question | None:
    first, second = two_films(world, rng)
    pair = f"'{first.title}' or '{second.title}'"
    ask, key = rng.choice((
        (f"Which film took in more money, {pair}?", lambda film: film.revenue),
        (f"Which film cost more to make, {pair}?", lambda film: film.budget),
        (f"Which film was released later, {pair}?", lambda film: film.release_date),
        (f"Which film lasts longer, {pair}?", lambda film: film.runtime),
    ))
    if key(first) == key(second):
        return None
    answer = max(first, second, key=key).title
    return Question(f"{ask} Answer with its title.", answer, [find(first), look("details", first), find(second),
                                                                     look("details", second)])


@QUESTIONS.kind("2 hops")
def profit(world: World, rng: Random) -> Question:
    first, second = two_films(world, rng)
    answer = abs(first.revenue - second.revenue)
    ask = f"By how many dollars do the revenues of '{first.title}' and '{second.title}' differ?"
    return Question(ask, answer, [find(first), look("details", first), find(second), look("details", second)])


# Three hops.


@QUESTIONS.kind("3 hops")
def birth_of_director_of_role(world: World, rng: Random) -> Question:
    person, films = an_actor(world, rng)
    film = rng.choice(films)
    director = world.people[film.did("Director")[0]]
    one = f"the director of the film in which {person.name} played {film.played(person.id)}"
    calls = [find(person), look("cast", person), look("crew", film), look("details", director)]
    if rng.random() < 0.5:
        return Question(f"When was {one} born? Answer as YYYY-MM-DD.", director.birthday, calls)
    return Question(f"Where was {one} born? Answer as town, country.", director.place_of_birth, calls)


@QUESTIONS.kind("3 hops")
def directed_with(world: World, rng: Random) -> Question | None:
    director, films = a_director(world, rng)
    film = rng.choice(films)
    actor = world.people[rng.choice(film.cast)[0]]
    if actor == director or sum(other.played(actor.id) is not None for other in films) != 1:
        return None
    one = f"the film that {director.name} directed and {actor.name} acts in"
    what, ask, answer = rng.choice((
        ("details", f"When was {one} released? Answer as YYYY-MM-DD.", film.release_date),
        ("details", f"What did {one} cost to make, in dollars?", film.budget),
        ("production_countries", f"In which countries was {one} produced? Answer with a list of names.", list(film.countries)),
    ))
    return Question(ask, answer, [find(director), look("crew", director), find(actor), look("cast", actor), look(what, film)])


@QUESTIONS.kind("3 hops")
def most_of_director(world: World, rng: Random) -> Question:
    director, films = a_director(world, rng)
    ask, key = rng.choice((
        ("took in the most money", lambda film: film.revenue),
        ("cost the most to make", lambda film: film.budget),
        ("was released first", lambda film: -int(film.release_date.replace("-", ""))),
    ))
    answer = max(films, key=key).title
    calls = [find(director), look("crew", director), *(look("details", film) for film in films)]
    return Question(f"Which of the films that {director.name} directed {ask}? Answer with its title.", answer, calls)


@QUESTIONS.kind("3 hops")
def shared_actor_birth(world: World, rng: Random) -> Question | None:
    first, second = two_films(world, rng)
    both = [world.people[person] for person, _ in first.cast if second.played(person)]
    if len(both) != 1:
        return None
    ask = f"When was the actor born who plays in both '{first.title}' and '{second.title}'? Answer as YYYY-MM-DD."
    calls = [find(first), look("cast", first), find(second), look("cast", second), look("details", both[0])]
    return Question(ask, both[0].birthday, calls)
