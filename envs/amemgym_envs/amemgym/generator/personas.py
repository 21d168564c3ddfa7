"""Who a generated user is: a profile with the public keys, made up from the language pack or taken from a file of personas."""

from random import Random
from typing import Any

from amemgym_envs.amemgym.generator.config import GeneratorConfig
from amemgym_envs.amemgym.generator.people import people
from amemgym_envs.amemgym.languages import SPLITS

PARTS = {"train": (0, 3), "validation": (3, 4), "test": (4, 5)}  # fifths of the surnames, or of a file's rows


def persona(config: GeneratorConfig, user: int) -> dict[str, Any]:
    """The profile of one user. With ``disjoint: personas`` no surname, or no row of the file, is in two splits."""
    rng = config.stream(user, "persona")
    if not config.personas:
        return _profile({"uuid": config.user_id(user)} | _made_up(config, rng))
    found = people(config.personas)
    rows = part(range(len(found)), config)
    if config.num_users > len(rows):
        config.fail("num_users", f"at most {len(rows)}, the personas of {config.personas} in split {config.split!r}")
    row = found.row(rows[Random(config.seed).sample(range(len(rows)), len(rows))[user % len(rows)]])
    facts = {key: value for key, value in row.items() if value not in (None, "")}
    return _profile(_made_up(config, rng, facts.get("gender")) | facts | {"uuid": config.user_id(user, str(row))})


def part(rows: Any, config: GeneratorConfig) -> Any:
    """The share of a sequence that belongs to the split; all of it when splits need not differ in their personas."""
    if config.disjoint != "personas" or config.split not in SPLITS:
        return rows
    first, last = PARTS[config.split]
    return [row for place, row in enumerate(rows) if first <= place % PARTS["test"][1] < last]


def _made_up(config: GeneratorConfig, rng: Random, gender: str | None = None) -> dict[str, Any]:
    lists = config.words.personas
    kind = rng.choice(["female", "male"])
    if gender and gender.lower() in ("female", "male"):
        kind = gender.lower()
    name = lists["name"].format(first=rng.choice(lists[kind]), last=rng.choice(part(lists["surnames"], config)))
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
