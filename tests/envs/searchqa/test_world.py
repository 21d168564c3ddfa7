"""The invented world: its facts agree, its articles tell them, and its questions need all of their path."""

from hashlib import sha256
from itertools import combinations

import pytest

from amemgym_envs.searchqa.answers import normalised
from amemgym_envs.searchqa.articles import written
from amemgym_envs.searchqa.index import Index
from amemgym_envs.searchqa.names import Dice
from amemgym_envs.searchqa.questions import SPLITS, Writer
from amemgym_envs.searchqa.relations import LEADS, RELATIONS
from amemgym_envs.searchqa.world import COUNTS, World


@pytest.fixture(scope="module")
def world():
    return World()


@pytest.fixture(scope="module")
def articles(world):
    return written(world)


@pytest.fixture(scope="module")
def questions(world, articles):
    return Writer(world, articles).questions()


@pytest.fixture(scope="module")
def everything(questions):
    return [question for group in questions.values() for question in group]


def born(person):
    return person.facts["born"].number // 10_000


def test_every_thing_has_a_name_of_its_own_and_an_article(world, articles):
    assert {kind: len(things) for kind, things in world.of.items()} == COUNTS
    titles = [article.title for article in articles]
    assert titles == [thing.name for thing in world.things] and len(set(titles)) == len(titles)


def test_an_article_tells_every_fact_of_its_thing(world, articles):
    for thing, article in zip(world.things, articles, strict=True):
        untold = [key for key, other in thing.facts.items() if key in told_keys(thing.kind) and other.name not in article.text]
        assert not untold, (article, untold)
        assert "{" not in article.text and "the the" not in article.text


def told_keys(kind):
    return [r.key for r in RELATIONS[kind] if r.tell or "{" + r.key + "}" in LEADS[kind]]


def test_every_relation_is_told(world):
    for kind, relations in RELATIONS.items():
        assert [relation.key for relation in relations if relation.key not in told_keys(kind)] == []
        assert {key for thing in world.of[kind] for key in thing.facts} == {relation.key for relation in relations}, kind


def test_people_do_things_while_they_live(world):
    makers = {"novel": ("author", "year"), "painting": ("painter", "year"), "opera": ("composer", "year")}
    makers |= {"film": ("director", "year")}
    makers |= {kind: ("founder", "founded") for kind in ("company", "university", "festival", "newspaper")}
    makers |= {"building": ("architect", "opened"), "mountain": ("climber", "climbed"), "expedition": ("leader", "year")}
    makers |= {"prize": ("winner", "year")}
    for kind, (key, when) in makers.items():
        for thing in world.of[kind]:
            maker, year = thing.facts[key], thing.facts[when].number
            assert born(maker) + 24 <= year <= maker.number - 2, thing.name


def test_people_are_tied_both_ways_and_in_the_order_of_their_births(world):
    for person in world.of["person"]:
        if spouse := person.facts.get("spouse"):
            assert spouse.facts["spouse"] is person and spouse is not person and abs(born(person) - born(spouse)) < 9
        if teacher := person.facts.get("teacher"):
            assert 15 < born(person) - born(teacher) < 45 and teacher.number >= born(person) + 18
        if school := person.facts.get("school"):
            assert school.facts["founded"].number < born(person) + 17
        assert ("died" in person.facts) == (person.traits["was"] == "was")


def test_the_map_agrees_with_itself(world):
    for river in world.of["river"]:
        assert river.facts["source"].facts["country"] is river.facts["country"]
        course = [river]
        while course[-1].kind == "river":
            course.append(course[-1].facts["mouth"])
            assert len(course) < 65, "a river that ends in itself"
        assert course[-1].kind == "sea"
    for country in world.of["country"]:
        for key, kind, size in (("longest", "river", "length"), ("highest", "mountain", "height")):
            sizes = [thing.facts[size].number for thing in world.of[kind] if thing.facts["country"] is country]
            assert country.facts[key].facts[size].number == max(sizes) and sizes.count(max(sizes)) == 1
        assert country.facts["capital"].facts["country"] is country
    for town in world.of["town"]:
        assert town.facts.get("twin", town).facts.get("twin", town) in (town, town)
        assert "river" not in town.facts or town.facts["river"].facts["country"] is town.facts["country"]
    offices = [thing.facts[key] for kind, key in (("country", "president"), ("town", "mayor")) for thing in world.of[kind]
               if key in thing.facts]
    assert len(set(map(id, offices))) == len(offices) and all(person.traits["was"] == "is" for person in offices)


def test_splits_share_no_question_and_no_fact(questions):
    assert {split: len(group) for split, group in questions.items()} == SPLITS
    texts = [question.text for group in questions.values() for question in group]
    assert len(set(texts)) == len(texts)
    facts = {split: {fact for question in group for fact in question.facts} for split, group in questions.items()}
    assert not any(facts[one] & facts[other] for one, other in combinations(facts, 2))


@pytest.mark.parametrize("split", SPLITS)
def test_questions_have_one_to_three_hops_and_end_at_their_fact(world, questions, split):
    by_name = {thing.name: thing for thing in world.things}
    assert {len(question.facts) for question in questions[split]} == {1, 2, 3}
    for question in questions[split]:
        title, key = question.facts[-1]
        ends = by_name[title].facts[key]
        compared = question.answers[0] in question.searches
        assert compared or question.answers == (ends.name, *ends.also), question


def test_the_answer_stands_in_the_last_article_and_in_none_before(articles, everything):
    texts = {article.title: f" {normalised(article.text)} " for article in articles}
    for question in (question for question in everything if question.answers[0] not in question.searches):
        *before, last = [texts[title] for title in question.searches]
        assert f" {normalised(question.answers[0])} " in last
        for answer in question.answers:
            assert not any(f" {normalised(answer)} " in text for text in [*before, f" {normalised(question.text)} "]), question


def test_comparisons_are_right(world, everything):
    by_name = {thing.name: thing for thing in world.things}
    compared = [question for question in everything if question.answers[0] in question.searches]
    assert len(compared) == 110
    for question in compared:
        one, other = [by_name[title].facts[key].number for title, key in question.facts]
        more = any(word in question.text for word in ("longer", "higher", "more inhabitants"))
        assert question.answers[0] == question.searches[(one < other) if more else (one > other)] and one != other


def test_every_gold_search_finds_its_article(articles, everything):
    index = Index(articles)
    for title in (title for question in everything for title in question.searches):
        assert title in [article.title for article in index.search(title, 3)]


def test_world_and_questions_are_the_same_for_ever(articles, everything):
    """Task ids mean what they meant: whoever changes the generator changes published tasks, and has to say so."""
    texts = [tuple(article) for article in articles], [tuple(question) for question in everything]
    assert [sha256(repr(text).encode()).hexdigest()[:16] for text in texts] == ["585cdcb5b2b251d4", "099496ba6c38b8b4"]


def test_a_die_rolls_everything_in_its_range():
    dice = Dice(1)
    assert {dice.between(3, 5) for _ in range(100)} == {3, 4, 5}
    assert sorted(dice.shuffled("abcdef")) == list("abcdef") != dice.shuffled("abcdef")
