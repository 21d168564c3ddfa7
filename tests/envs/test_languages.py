"""Language packs: what a held-out or leaked word would break silently, in every language that comes with the package."""

import re
import shutil
from collections import Counter
from dataclasses import fields

import pytest
import yaml

from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.languages import DIRECTNESS, FOLDER, SPLITS, Variable, languages, phrased, wording
from amemgym_envs.amemgym.languages.rules import problems
from amemgym_envs.amemgym.languages.words import mentions

ENGLISH = wording("en")
by_language = pytest.mark.parametrize("words", [wording(name) for name in languages()], ids=languages())


def test_english_and_chinese_are_there():
    assert languages() == ["en", "zh"]


@by_language
def test_a_pack_breaks_no_rule(words):
    assert problems(words) == []


@by_language
def test_a_pack_is_as_large_as_promised(words):
    assert len({v.domain for v in words.variables}) >= 14
    assert len(words.variables) >= 100
    assert len({*words.off_topic, *words.follow_ups}) == len(words.off_topic) + len(words.follow_ups) >= 260
    for variable in words.variables:
        for value in variable.values:
            said = {text for kind in DIRECTNESS for text in variable.sentences(value, kind, first=True, phrasings="all")}
            assert len(said) >= 12


@by_language
def test_each_split_has_room_for_a_base_user_and_its_own_variables(words):
    parts = [{v.name for v in words.split(s)} for s in SPLITS]
    assert sum(len(p) for p in parts) == len(set.union(*parts)) == len(words.split("all"))
    assert all(len(part) >= 20 for part in parts)
    assert all(len({v.domain for v in words.split(s)}) >= 5 for s in SPLITS)


@by_language
def test_each_kind_of_phrasing_has_a_held_out_part(words):
    for variable in words.variables:
        for value in variable.values:
            for kind in DIRECTNESS:
                for first in (True, False):
                    train, test, everything = (
                        variable.sentences(value, kind, first=first, phrasings=p) for p in ("train", "test", "all")
                    )
                    assert train and test and (*train, *test) == everything


@by_language
def test_no_sentence_is_said_of_two_values(words):
    meanings: dict[str, set[tuple[str, str]]] = {}
    for variable in words.variables:
        for value in variable.values:
            for kind in DIRECTNESS:
                for first in (True, False):
                    for text in variable.sentences(value, kind, first=first, phrasings="all"):
                        meanings.setdefault(text, set()).add((variable.name, value))
    assert not {text: meaning for text, meaning in meanings.items() if len(meaning) > 1}


@by_language
def test_personas_are_many(words):
    lists = words.personas
    assert len(set(lists["female"])) * len(set(lists["surnames"])) >= 1000
    assert all(len(set(texts)) == len(texts) for texts in lists.values() if isinstance(texts, tuple))


def test_english_values_do_not_overlap_and_carriers_read_well():
    values = [value for v in ENGLISH.variables for value in v.values]
    for value in values:
        assert [other for other in values if value in other] == [value]
    shared = {w: n for w, n in Counter(w for v in ENGLISH.variables for w in v.name.split()).items() if n > 1}
    assert shared == {}
    for v in ENGLISH.variables:
        for text in (v.name, *v.values):
            assert re.fullmatch(r"[a-z]+( [a-z]+)?", text), text
        for carrier in (*v.says, *v.changes):
            assert carrier[0].isupper() and carrier.endswith("."), carrier


def test_held_out_phrasings_are_the_last_third():
    says = ENGLISH.variables[0].says
    assert phrased(says, "train") == says[:4] and phrased(says, "test") == says[4:] and phrased(says, "all") == says


def test_a_pack_that_is_not_there_says_where_it_was_looked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    expected = f"looked for in {tmp_path}: go to the folder that the data was made in, or name an absolute path"
    with pytest.raises(ScenarioError, match=re.escape(expected)):
        wording("./packs/de")


def test_unknown_language_and_split_name_the_choices():
    with pytest.raises(ScenarioError, match="language is 'xx', expected one of en, zh, or ./a/folder with a talk.yaml"):
        wording("xx")
    with pytest.raises(ScenarioError, match="split is 'dev', expected one of train"):
        ENGLISH.split("dev")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("advice", ("drink it", "get {value}"), "advice entry 'drink it' must contain {value} exactly once"),
        ("values", ("tea",), "values are .'tea'., expected three or four distinct ones"),
        ("says", ("I like {value}.",), "says has 1 entries, expected at least 6"),
        ("says", (True,) * 6, "says has the entry True, expected a text"),
        ("split", "dev", "split is 'dev', expected one of train"),
        ("implies", {}, "implies is about .., expected its values"),
    ],
)
def test_a_variable_that_could_not_be_told_is_refused(key, value, message):
    good = {f.name: getattr(ENGLISH.variables[0], f.name) for f in fields(Variable)}
    with pytest.raises(ScenarioError, match=f"'coffee order': {message}"):
        Variable(**{**good, key: value})


@pytest.fixture
def pack(tmp_path):
    """A copy of the English pack, to be damaged."""
    return shutil.copytree(FOLDER / "en", tmp_path / "en")


def change(path, edit):
    content = yaml.safe_load(path.read_text())
    edit(content)
    path.write_text(yaml.safe_dump(content))


def test_a_folder_is_a_language(pack):
    assert wording(str(pack)).variables == ENGLISH.variables


@pytest.mark.parametrize(
    ("file", "edit", "message"),
    [
        ("talk.yaml", lambda t: t.pop("reports"), "talk has keys .* expected .*reports"),
        ("talk.yaml", lambda t: t["openers"].append(5), "openers has the entry 5, expected a text"),
        ("talk.yaml", lambda t: t["questions"].append("What fits?"), "'What fits.' must contain .topics. exactly once"),
        ("talk.yaml", lambda t: t["domains"].append("moods"), "moods.yaml: cannot be read"),
        ("talk.yaml", lambda t: t.update(bytes_per_token=0), "bytes_per_token is 0, expected a number above 0"),
        ("talk.yaml", lambda t: t["joiners"].update(items=5), "talk.yaml: joiners.items is 5, expected a text"),
        (
            "talk.yaml",
            lambda t: t.update(bytes_per_token=float("inf")),
            "talk.yaml: bytes_per_token is inf, expected a number above 0",
        ),
        ("talk.yaml", lambda t: t.update(instructions=["a"]), "talk.yaml: instructions has no session"),
        ("talk.yaml", lambda t: t.update(domains="food"), "talk.yaml: got a str, expected a list"),
        (
            "talk.yaml",
            lambda t: t["questions"].append("What {x} of {topics}?"),
            "talk.yaml: questions entry .* has a stray brace",
        ),
        ("talk.yaml", lambda t: t["events"].append("{ {topics}"), "talk.yaml: events entry .* has a stray brace"),
        ("talk.yaml", lambda t: t["reports"].append('{name}{0}: "{said}"'), "talk.yaml: reports entry .* has a stray brace"),
        (
            "personas.yaml",
            lambda p: p.update(name="{first} {mid} {last}"),
            "personas.yaml: personas.name entry .* has a stray brace",
        ),
        (
            "personas.yaml",
            lambda p: p["complementary"].append("{who}"),
            "personas.yaml: personas.complementary entry '{who}' has a stray",
        ),
        ("personas.yaml", lambda p: p.update(interests=["a", "b"]), "personas.interests has 2 texts, expected at least 3"),
        ("personas.yaml", lambda p: p.update(skills=["a"]), "personas.skills has 1 texts, expected at least 3"),
        (
            "variables/food.yaml",
            lambda v: v[0]["says"].append("My coffee order {0} is {value}."),
            "food.yaml: .* says entry .* has a stray",
        ),
        (
            "variables/food.yaml",
            lambda v: v[0]["advice"].append("take {value}}"),
            "food.yaml: .* advice entry .* has a stray brace",
        ),
        ("variables/food.yaml", lambda v: v[0].update(name=""), "food.yaml: variable '': name has the entry '', expected a text"),
        ("personas.yaml", lambda p: p.pop("surnames"), "personas.surnames is None, expected a list of texts"),
        ("variables/food.yaml", lambda v: v[0].pop("asks"), "food.yaml: variable 'coffee order' has keys .* expected .*asks"),
        ("variables/food.yaml", lambda v: v[0]["advice"].pop(), "food.yaml: variable 'coffee order': advice has 1 entries"),
    ],
)
def test_a_broken_pack_names_the_file_and_the_key(pack, file, edit, message):
    change(pack / file, edit)
    with pytest.raises(ScenarioError, match=message):
        wording(str(pack))


def test_yaml_that_is_none_and_tags_that_build_objects_are_refused(pack):
    for text in ("openers: [", "openers: !!python/object/apply:os.system ['true']"):
        (pack / "talk.yaml").write_text(text)
        with pytest.raises(ScenarioError, match="talk.yaml: no valid YAML"):
            wording.__wrapped__(str(pack))


def test_the_rules_find_a_leaked_value_and_a_sentence_that_names_its_value(pack):
    def leak(variables):
        variables[0]["implies"][variables[0]["values"][0]]["event"][0] = "Yesterday I had an oat latte."
        variables[1]["says"][0] = "My breakfast dish is {value}, with a flat white."

    change(pack / "variables/food.yaml", leak)
    change(pack / "off_topic.yaml", lambda texts: texts.append("What is in a flat white?"))
    found = problems(wording(str(pack)))
    assert any("'Yesterday I had an oat latte.' names 'oat latte' of 'coffee order'" in problem for problem in found)
    assert any("names 'flat white' of 'coffee order'" in problem and problem.startswith("food/breakfast") for problem in found)
    assert "'What is in a flat white?' names 'flat white'" in found


@pytest.mark.parametrize(
    ("file", "edit", "problem"),
    [
        ("talk.yaml", lambda t: t["openers"].append("Hi {you}."), "talk.yaml, openers: 'Hi {you}.' has a stray brace"),
        (
            "off_topic.yaml",
            lambda t: t.append("What is a } for?"),
            "off_topic.yaml, off_topic: 'What is a } for?' has a stray brace",
        ),
        ("talk.yaml", lambda t: t["reports"].append("{name} said {said}"), "'{name} said {said}' needs quotes around {said}"),
        ("talk.yaml", lambda t: t["corrections"].append(t["openers"][0]), "two meanings for"),
        ("off_topic.yaml", lambda t: t.append(ENGLISH.openers[0]), "two meanings for"),
        ("variables/food.yaml", lambda v: v[0].update(asks="my coffee order {"), "'my coffee order {' has a stray brace"),
    ],
)
def test_the_rules_find_what_could_not_be_read_back(pack, file, edit, problem):
    change(pack / file, edit)
    assert [text for text in problems(wording.__wrapped__(str(pack))) if problem in text]


def test_mentions_are_whole_words_and_in_chinese_any_place():
    assert mentions("An Oat_Latte, please.", "oat latte") and not mentions("boat lattes", "oat latte")
    assert mentions("我爱喝桂花乌龙茶", "桂花乌龙") and not mentions("我爱喝茶", "桂花乌龙")
    assert not mentions("anything", "")
