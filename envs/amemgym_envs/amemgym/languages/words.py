"""Words of a text, in scripts that separate them and in those that do not."""

import re
from functools import lru_cache

_KEPT = 100_000  # texts; a pack has some thousands, and files of any length are read with flat memory


def mentions(text: str, phrase: str) -> bool:
    """Whether ``phrase`` stands in ``text``: as whole words, or anywhere in a script that does not separate words.

    Case does not matter, and underscores separate words.
    """
    inner, outer = _plain(phrase), _plain(text)
    if not inner:
        return False
    return inner in outer.replace(" ", "") if unspaced(inner) else f" {inner} " in f" {outer} "


def words_of(text: str) -> list[str]:
    return _plain(text).split()


@lru_cache(_KEPT)
def unspaced(text: str) -> bool:
    """Whether ``text`` has Chinese or Japanese characters."""
    return bool(re.search(r"[\u3040-\u30ff\u3400-\u9fff]", text))


@lru_cache(_KEPT)
def _plain(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))
