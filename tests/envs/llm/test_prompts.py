"""The prompts as files."""

from pathlib import Path

from amemgym_envs.amemgym.llm import prompts

FOLDER = Path(prompts.__file__).parent / "prompts"


def test_every_file_has_its_name_and_every_name_its_file():
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(prompts.NAMES)


def test_prompts_can_be_told_apart_by_their_first_line():
    assert len({prompts.template(name).splitlines()[0] for name in prompts.NAMES}) == len(prompts.NAMES)


def test_only_those_who_write_know_the_person_and_the_language():
    writing = {"propose", "answers", "answer", "introduce", "period", "query", "follow_up"}
    assert {name for name in prompts.NAMES if "person" in prompts.fields_of(name)} == writing
    assert {name for name in prompts.NAMES if "language" in prompts.fields_of(name)} == writing


def test_what_is_filled_in_is_not_filled_again():
    text = prompts.prompt("again", problem='braces: {problem} {"a": 1}', unused="x")
    assert 'braces: {problem} {"a": 1}' in text


def test_unknown_languages_are_named_by_their_code():
    assert prompts.language_name("zh") == "Simplified Chinese"
    assert prompts.language_name("tlh") == "the language with the code 'tlh'"
