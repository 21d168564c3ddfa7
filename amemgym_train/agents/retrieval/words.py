"""The words of a text, as an index compares them: any language, case and accents gone."""

import re
import unicodedata

ASCII = re.compile("[a-z0-9]+")
RUN = re.compile(r"[^\W_]+")
# Han, kana and Hangul: writing without spaces, or with spaces between more than words.
UNSPACED = (
    r"\u1100-\u11ff\u3041-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7ff\uf900-\ufaff"
    r"\U00020000-\U0003ffff"
)
PART = re.compile(f"([{UNSPACED}]+)")
VOICED = "\u3099\u309a"  # the marks that make another kana, no accents


def words(text: str) -> list[str]:
    """In order, with repetitions. Chinese, Japanese and Korean come as overlapping pairs of characters and as single ones."""
    if text.isascii():
        return ASCII.findall(text.lower())
    found: list[str] = []
    for run in RUN.findall(_plain(text)):
        for number, part in enumerate(PART.split(run)):
            if number % 2:
                found += part
                found += [part[i : i + 2] for i in range(len(part) - 1)]
            elif part:
                found.append(part)
    return found


def _plain(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", "".join([c for c in apart if c in VOICED or not unicodedata.combining(c)]))
