"""Articles: written from the facts of the invented world, or read from a file of the user's."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from amemgym_envs.searchqa.names import Dice
from amemgym_envs.searchqa.relations import LEADS, RELATIONS
from amemgym_envs.searchqa.world import Thing, World


class Article(NamedTuple):
    title: str
    text: str


def written(world: World) -> list[Article]:
    """One article for every thing of ``world``. It tells each of the thing's facts once, and nothing else."""
    dice = Dice(len(world.things))
    return [Article(thing.name, _text(thing, dice)) for thing in world.things]


def _text(thing: Thing, dice: Dice) -> str:
    words = {"it": "It", "his": "Its"} | thing.traits
    if trade := words.get("trade"):
        words["a_work"] = f"{'an' if trade[0] in 'aeiou' else 'a'} {trade}"
    told = {key: other.name for key, other in thing.facts.items()}
    lead = LEADS[thing.kind].format(name=thing.label, **words, **told)
    lead = lead[0].upper() + lead[1:]
    facts = [(relation.tell, thing.facts[relation.key]) for relation in RELATIONS[thing.kind] if relation.key in thing.facts]
    return " ".join([lead, *(tell.format(x=other.mention, **words) for tell, other in dice.shuffled(facts) if tell)])


def lines_of(path: str | Path) -> Iterator[tuple[str, dict]]:
    """Every object of a file of JSON lines with the words that name its line. ValueError: a line that is none, or no file."""
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    where = f"{path}, line {number}"
                    try:
                        row = json.loads(line)
                    except (ValueError, RecursionError) as error:
                        raise ValueError(f"{where}: not JSON ({error or 'nested too deep'})") from None
                    if not isinstance(row, dict):
                        raise ValueError(f"{where}: {type(row).__name__}, expected an object")
                    yield where, row
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def read(path: str | Path) -> list[Article]:
    """The articles of a JSONL file: ``{"title", "text"}`` or ``{"contents"}``, whose first line is the title, in quotes as in
    wiki-18 or without. ValueError names file and line."""
    articles = []
    for where, row in lines_of(path):
        if isinstance(row.get("contents"), str):
            title, _, text = row["contents"].partition("\n")
            articles.append(Article(title.strip().strip('"'), text.strip()))
        elif isinstance(row.get("title"), str) and isinstance(row.get("text"), str):
            articles.append(Article(row["title"], row["text"]))
        else:
            keys = ", ".join(row) or "none"
            raise ValueError(f'{where}: its keys are {keys}, expected the strings "title" and "text", or "contents"')
    if not articles:
        raise ValueError(f"{path}: no article in it")
    return articles
