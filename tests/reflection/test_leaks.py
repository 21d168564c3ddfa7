from types import SimpleNamespace

from amemgym_train.reflection.leaks import Secrets


def secrets(*values, name="Ann Li Marsh"):
    period = SimpleNamespace(state={"topic": values[0]})
    return Secrets([SimpleNamespace(state_schema={"topic": list(values)}, periods=[period], user_profile={"name": name})])


def test_values_are_found_as_words_of_their_own_in_any_case():
    guard = secrets("oat latte", "tea")
    assert guard.found_in("He drinks OAT\n latte.") == ["oat latte"]
    assert guard.found_in("A team of goatlattes.") == []
    assert guard.found_in("tea, or oat latte") == ["oat latte", "tea"]
    assert secrets("50% off (today)").found_in("take 50% off (today)!") == ["50% off (today)"]


def test_names_are_found_whole_and_in_parts_as_they_are_written():
    guard = secrets("tea")
    assert guard.found_in("Ann Li Marsh said") == ["ann", "ann li marsh", "marsh"]
    assert guard.found_in("as Marsh said") == ["marsh"]
    assert guard.found_in("a marsh, and Li") == []  # a word, and a part too short to tell


def test_marks_escapes_and_other_forms_of_letters_hide_nothing():
    guard = secrets("blue owl", "café au lait")
    for text in ("_blue owl_", "**Blue-Owl**", 'Reply: {"notes": "x:\\nblue owl"}', "blue\nowl", "blue\u00a0owl"):
        assert guard.found_in(text) == ["blue owl"], text
    for text in ("cafe\u0301 au lait", 'as {"x": "caf\\u00e9 au lait"}'):
        assert guard.found_in(text) == ["café au lait"], text


def test_values_that_overlap_are_each_looked_for():
    guard = secrets("green tea", "tea with milk")
    assert guard.found_in("green tea with milk", known="green tea") == ["tea with milk"]
    assert guard.found_in("blue\nowl", known="blue owl") == []


def test_what_the_prompt_said_before_is_no_leak():
    guard = secrets("tea", "oat latte")
    assert guard.found_in("tea, then oat latte", known="Example: tea") == ["oat latte"]


def test_scripts_that_part_no_words_are_searched_within_them():
    assert secrets("燕麦拿铁", name="李明").found_in("用户喜欢燕麦拿铁。") == ["燕麦拿铁"]
    assert secrets("Ölgemälde").found_in("ein Ölgemälde, keine Ölgemäldesammlung") == ["ölgemälde"]


def test_nobody_has_no_secrets():
    assert Secrets([]).found_in("anything at all") == []
