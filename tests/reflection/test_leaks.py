from types import SimpleNamespace

from amemgym_train.reflection.leaks import Secrets


def secrets(*values, name="Ann Li Marsh"):
    period = SimpleNamespace(state={"topic": values[0]})
    return Secrets([SimpleNamespace(state_schema={"topic": list(values)}, periods=[period], user_profile={"name": name})])


def test_values_are_found_as_words_of_their_own_in_any_case():
    guard = secrets("oat latte", "tea")
    assert guard.found_in("He drinks OAT\n latte.") == ["oat\n latte"]
    assert guard.found_in("A team of goatlattes.") == []
    assert guard.found_in("tea, or oat latte") == ["oat latte", "tea"]
    assert secrets("50% off (today)").found_in("take 50% off (today)!") == ["50% off (today)"]


def test_names_are_found_whole_and_in_parts_as_they_are_written():
    guard = secrets("tea")
    assert guard.found_in("Ann Li Marsh said") == ["ann li marsh"]
    assert guard.found_in("as Marsh said") == ["marsh"]
    assert guard.found_in("a marsh, and Li") == []  # a word, and a part too short to tell


def test_what_the_prompt_said_before_is_no_leak():
    guard = secrets("tea", "oat latte")
    assert guard.found_in("tea, then oat latte", known="Example: tea") == ["oat latte"]


def test_scripts_that_part_no_words_are_searched_within_them():
    assert secrets("燕麦拿铁", name="李明").found_in("用户喜欢燕麦拿铁。") == ["燕麦拿铁"]
    assert secrets("Ölgemälde").found_in("ein Ölgemälde, keine Ölgemäldesammlung") == ["ölgemälde"]


def test_nobody_has_no_secrets():
    assert Secrets([]).found_in("anything at all") == []
