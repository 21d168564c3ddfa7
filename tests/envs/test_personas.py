"""Who users are: made up from the language pack, or rows of a file; and what no two splits share."""

import json
from dataclasses import replace
from itertools import product

import pytest

from amemgym_envs.amemgym.generator import GeneratorConfig, generate
from amemgym_envs.amemgym.generator.people import NEEDED, people
from amemgym_envs.amemgym.generator.personas import persona
from amemgym_envs.amemgym.languages import SPLITS, wording
from amemgym_envs.amemgym.scenario import ScenarioError

SMALL = GeneratorConfig(seed=3, num_users=4, num_variables=4, num_periods=1, num_questions=3, num_changes_per_period=1)
PERSONAS = replace(SMALL, disjoint="personas")
KEYS = [
    *("uuid", "name", "age", "gender", "marital_status", "education_level", "occupation"),
    *("hobbies_and_interests", "skills_and_expertise", "complementary_info", "formatted_str"),
]


def row(i):
    """A row with the columns of Nemotron-Personas; the place in the file can be told from the age."""
    first = ["Mary", "Tom Lee", "José", "Anne-Marie", "Sinéad"][i % 5]
    name = f"{first} O’Connor"
    return {
        "uuid": f"row {i}",
        "professional_persona": f"{name} keeps the books of a small firm.",
        "persona": f"A careful person, {i} years in the trade.",
        "skills_and_expertise": "Plain text about skills.",
        "skills_and_expertise_list": "['budgets', \"a planner's eye\", 'chess']",
        "hobbies_and_interests": "Plain text about hobbies.",
        "hobbies_and_interests_list": None,
        "sex": "Female" if i % 2 else "Male",
        "age": 20 + i,
        "marital_status": "widowed",
        "education_level": "bachelors",
        "bachelors_field": "stem" if i % 2 else "",
        "occupation": "bookkeeper",
        "city": "Erie",
    }


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n\n" for row in rows), encoding="utf-8")


def write_parquet(path, rows):
    from pyarrow import Table, parquet

    parquet.write_table(Table.from_pylist(rows), path, row_group_size=4)


WRITERS = {"jsonl": write_jsonl, "parquet": write_parquet}


@pytest.fixture(params=WRITERS)
def write(tmp_path, request):
    """Writes rows into a file of either kind; returns its path as a setting."""

    def run(rows, name="people"):
        path = tmp_path / f"{name}.{request.param}"
        WRITERS[request.param](path, rows)
        return str(path)

    return run


def places(config):
    """The rows of the file whom the users of the settings are, by their ages."""
    return [user.user_profile["age"] - 20 for user in generate(config)]


def surnames(config):
    """Every surname of the pack that fits the name of a user."""
    lists = config.words.personas
    pairs = product((*lists["female"], *lists["male"]), lists["surnames"])
    names = {lists["name"].format(first=first, last=last): last for first, last in pairs}
    return {names[persona(config, user)["name"]] for user in range(config.num_users)}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_splits_of_personas_share_no_surname(language):
    config = replace(PERSONAS, num_users=400, language=language)
    train, validation, test = (surnames(replace(config, split=split)) for split in SPLITS)
    assert not train & validation and not train & test and not validation & test
    assert len(train | validation | test) == len(set(wording(language).personas["surnames"]))
    assert len(train) > 2 * len(test) > 10
    shared = [surnames(replace(config, split=split, disjoint="variables")) for split in SPLITS]
    assert shared[0] & shared[1] & shared[2]


def test_splits_of_personas_have_all_variables_and_lives_of_their_own():
    train, test = (generate(replace(PERSONAS, num_users=12, split=split)) for split in ("train", "test"))
    assert {name for user in train for name in user.state_schema} & {name for user in test for name in user.state_schema}
    assert not {user.id for user in train} & {user.id for user in test}
    assert [user.state_schema for user in train] != [user.state_schema for user in test]
    known = {variable.name: variable.split for variable in wording().variables}
    assert {known[name] for user in train for name in user.state_schema} == set(SPLITS)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_profile_has_the_public_keys_and_says_them_as_text(language):
    for user in generate(replace(SMALL, language=language)):
        profile = user.user_profile
        assert list(profile) == KEYS and profile["uuid"] == user.id
        assert profile["formatted_str"].splitlines() == [f"{key}: {profile[key]}" for key in KEYS[1:-1]]
        assert 22 <= profile["age"] <= 66 and "{" not in profile["formatted_str"]


def test_a_persona_of_a_file_is_its_row(write):
    rows = [row(i) for i in range(10)]
    config = replace(SMALL, personas=write(rows), num_users=10)
    for user in generate(config):
        profile = user.user_profile
        source = rows[profile["age"] - 20]
        assert set(profile) == set(KEYS) and profile["uuid"] == user.id
        assert profile["name"] == source["professional_persona"].split(" keeps")[0]
        assert profile["gender"] == source["sex"] and profile["occupation"] == "bookkeeper"
        assert profile["complementary_info"] == source["persona"]
        assert profile["education_level"] == ("bachelors (stem)" if source["bachelors_field"] else "bachelors")
        assert profile["skills_and_expertise"] == "budgets, a planner's eye, chess"  # the list that the column shows
        assert profile["hobbies_and_interests"] == "Plain text about hobbies."  # no list: the text itself
        assert f"name: {profile['name']}\n" in profile["formatted_str"] and "Erie" not in profile["formatted_str"]


def test_lists_of_values_are_shown_as_text(write):
    rows = [row(0) | {"skills_and_expertise_list": ["one thing", "two"], "hobbies_and_interests_list": "none to speak of"}]
    [user] = generate(replace(SMALL, personas=write(rows), num_users=1))
    assert user.user_profile["skills_and_expertise"] == "one thing, two"
    assert user.user_profile["hobbies_and_interests"] == "Plain text about hobbies."


def test_a_name_is_a_column_or_found_in_a_text_or_made_up(write):
    nameless = {"professional_persona": "keeps the books."}
    rows = [
        row(0) | nameless | {"name": "Li Wei"},
        row(1) | nameless | {"name": "", "persona": "Grace B. Hopper-Smith, a pioneer, likes clocks."},
        row(2) | nameless | {"name": None},
    ]
    users = generate(replace(SMALL, personas=write(rows), num_users=3))
    names = {user.user_profile["age"]: user.user_profile["name"] for user in users}
    assert (names[20], names[21]) == ("Li Wei", "Grace B. Hopper-Smith")
    first, _, last = names[22].partition(" ")
    assert first in wording().personas["male"] and last in wording().personas["surnames"]


def test_what_a_row_leaves_empty_is_made_up(write):
    [user] = generate(replace(SMALL, personas=write([row(0) | {"occupation": None, "marital_status": ""}]), num_users=1))
    assert user.user_profile["occupation"] in wording().personas["occupations"]
    assert user.user_profile["marital_status"] in wording().personas["marital_status"]


def test_each_row_is_taken_once_before_any_is_taken_again(write):
    config = replace(SMALL, personas=write([row(i) for i in range(10)]), num_users=10)
    assert sorted(places(config)) == list(range(10)) != places(config)
    assert places(replace(config, user_offset=10)) == places(config)
    assert places(replace(config, num_users=4, user_offset=3)) == places(config)[3:7]
    assert sorted(places(replace(config, seed=4))) == list(range(10)) and places(replace(config, seed=4)) != places(config)


def test_rows_are_divided_between_splits(write):
    config = replace(PERSONAS, personas=write([row(i) for i in range(23)]))
    parts = {}
    for split, count in (("train", 15), ("validation", 4), ("test", 4)):
        parts[split] = places(replace(config, split=split, num_users=count))
        with pytest.raises(ScenarioError, match=f"num_users: got {count + 1}, expected at most {count}, the personas of"):
            generate(replace(config, split=split, num_users=count + 1))
    assert sorted(place for part in parts.values() for place in part) == list(range(23))
    whole = replace(config, split="all", num_users=23)
    assert sorted(places(whole)) == list(range(23))


def test_users_do_not_depend_on_where_the_file_lies(write):
    rows = [row(i) for i in range(6)]
    here, there = (replace(SMALL, personas=write(rows, name)) for name in ("here", "there"))
    assert generate(here) == generate(there)
    other = replace(SMALL, personas=write([row(i) | {"occupation": "baker"} for i in range(6)], "other"))
    assert not {user.id for user in generate(here)} & {user.id for user in generate(other)}
    plain = generate(SMALL)
    assert [user.periods for user in generate(here)] == [user.periods for user in plain]  # the life is not the persona's
    assert not {user.id for user in generate(here)} & {user.id for user in plain}


@pytest.mark.parametrize("column", NEEDED)
def test_a_column_that_is_missing_is_named(write, column):
    rows = [{key: value for key, value in row(i).items() if key != column} for i in range(4)]
    with pytest.raises(ScenarioError, match=f"people.*, row [0-3]: no {column}; expected the columns persona, sex, age"):
        generate(replace(SMALL, personas=write(rows)))


def test_too_few_rows_are_told(write):
    with pytest.raises(ScenarioError, match="num_users: got 4, expected at most 3, the personas of"):
        generate(replace(SMALL, personas=write([row(i) for i in range(3)])))


def test_empty_files_are_told(tmp_path):
    from pyarrow import parquet, schema, string

    (tmp_path / "empty.jsonl").write_text("\n\n")
    parquet.ParquetWriter(tmp_path / "empty.parquet", schema([("persona", string())])).close()
    for name in ("empty.jsonl", "empty.parquet"):
        with pytest.raises(ScenarioError, match=f"personas: .*{name} has no rows"):
            generate(replace(SMALL, personas=str(tmp_path / name)))


@pytest.mark.parametrize("name", ["people.csv", "people", "absent.jsonl", "absent.parquet"])
def test_files_of_other_kinds_and_absent_ones_are_told(tmp_path, name):
    if not name.startswith("absent"):
        (tmp_path / name).write_text("a,b\n")
    with pytest.raises(ScenarioError, match=f"personas: .*{name} is no file that ends in .parquet or .jsonl; check the path"):
        generate(replace(SMALL, personas=str(tmp_path / name)))


def test_a_parquet_file_that_is_none_is_told(tmp_path):
    write_parquet(tmp_path / "whole.parquet", [row(i) for i in range(9)])
    raw = (tmp_path / "whole.parquet").read_bytes()
    for name, content in (("text", b"hello"), ("nothing", b""), ("torn", raw[: len(raw) // 2])):
        (tmp_path / f"{name}.parquet").write_bytes(content)
        with pytest.raises(ScenarioError, match=f"{name}.parquet: no readable parquet file .*; download it again"):
            generate(replace(SMALL, personas=str(tmp_path / f"{name}.parquet")))


def test_a_broken_line_is_told_with_its_row_and_only_when_it_is_read(tmp_path):
    path = tmp_path / "people.jsonl"
    lines = [json.dumps(row(0)), '{"persona": "cut o', "[1, 2]"]
    path.write_text("\n".join(lines))
    found = people(str(path))
    assert len(found) == 3 and found.row(0)["age"] == 20
    with pytest.raises(ScenarioError, match="people.jsonl, row 1: no valid JSON .*; expected one object per line"):
        found.row(1)
    with pytest.raises(ScenarioError, match="people.jsonl, row 2: got a list, expected an object"):
        found.row(2)
    with pytest.raises(ScenarioError, match="row [12]: "):
        generate(replace(SMALL, personas=str(path), num_users=3))


@pytest.mark.parametrize("column", ["name", "sex", "occupation", "persona", "skills_and_expertise"])
@pytest.mark.parametrize("value", [5, True, {"a": 1}])
def test_a_value_that_is_no_text_is_told(tmp_path, column, value):
    path = tmp_path / "people.jsonl"
    write_jsonl(path, [row(0) | {"skills_and_expertise_list": None, column: value}])
    with pytest.raises(ScenarioError, match=f"people.jsonl, row 0: {column} is .*, expected a text"):
        people(str(path)).row(0)


@pytest.mark.parametrize("age", ["true", "[1]", "Infinity"])
def test_an_age_that_is_none_is_told(tmp_path, age):
    path = tmp_path / "people.jsonl"
    path.write_text(json.dumps(row(0) | {"age": "?"}).replace('"?"', age))
    with pytest.raises(ScenarioError, match="people.jsonl, row 0: age is .*, expected a number"):
        people(str(path)).row(0)


def test_an_age_that_a_table_lacks_is_made_up(tmp_path):
    path = tmp_path / "people.parquet"
    write_parquet(path, [row(0) | {"age": float("nan")}])
    [user] = generate(replace(SMALL, personas=str(path), num_users=1))
    assert 22 <= user.user_profile["age"] <= 66


@pytest.mark.parametrize("column", ["name", "occupation", "persona"])
def test_half_a_character_is_told(tmp_path, column):
    path = tmp_path / "people.jsonl"
    path.write_text(json.dumps(row(0) | {column: "Ann \ud83d Lee"}))
    with pytest.raises(ScenarioError, match="people.jsonl, row 0: half of a character in its texts .*; mend that row"):
        people(str(path)).row(0)


def test_a_damaged_row_group_is_told_when_it_is_read(tmp_path):
    from pyarrow import Table, parquet

    path, rows = tmp_path / "people.parquet", [row(i) for i in range(8)]
    parquet.write_table(Table.from_pylist(rows), path, row_group_size=4, compression="gzip")
    group = parquet.ParquetFile(path).metadata.row_group(1)
    start = min(group.column(i).dictionary_page_offset or group.column(i).data_page_offset for i in range(group.num_columns))
    raw = bytearray(path.read_bytes())
    raw[start : start + 400] = bytes(400)
    path.write_bytes(raw)
    found = people(str(path))
    assert found.row(0)["age"] == 20
    with pytest.raises(ScenarioError, match="people.parquet, row 4: cannot be read .*; download the file again"):
        found.row(4)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("A Careful person keeps bees.", None),
        ("I Am who I am.", None),
        ("Mary likes tea.", None),
        ("Ed O likes tea.", None),
        ("Élodie Ōta likes tea.", "Élodie Ōta"),
        ("élodie ōta likes tea.", None),
        ("J. R. Smith likes tea.", None),
        ("J. Ronald Smith likes tea.", "J. Ronald Smith"),
    ],
)
def test_a_name_has_two_capitalised_words_of_two_letters_or_more(tmp_path, text, name):
    path = tmp_path / "people.jsonl"
    write_jsonl(path, [row(0) | {"professional_persona": None, "persona": text}])
    assert people(str(path)).row(0)["name"] == name
