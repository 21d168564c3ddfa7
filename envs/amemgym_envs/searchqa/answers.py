"""When an answer is right: exact match after SQuAD's normalisation (Rajpurkar et al., 2016)."""

import re
import string
from collections.abc import Iterable

_DROP = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalised(text: str) -> str:
    """``text`` in small letters, without punctuation and English articles, with single spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_DROP)).split())


def is_right(answer: str, golden: Iterable[str]) -> bool:
    wanted = normalised(answer)
    return any(normalised(one) == wanted for one in golden)
