"""The prompts: one text file each, whose {fields} are filled in one pass, so that braces in what is filled in stay."""

import re
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "prompts"
_FIELD = re.compile(r"\{([a-z_]+)\}")
NAMES: tuple[str, ...] = (
    "propose",
    "merge",
    "unify",
    "answers",
    "answer",
    "check_answer",
    "introduce",
    "period",
    "query",
    "check_query",
    "again",
    "follow_up",
    "follow_up_again",
)
_LANGUAGES = {
    "ar": "Arabic",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "hi": "Hindi",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "pt": "Portuguese",
    "ru": "Russian",
    "zh": "Simplified Chinese",
}


@cache
def template(name: str) -> str:
    return (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").strip()


def fields_of(name: str) -> set[str]:
    return set(_FIELD.findall(template(name)))


def prompt(name: str, /, **fields: str | int) -> str:
    """The prompt ``name``; a field that it has no place for is left out."""
    return _FIELD.sub(lambda match: str(fields[match.group(1)]), template(name))


def language_name(code: str) -> str:
    return _LANGUAGES.get(code, f"the language with the code {code!r}")
