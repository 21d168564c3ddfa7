"""The quickstart model's tokenizer: one token per word, made from the toolkit's own texts.

A word costs one token and is the same token in a sentence, in a note and inside JSON, so copying a value means copying ids. Text
is lowercased. ``▁`` marks a word that stands after a space or opens a quotation, a bracket or a line; decoding tells which.
"""

import string
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from amemgym_train.agents.base import ACKNOWLEDGEMENT

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from amemgym_envs.amemgym.languages import Wording
    from amemgym_train.agents.templates import Prompt

PAD, UNKNOWN, END = "<|pad|>", "<|unknown|>", "<|end|>"
ROLES = ("system", "user", "assistant")
MARKS = tuple(f"<|{role}|>" for role in ROLES)
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ '<|end|>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
JSON_GLUE = ('{"', '": "', '", "', '"}', '": ["', '"], "', '"]}', '":')
OPENERS = r' "\n\[{('  # inside a character class: what a marked word may follow without swallowing a space
FOLLOW_UPS = 12  # of the language pack's; sessions of the quickstart have one round, in which none is said
# What frames the templates' sentences: the simulator's time, the transcript's speakers, the oracle's replies.
FRAME = ("[Current Time: ]", "User: Assistant: ", '{"answer": }')


def texts_of(wording: "Wording", prompts: "Iterable[Prompt]", domains: "Iterable[str]") -> Iterator[str]:
    """Every text that the model may meet, of held-out phrasings too: it cannot read a word that is not in its vocabulary.

    It is spoken to directly, about ``domains``: sentences that only imply a value, and off-topic talk, are beyond a model of this
    size. What else a language pack has is left out, so that a pack may grow and the model, with its figures, stays the same.
    """
    yield from (*FRAME, ACKNOWLEDGEMENT)
    for prompt in prompts:
        yield from (prompt.instruction, prompt.body, *prompt.examples)
    yield from (*wording.openers, *wording.news_openers, *wording.follow_ups[:FOLLOW_UPS], *wording.questions)
    for variable in wording.variables:
        if variable.domain in domains:
            yield from (variable.name, variable.asks, *variable.values)
            yield from (*variable.says, *variable.changes, *variable.advice)


def pipeline() -> Tokenizer:
    """Normaliser, splitter and decoder, still without a vocabulary."""
    glue = "|".join(sorted((part.replace("{", r"\{").replace("[", r"\[") for part in JSON_GLUE), key=len, reverse=True))
    tokenizer = Tokenizer(models.WordLevel({UNKNOWN: 0}, unk_token=UNKNOWN))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Lowercase(),
            normalizers.Replace(Regex(rf"(^|(?<=[{OPENERS}]))(?=\w)"), "▁"),
            normalizers.Replace(Regex(rf"(?<=[^{OPENERS}]) ▁"), "▁"),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(rf"{glue}|▁?[a-z']+|▁?[0-9]|\n|."), "isolated")
    tokenizer.decoder = decoders.Sequence(
        [decoders.Fuse(), decoders.Replace(Regex(rf"(^|(?<=[{OPENERS}]))▁"), ""), decoders.Replace("▁", " ")]
    )
    return tokenizer


def pieces(texts: Iterable[str]) -> list[str]:
    """The distinct tokens of ``texts``, sorted."""
    bare = pipeline()
    split = (bare.pre_tokenizer.pre_tokenize_str(bare.normalizer.normalize_str(text)) for text in texts)
    return sorted({piece for parts in split for piece, _ in parts})


def vocabulary(texts: Iterable[str]) -> list[str]:
    """Special tokens, JSON glue, digits and punctuation, and the words of ``texts``."""
    special = [PAD, UNKNOWN, END, *MARKS]
    characters = [*string.digits, *string.punctuation, *(f"▁{digit}" for digit in string.digits), "▁", " ", "\n"]
    return list(dict.fromkeys([*special, *JSON_GLUE, *characters, *pieces(texts)]))


def build_tokenizer(texts: Iterable[str]) -> "PreTrainedTokenizerFast":
    """A tokenizer with every word of ``texts``; roles and the end of a reply are special tokens."""
    from transformers import PreTrainedTokenizerFast

    tokenizer = pipeline()
    tokenizer.model = models.WordLevel({token: i for i, token in enumerate(vocabulary(texts))}, unk_token=UNKNOWN)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        unk_token=UNKNOWN,
        eos_token=END,
        additional_special_tokens=list(MARKS),
        chat_template=CHAT_TEMPLATE,
        padding_side="left",
    )
