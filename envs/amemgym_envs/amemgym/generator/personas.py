"""Who a generated user is: a profile with the public keys, made up from the language pack or taken from a file of personas."""

from collections.abc import Sequence
from functools import lru_cache
from random import Random
from typing import Any, TypeVar

from amemgym_envs.amemgym.generator.config import GeneratorConfig
from amemgym_envs.amemgym.generator.people import people
from amemgym_envs.amemgym.languages import SPLITS

T = TypeVar("T")
PARTS = {"train": (0, 3), "validation": (3, 4), "test": (4, 5)}  # fifths of the surnames, or of a file's rows


def persona(config: GeneratorConfig, user: int) -> dict[str, Any]:
    """The profile of one user. With ``disjoint: personas`` no surname, or no row of the file, is in two splits."""
    rng = config.stream(user, "persona")
    if not config.personas:
        return _profile({"uuid": config.user_id(user)} | _made_up(config, rng))
    found = people(config.personas)
    rows = _mixed(len(found), config.split if config.disjoint == "personas" else "all", config.seed)
    if config.num_users > len(rows):
        config.fail("num_users", f"at most {len(rows)}, the personas of {config.personas} in split {config.split!r}")
    row = found.row(rows[user % len(rows)])
    facts = {key: value for key, value in row.items() if value not in (None, "")}
    return _profile(_made_up(config, rng, facts.get("gender")) | facts | {"uuid": config.user_id(user, str(row))})


@lru_cache(4)
def _mixed(count: int, split: str, seed: int) -> list[int]:
    """The rows of a file that belong to ``split``, in the order in which users get them: drawn once, not for every user."""
    rows = part(range(count), split)
    return Random(seed).sample(rows, len(rows))


def part(entries: Sequence[T], split: str) -> Sequence[T]:
    """The share of ``entries`` that belongs to ``split``; all of them for "all"."""
    if split not in SPLITS:
        return entries
    first, last = PARTS[split]
    return [entry for place, entry in enumerate(entries) if first <= place % PARTS["test"][1] < last]


def _made_up(config: GeneratorConfig, rng: Random, gender: str | None = None) -> dict[str, Any]:
    lists = config.words.personas
    kind = rng.choice(["female", "male"])
    if gender and gender.lower() in ("female", "male"):
        kind = gender.lower()
    surnames = part(lists["surnames"], config.split if config.disjoint == "personas" else "all")
    name = lists["name"].format(first=rng.choice(lists[kind]), last=rng.choice(surnames))
    return {
        "name": name,
        "age": rng.randint(22, 66),
        "gender": lists["genders"][kind],
        "marital_status": rng.choice(lists["marital_status"]),
        "education_level": rng.choice(lists["education_level"]),
        "occupation": rng.choice(lists["occupations"]),
        "hobbies_and_interests": config.words.joiners.items.join(rng.sample(lists["interests"], 3)),
        "skills_and_expertise": config.words.joiners.items.join(rng.sample(lists["skills"], 3)),
        "complementary_info": rng.choice(lists["complementary"]).format(name=name),
    }


def _profile(facts: dict[str, Any]) -> dict[str, Any]:
    text = "\n".join(f"{key}: {value}" for key, value in facts.items() if key != "uuid")
    return {"uuid": facts["uuid"]} | facts | {"formatted_str": text}
