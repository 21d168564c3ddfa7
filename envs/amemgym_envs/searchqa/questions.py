"""Questions: chains of facts through the invented world, or read from a file of the user's."""

from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from amemgym_envs.searchqa.answers import normalised
from amemgym_envs.searchqa.articles import Article, lines_of
from amemgym_envs.searchqa.names import Dice
from amemgym_envs.searchqa.relations import COMPARISONS, RELATIONS, Relation
from amemgym_envs.searchqa.world import Thing, World

SPLITS = {"train": 800, "validation": 100, "test": 200}
SHARES = {"train": 0.60, "validation": 0.16, "test": 0.24}  # of all facts that the questions of a split may ask for
HOPS = (1, 1, 2, 2, 2, 3, 3, 3, 0, 3)  # in turn; 0: two things are compared
Fact = tuple[str, str]  # title of the article and key of the relation


class Question(NamedTuple):
    text: str
    answers: tuple[str, ...]  # every one is right
    searches: tuple[str, ...] = ()  # that find all that is needed, in order
    facts: tuple[Fact, ...] = ()  # on the way to the answer


def split_of(text: str, shares: dict[str, float] = SHARES) -> str:
    """The split that ``text`` falls into, for ever: the first whose part of the unit interval holds its hash."""
    place = int(sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:13], 16) / 16**13
    for split, share in shares.items():
        if (place := place - share) < 0:
            return split
    return list(shares)[-1]


class Writer:
    """Writes questions over ``world``. No fact that a question of one split goes through is needed in another split."""

    def __init__(self, world: World, articles: list[Article]) -> None:
        self._dice, self._world = Dice(7), world
        self._texts = {article.title: article.text for article in articles}

    def questions(self) -> dict[str, list[Question]]:
        return {split: self._some(split, count) for split, count in SPLITS.items()}

    def _some(self, split: str, count: int) -> list[Question]:
        found: dict[str, Question] = {}
        ends: Counter[str] = Counter()
        while len(found) < count:
            hops = HOPS[len(found) % len(HOPS)]
            question = self._chain(split, hops) if hops else self._comparison(split)
            if question and question.text not in found and ends[question.answers[0]] < 4:
                found[question.text] = question
                ends[question.answers[0]] += 1
        return list(found.values())

    def _open(self, thing: Thing, split: str) -> list[Relation]:
        """What a question of ``split`` may ask about ``thing``."""
        relations = [relation for relation in RELATIONS.get(thing.kind, ()) if relation.key in thing.facts]
        return [relation for relation in relations if split_of(f"{thing.name}/{relation.key}") == split]

    def _chain(self, split: str, hops: int) -> Question | None:
        """A walk of ``hops`` facts from a thing drawn at random; None where it ends early or some step of it is not needed."""
        thing = self._dice.pick(self._world.of[self._dice.pick(list(RELATIONS))])
        phrase, path, facts = thing.mention, [thing], []
        for hop in range(1, hops + 1):
            relations = [relation for relation in self._open(thing, split) if hop == hops or relation.noun]
            if not relations:
                return None
            relation = self._dice.pick(relations)
            facts.append((thing.name, relation.key))
            thing = thing.facts[relation.key]
            if hop < hops and not thing.facts:
                return None
            path.append(thing)
            phrase = (self._dice.pick(relation.ask) if hop == hops else relation.noun).format(phrase)
        answers = (thing.name, *thing.also)
        shown = [phrase, *(self._texts[one.name] for one in path[:-2])]
        if len({one.name for one in path}) < len(path) or any(self._tells(text, answers) for text in shown):
            return None
        return Question(phrase, answers, tuple(one.name for one in path[:-1]), tuple(facts))

    @staticmethod
    def _tells(text: str, answers: tuple[str, ...]) -> bool:
        return any(f" {normalised(answer)} " in f" {normalised(text)} " for answer in answers)

    def _comparison(self, split: str) -> Question | None:
        kind, key, ask, highest = self._dice.pick(COMPARISONS)
        both = [self._dice.pick(self._world.of[kind]) for _ in range(2)]
        if any(key not in [relation.key for relation in self._open(thing, split)] for thing in both):
            return None
        low, high = sorted(both, key=lambda thing: thing.facts[key].number)
        if low.facts[key].number == high.facts[key].number:
            return None
        answer = high if highest else low
        text = ask.format(*(thing.mention for thing in both))
        titles = tuple(thing.name for thing in both)
        return Question(text, (answer.name, *answer.also), titles, tuple((title, key) for title in titles))


def read(path: str | Path) -> dict[str, tuple[str, Question]]:
    """The questions of a JSONL file as ``{"q-<row>": (split, question)}``. A row has "question", "answers" or "golden_answers",
    and may have "searches" (for the expert) and "split"; without it a question's text decides. ValueError names file and line."""
    found = {}
    for where, row in lines_of(path):
        text, answers = row.get("question"), row.get("golden_answers", row.get("answers"))
        answers = [answers] if isinstance(answers, str) else answers
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f'{where}: "question" is {text!r}, expected a text')
        if not _texts(answers) or not answers:
            raise ValueError(f'{where}: "answers" is {answers!r}, expected a list of texts, or one text')
        if not _texts(searches := row.get("searches", [])):
            raise ValueError(f'{where}: "searches" is {searches!r}, expected a list of texts')
        split = row.get("split", split_of(normalised(text), {"train": 0.8, "validation": 0.1, "test": 0.1}))
        if split not in SPLITS:
            raise ValueError(f'{where}: "split" is {split!r}, expected {", ".join(SPLITS)}')
        found[f"q-{len(found)}"] = (split, Question(text.strip(), tuple(answers), tuple(searches)))
    if not found:
        raise ValueError(f"{path}: no question in it")
    return found


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
