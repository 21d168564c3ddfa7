"""Templates read backwards: openings, off-topic messages, questions and answers are of the pack, and say what the item says."""

from collections import Counter
from collections.abc import Iterator

from amemgym_envs.amemgym.consistency import Fault, fault
from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.generator.inverse import inverse, told
from amemgym_envs.amemgym.languages import Variable, Wording, wording
from amemgym_envs.amemgym.records import Choice, Question, Scenario
from amemgym_envs.amemgym.validation.exposure import sessions_of

Carriers = tuple[str, ...]


def opening_faults(scenario: Scenario) -> Iterator[Fault]:
    """An opening that exposes starts with an opener, and the inverse of the templates gives exactly ``exposed_states``."""
    reader = inverse(scenario.language)
    for p, path, session in sessions_of(scenario):
        if not session.exposed_states:
            continue
        try:
            phrases = reader.read(session.query)
            found = told(phrases)
        except ScenarioError as error:
            yield Fault(scenario.id, f"{path}.query", f"cannot be read back: {error}", p)
            continue
        if found != session.exposed_states:
            yield fault(scenario, f"{path}.query", found, f"{session.exposed_states}, the exposed states", p)
        elif phrases[0].kind != "opener":
            yield fault(scenario, f"{path}.query", session.query, "an opener of the language pack at the start", p)


def off_topic_faults(scenario: Scenario) -> Iterator[Fault]:
    """Off-topic sessions and messages are off-topic phrases of the pack and nothing else; any writer of ours takes them there."""
    reader = inverse(scenario.language)
    for p, path, session in sessions_of(scenario):
        openings = {} if session.exposed_states else {f"{path}.query": session.query}
        for field, text in (openings | {f"{path}.off_topic[{i}]": text for i, text in enumerate(session.off_topic)}).items():
            try:
                kinds = {phrase.kind for phrase in reader.read(text)}
            except ScenarioError as error:
                yield Fault(scenario.id, field, f"cannot be read back: {error}", p)
                continue
            if kinds != {"off_topic"}:
                yield fault(scenario, field, text, "off-topic phrases of the language pack and nothing else", p)


def question_faults(scenario: Scenario) -> Iterator[Fault]:
    """The inverse of ``build_question``: a question of the pack about its variables, and answers that are their advice."""
    words = wording(scenario.language)
    variables = {variable.name: variable for variable in words.variables}
    strange = list(_schema_faults(scenario, variables))
    yield from strange
    if strange:
        return
    for q, question in enumerate(scenario.questions):
        asked = [variables[name] for name in question.required_info]
        topics = words.listed([variable.asks for variable in asked])
        if question.query not in {text.format(topics=topics) for text in words.questions}:
            yield fault(scenario, f"qas[{q}].query", question.query, f"a question of the language pack about {topics}")
        yield from _answer_faults(scenario, f"qas[{q}]", question, asked, words)


def _schema_faults(scenario: Scenario, variables: dict[str, Variable]) -> Iterator[Fault]:
    for name, values in scenario.state_schema.items():
        known = variables[name].values if name in variables else ()
        if not known:
            yield fault(scenario, "state_schema", name, f"a variable of language {scenario.language!r}")
        elif strange := [value for value in values if value not in known]:
            yield fault(scenario, f"state_schema.{name}", strange[0], f"one of {list(known)}, its values in the language pack")


def _answer_faults(scenario: Scenario, path: str, question: Question, asked: list[Variable], words: Wording) -> Iterator[Fault]:
    """One set of carriers words all choices of a question: the one that fits most of them."""
    fitting = [_carriers(choice, asked, words) for choice in question.answer_choices]
    counts = Counter(carriers for some in fitting for carriers in some)
    usual = counts.most_common(1)[0][0] if counts else tuple(variable.advice[0] for variable in asked)
    for c, (choice, some) in enumerate(zip(question.answer_choices, fitting, strict=True)):
        if usual not in some:
            parts = [carrier.format(value=value) for carrier, value in zip(usual, choice.state, strict=True)]
            expected = f"{words.listed(parts, words.joiners.advice)!r}, worded as the other choices are"
            yield fault(scenario, f"{path}.answer_choices[{c}].answer", choice.answer, expected)


def _carriers(choice: Choice, asked: list[Variable], words: Wording) -> set[Carriers]:
    """Every way to make the choice's answer of one piece of advice per value; hardly ever more than one."""
    ways: list[tuple[Carriers, int]] = [((), 0)]  # and where it ends in the answer
    for i, (variable, value) in enumerate(zip(asked, choice.state, strict=True)):
        joiner = "" if not i else words.joiners.items if i < len(asked) - 1 else words.joiners.advice
        ways = [
            ((*carriers, carrier), place + len(piece))
            for carriers, place in ways
            for carrier in variable.advice
            if choice.answer.startswith(piece := joiner + carrier.format(value=value), place)
        ]
    return {carriers for carriers, place in ways if place == len(choice.answer)}
