"""Actions that nobody should write: what a broken model, or somebody with bad intent, might."""

import re
from collections.abc import Callable

import numpy as np

FIXED = (
    *("", " ", "\n\t\r ", "\x00", "\ufeff", "Action:", "Action: Action:", "[", "]", "{}", "[]", "null", "()", "<>", "```"),
    *("\\", "'", '"'),
    *("'; DROP TABLE tasks; --", "1 OR 1=1", "' UNION SELECT sql FROM sqlite_master --", "ATTACH DATABASE '/etc/passwd' AS x"),
    *("PRAGMA writable_schema=1", "SELECT load_extension('x')", "DELETE FROM sqlite_master", "VACUUM INTO 'x.db'"),
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT 1000) SELECT max(n) FROM r",
    *("__import__('os').system('true')", "().__class__.__bases__[0].__subclasses__()", "exec('raise SystemExit')", "lambda: 0"),
    *("9**9**9", "{0.__class__.__init__.__globals__}", "%s%s%s%n", "${jndi:ldap://x}", "{{7*7}}", "$(exit 1)", "; exit"),
    *("../../../../etc/passwd", "/dev/zero", "file:///etc/passwd", "<script>alert(1)</script>"),
    *("<!ENTITY x SYSTEM 'file:///etc/passwd'>", "NaN", "-inf", "1e999", "-0", "0x10", "\u0663", "\u00b2"),
    *("\ud800", "a\udfffb", "\udcff" * 50, "\U0001f600" * 100, "e\u0301\u0301\u0301", "\u202egnirts", "\u200b\u200b"),
    "\U0001d7d9 \u0130\u0131\u017f\u212a\u212b",
    *("\x1b[2J\x1b[31m", "".join(map(chr, range(32))), "(a+)+$" * 50, "a" * 5000 + "!", "1" * 5000, "-" * 10_000),
    " " * 10_000 + "x",
    *("[" * 10_000, "{" * 10_000, '{"a":' * 3000, "(" * 10_000, "[" * 2000 + "]" * 2000, "<" * 10_000, "\n" * 10_000),
    "a, " * 5000,
    *("<search>" * 2000, "<answer>" * 2000 + "</answer>" * 2000, "<search></search>", "get 1 " * 3000, "x" * 100_000),
)
PIECES = (
    *("\x00", "\ud83d", "\u00e9", "\u2028", "'", '"', "\\", "\n", "[", "]", "{", "}", "(", ")", "<", ">", ",", ":", "=", "%s"),
    *("--", "0", "-1", "1e309", "9" * 400),
)
WRAPS = (
    *("Action: {}", "Action:\n{}\n", "[{}]", '"{}"', "```\n{}\n```", '{{"action": "{}"}}', "{}; {}", "{}\n{}", "  {}  "),
    *("Thought: x\nAction: {}", "eval({!r})", "{}()", "{} -- ", "<b>{}</b>"),
)


def garbage(rng: np.random.Generator, valid: str) -> str:
    """One garbage action; ``valid``: one that the environment understands, to spoil."""
    return KINDS[int(rng.integers(len(KINDS)))](rng, valid)


def _fixed(rng: np.random.Generator, valid: str) -> str:
    return FIXED[int(rng.integers(len(FIXED)))]


def _characters(rng: np.random.Generator, valid: str) -> str:
    """From all of Unicode, surrogates included."""
    most = (128, 256, 0x3000, 0x110000)[int(rng.integers(4))]
    return "".join(map(chr, rng.integers(most, size=int(rng.integers(1, 60)))))


def _nested(rng: np.random.Generator, valid: str) -> str:
    text = valid.replace('"', "'")
    for _ in range(int(rng.integers(1, 60))):
        around = (f'{{"a": "{text}"}}', f"[{text}]", f"({text},)", f'{{"{text}": [1, null, {{}}]}}', f"f({text})")
        text = around[int(rng.integers(5))]
    return text


def _spliced(rng: np.random.Generator, valid: str) -> str:
    """``valid`` with something put in, in one to three places."""
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(len(valid) + 1))
        valid = valid[:place] + PIECES[int(rng.integers(len(PIECES)))] + valid[place:]
    return valid


def _cut(rng: np.random.Generator, valid: str) -> str:
    first, last = sorted(int(place) for place in rng.integers(len(valid) + 1, size=2))
    return (valid[:first], valid[first:last], valid[:first] + valid[last:])[int(rng.integers(3))]


def _wrapped(rng: np.random.Generator, valid: str) -> str:
    return WRAPS[int(rng.integers(len(WRAPS)))].format(valid, valid)


def _numbers(rng: np.random.Generator, valid: str) -> str:
    """``valid`` with other numbers: negative, huge, no number at all."""
    other = ("-1", "0", "1.5", "1" * 5000, "1e308", "NaN", "٣", "²", "None", "true", "")[int(rng.integers(11))]
    return re.sub(r"\d+", other, valid)


def _words(rng: np.random.Generator, valid: str) -> str:
    """Its words, some doubled, some left out, in another order."""
    words = valid.split(" ")
    return " ".join(words[int(place)] for place in rng.integers(len(words), size=int(rng.integers(1, 2 * len(words) + 1))))


def _long(rng: np.random.Generator, valid: str) -> str:
    return (valid + " ") * (int(rng.integers(10_000, 40_000)) // (len(valid) + 1))


def _written(rng: np.random.Generator, valid: str) -> str:
    ways = (valid.upper(), valid.swapcase(), valid[::-1], valid.replace(" ", ""), valid.replace(" ", "\u00a0"))
    return ways[int(rng.integers(5))]


KINDS: tuple[Callable[[np.random.Generator, str], str], ...] = (
    _fixed, _fixed, _characters, _nested, _spliced, _spliced, _cut, _wrapped, _numbers, _words, _long, _written,
)  # fmt: skip
