"""The template inverse: what a text of a language pack means is read back from its words alone."""

from dataclasses import replace
from itertools import product

import pytest

from amemgym_envs.amemgym.generator import GeneratorConfig, generate
from amemgym_envs.amemgym.generator.inverse import Inverse, Phrase, inverse, told
from amemgym_envs.amemgym.languages import DIRECTNESS, phrased, wording
from amemgym_envs.amemgym.scenario import ScenarioError

LANGUAGES = ["en", "zh"]
by_language = pytest.mark.parametrize("language", LANGUAGES)
SMALL = GeneratorConfig(seed=3, num_users=4, num_variables=6, num_periods=3, num_questions=4, num_changes_per_period=2)


def sentences(language):
    """(sentence, what it says) of everything that a user may say to tell a value."""
    for variable in wording(language).variables:
        for value, kind, first in product(variable.values, DIRECTNESS, (True, False)):
            for text in variable.sentences(value, kind, first=first, phrasings="all"):
                yield text, Phrase(kind, variable.name, value)


def said(language, count=3):
    """Some sentences of the language, each about another variable."""
    found = {}
    for text, phrase in sentences(language):
        found.setdefault(phrase.name, (text, phrase))
    return list(found.values())[:count]


def two_values(language):
    """A variable's name, two of its values, and a sentence for each."""
    variable = wording(language).variables[0]
    first, second = variable.values[:2]
    return variable.name, first, second, *(variable.implies[value]["event"][0] for value in (first, second))


@by_language
def test_every_sentence_of_the_pack_has_its_meaning_back(language):
    reader, count = inverse(language), 0
    for text, phrase in sentences(language):
        assert reader.read(text) == [phrase], text
        assert told([phrase]) == {phrase.name: phrase.value}
        count += 1
    assert count > 3000


@by_language
def test_every_other_phrase_tells_nothing(language):
    words, reader = wording(language), inverse(language)
    kinds = {
        "opener": (*words.openers, *words.news_openers),
        "off_topic": words.off_topic,
        "correction": words.corrections,
    }
    for kind, texts in kinds.items():
        for text in texts:
            assert reader.read(text) == [Phrase(kind)], text
            assert told([Phrase(kind)]) == {}


@by_language
def test_a_report_is_read_as_somebody_elses_word(language):
    words, reader = wording(language), inverse(language)
    people = (*words.personas["female"], *words.personas["male"])
    for i, (carrier, (text, phrase)) in enumerate(product(words.reports, said(language))):
        report = carrier.format(name=people[i % len(people)], said=text)
        assert reader.read(report) == [Phrase("report", phrase.name, phrase.value)]
        assert told(reader.read(report)) == {}


@by_language
def test_phrases_are_read_in_their_order_whatever_stands_between(language):
    words, reader = wording(language), inverse(language)
    parts = [(words.openers[0], Phrase("opener")), *said(language, 8), (words.off_topic[0], Phrase("off_topic"))]
    text = words.joiners.sentences.join(text for text, _ in parts)
    assert reader.read(text) == [phrase for _, phrase in parts]
    assert told(reader.read(text)) == {phrase.name: phrase.value for _, phrase in parts[1:-1]}
    assert reader.read("") == []


@by_language
@pytest.mark.parametrize("phrasings", ["train", "test"])
@pytest.mark.parametrize("difficulty", [*DIRECTNESS, "mixed"])
@pytest.mark.parametrize(("contradictions", "distractors"), [(0, 0), (1, 0), (0, 1), (0.5, 0.5)])
def test_what_is_told_is_what_is_exposed(language, phrasings, difficulty, contradictions, distractors):
    shares = {"contradictions": contradictions, "distractor_values": distractors, "states_per_session": 3}
    config = replace(SMALL, language=language, phrasings=phrasings, difficulty=difficulty, **shares)
    reader, kinds = inverse(language), set()
    for user in generate(config):
        for period in user.periods:
            for session in period.sessions:
                phrases = reader.read(session.query)
                assert told(phrases) == session.exposed_states
                corrected = [phrase for phrase in phrases if phrase.kind == "correction"]
                statements = [phrase for phrase in phrases if phrase.kind in DIRECTNESS]
                assert len(statements) == len(session.exposed_states) + len(corrected)
                kinds |= {phrase.kind for phrase in phrases}
    expected = set(DIRECTNESS) if difficulty == "mixed" else {difficulty}
    expected |= {"opener"} | ({"correction"} if contradictions else set()) | ({"report"} if distractors else set())
    assert kinds == expected


@by_language
def test_a_distractor_is_never_the_users_own_value(language):
    reader, people = inverse(language), [*wording(language).personas["female"], *wording(language).personas["male"]]
    for user in generate(replace(SMALL, num_users=60, language=language, distractor_values=1.0)):
        namesakes = [person for person in people if person in user.user_profile["name"]]
        for period in user.periods:
            for session in period.sessions:
                [report] = [phrase for phrase in reader.read(session.query) if phrase.kind == "report"]
                assert report.value != period.state[report.name] and report.value in user.state_schema[report.name]
                assert namesakes and not any(person in session.query for person in namesakes)


@by_language
def test_the_last_word_counts(language):
    words, reader = wording(language), inverse(language)
    name, first, second, says_first, says_second = two_values(language)
    for correction in words.corrections:
        text = words.joiners.sentences.join([says_first, correction, says_second])
        assert told(reader.read(text)) == {name: second}
        assert told(reader.read(words.joiners.sentences.join([text, correction, says_first]))) == {name: first}
        assert told(reader.read(words.joiners.sentences.join([says_first, correction]))) == {}


@by_language
def test_a_correction_takes_back_the_last_statement_only(language):
    words, reader = wording(language), inverse(language)
    (kept, phrase), (dropped, _) = said(language, 2)
    text = words.joiners.sentences.join([kept, dropped, words.corrections[0]])
    assert told(reader.read(text)) == {phrase.name: phrase.value}


@by_language
def test_two_values_without_a_correction_are_no_statement(language):
    words, reader = wording(language), inverse(language)
    name, first, second, says_first, says_second = two_values(language)
    with pytest.raises(ScenarioError, match=f"'{name}' is both '{first}' and '{second}', with no correction between"):
        told(reader.read(words.joiners.sentences.join([says_first, says_second])))
    assert told(reader.read(words.joiners.sentences.join([says_first, says_first]))) == {name: first}


@by_language
def test_what_cannot_be_read_is_quoted(language):
    words, reader = wording(language), inverse(language)
    gap, (text, _) = words.joiners.sentences, said(language)[0]
    with pytest.raises(ScenarioError, match="no phrase of the language pack starts with 'Zounds!'"):
        reader.read("Zounds!")
    with pytest.raises(ScenarioError, match="no phrase of the language pack starts with 'Zounds! What'"):
        reader.read(f"{text}{gap}Zounds! What")
    with pytest.raises(ScenarioError, match="no phrase"):
        reader.read(text[:-1])
    with pytest.raises(ScenarioError, match="no phrase"):
        reader.read(f"{text}{gap} ")
    report = words.reports[0].format(name="Zoe", said="Zounds!")
    with pytest.raises(ScenarioError, match="no phrase of the language pack starts with"):
        reader.read(report)


def test_sentences_need_what_the_pack_puts_between_them():
    reader, ((first, _), (second, _)) = inverse("en"), said("en", 2)
    with pytest.raises(ScenarioError, match="no phrase of the language pack continues"):
        reader.read(first + second)


def test_the_longest_phrase_is_read_where_several_start():
    words = wording("en")
    openers, corrections = (*words.openers, "Well.", "Well, then.", "Well. What now?"), (*words.corrections, "Well. What")
    reader = Inverse(replace(words, openers=openers, corrections=corrections))
    assert reader.read("Well. What now? Well. Well, then. Well. What") == [*[Phrase("opener")] * 3, Phrase("correction")]


def test_a_pack_whose_words_have_two_meanings_is_refused():
    words = wording("en")
    (text, phrase), (_, other) = said("en", 2)
    twice = replace(words, off_topic=(*words.off_topic, text))
    with pytest.raises(ScenarioError, match="two meanings for .* reword one in the language pack"):
        Inverse(twice)
    assert phrase != other


@by_language
def test_held_out_phrasings_are_never_heard_in_training(language):
    words = wording(language)
    held_out = [text for text in phrased(words.corrections, "test")]
    held_out += [part for carrier in phrased(words.reports, "test") for part in [carrier.split("{name}")[1].split("{said}")[0]]]
    queries = {}
    for phrasings in ("train", "test"):
        config = replace(SMALL, num_users=12, language=language, phrasings=phrasings, contradictions=1.0, distractor_values=1.0)
        queries[phrasings] = [s.query for user in generate(config) for period in user.periods for s in period.sessions]
    assert [text for text in held_out if any(text in query for query in queries["train"])] == []
    assert [text for text in held_out if not any(text in query for query in queries["test"])] == []
