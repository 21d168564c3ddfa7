"""Choices: told apart, of the right type, and (where templates wrote them) about their own state and nothing else."""

from collections.abc import Iterator

from amemgym_envs.amemgym.consistency import Fault, fault
from amemgym_envs.amemgym.generator.life import combination
from amemgym_envs.amemgym.languages.words import mentions
from amemgym_envs.amemgym.records import Scenario


def choice_faults(scenario: Scenario) -> Iterator[Fault]:
    for q, question in enumerate(scenario.questions):
        lived = {combination(period.state, question.required_info) for period in scenario.periods}
        texts: set[str] = set()
        for c, choice in enumerate(question.answer_choices):
            path = f"qas[{q}].answer_choices[{c}]"
            expected = "experience" if tuple(choice.state) in lived else "random"
            if choice.type != expected:
                yield fault(scenario, f"{path}.type", choice.type, f"{expected!r}, as the user's life says")
            if choice.answer in texts:
                yield fault(scenario, f"{path}.answer", choice.answer, "a text that no other choice of the question has")
            texts.add(choice.answer)


def wording_faults(scenario: Scenario) -> Iterator[Fault]:
    """Each answer names its own values and no other value of its question; the question names none."""
    for q, question in enumerate(scenario.questions):
        values = {value for name in question.required_info for value in scenario.state_schema[name]}
        named = [value for value in values if mentions(question.query, value)]
        if named:
            yield fault(scenario, f"qas[{q}].query", question.query, f"a question without {named[0]!r}, a value of the schema")
        for c, choice in enumerate(question.answer_choices):
            found = {value for value in values if mentions(choice.answer, value)}
            if found != set(choice.state):
                path = f"qas[{q}].answer_choices[{c}].answer"
                yield fault(scenario, path, choice.answer, f"a text with the values {choice.state} and no other")


def count_faults(scenario: Scenario) -> Iterator[Fault]:
    """``update_cnts``: how often each variable has changed by the end of the period, the initial one not counted."""
    counts = dict.fromkeys(scenario.state_schema, 0)
    for p, period in enumerate(scenario.periods):
        for name in period.updates if p else ():
            counts[name] = counts.get(name, 0) + 1
        if period.update_cnts != counts:
            yield fault(scenario, f"periods[{p}].update_cnts", period.update_cnts, f"{counts}, the changes so far", p)
