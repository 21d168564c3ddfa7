"""Rescoring of the public AMemGym code's result folders: every figure anew from the raw replies, none taken from the files.

An unparsable answer is counted, and is wrong. The public code gives it a random choice, and so does ``unparsable="random"``: a
choice stored for it (``json_error`` true with a ``response``) is kept, otherwise one is drawn by a generator seeded with
"42/<agent>/<user>/<period>/<question>" (upper bound: "42/upperbound/<user>/<question>/<choice>"), so that no order matters. A
reply that json_repair can mend counts as parsable, and so does one that quotes its choice word for word. A state that a probe's
reply lacks is not known, in both modes.
"""

import random
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from amemgym_envs.amemgym.scenario import Question, Scenario, ScenarioError, load_scenarios
from amemgym_train.agents.parsing import parse_answer, parse_states
from amemgym_train.errors import UserError
from amemgym_train.evaluation.memory import UpperBound, report
from amemgym_train.evaluation.results import ANSWERS, PROBES, UPPER, ResultFile, Run, find_runs, open_run_file, open_upper
from amemgym_train.rollout.records import Answer, Episode, Probe

Unparsable = Literal["wrong", "random"]


@dataclass(frozen=True)
class Row:
    """The figures of one agent and user, from 0 to 1, defined as in ``evaluation.memory.Report``.

    ``upper`` and ``memory_score`` are None without an upper bound; ``note`` says where it was looked for, or how many periods the
    memory score leaves out. ``unparsable`` counts the replies of which nothing could be read: answers, probes ("read") and
    answers of the upper bound ("upper").
    """

    agent: str
    user: str
    overall: float
    upper: float | None
    random: float
    memory_score: float | None
    write: float
    read: float
    utilisation: float
    unparsable: dict[str, int]
    note: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def rescore(data_path: str | Path, results_dir: str | Path, unparsable: Unparsable = "wrong") -> list[Row]:
    """One row per agent and user in ``results_dir``: the folder of all agents, of one agent, or of one of its users.

    Raises UserError naming file, user and field if a file is missing, broken, or does not belong to the data file.
    """
    if unparsable not in get_args(Unparsable):
        raise UserError(f"unparsable is {unparsable!r}; expected one of {', '.join(get_args(Unparsable))}")
    try:
        scenarios = {scenario.id: scenario for scenario in load_scenarios(data_path)}
    except ScenarioError as error:
        raise UserError(str(error)) from error
    return [_row(run, scenarios[run.user], unparsable) for run in find_runs(Path(results_dir), scenarios)]


def _row(run: Run, scenario: Scenario, unparsable: Unparsable) -> Row:
    episode, missed = _episode(run, scenario, unparsable)
    file = open_upper(run, [len(question.answer_choices) for question in scenario.questions])
    upper, upper_missed = _upper(file, run, scenario, unparsable) if file else (None, 0)
    scores = report([episode], upper)
    return Row(
        agent=run.agent,
        user=run.user,
        overall=scores.overall,
        upper=scores.upper if file else None,
        random=scores.random,
        memory_score=scores.memory_score if file else None,
        write=scores.write,
        read=scores.read,
        utilisation=scores.utilisation,
        unparsable={"answer": missed, "read": scores.parse_failures["read"], "upper": upper_missed},
        note=_note(run, scores.undefined_periods) if file else _missing_upper(run),
    )


def _missing_upper(run: Run) -> str:
    places = " and ".join(str(place) for place in run.upper_places)
    return f"{run.agent}: - stands for no upper bound, hence no memory score: no <user>.json or <user>.json.gz in {places}"


def _note(run: Run, undefined: int) -> str | None:
    if not undefined:
        return None
    return f"memory score of {run.user} by {run.agent}: {undefined} periods left out, no headroom above a blind pick"


def _episode(run: Run, scenario: Scenario, unparsable: Unparsable) -> tuple[Episode, int]:
    """The results as an episode without turns, and how many answers could not be read."""
    sizes = [len(scenario.questions)] * len(scenario.periods)
    answers, probes = open_run_file(run, ANSWERS, sizes), open_run_file(run, PROBES, sizes)
    episode = Episode("AMemGym-v0", run.user, 0, run.user)
    missed = 0
    for period, truth in enumerate(scenario.periods):
        for index, question in enumerate(scenario.questions):
            golden, choices = scenario.golden(period, index), question.answer_choices
            _check(answers, period, index, question, golden)
            response, read = _choice(answers, period, index, question, run.agent, unparsable)
            missed += not read
            episode.answers.append(Answer(period, index, len(choices), golden, response, None))
            schema = {name: scenario.state_schema[name] for name in question.required_info}
            expected = {name: truth.state[name] for name in schema}
            written = {name: scenario.write_period(period, name) for name in schema}
            named, _ = parse_states(probes.reply(period, index), schema)
            episode.probes.append(Probe(period, index, expected, named, written, None))
    return episode, missed


def _upper(file: ResultFile, run: Run, scenario: Scenario, unparsable: Unparsable) -> tuple[UpperBound, int]:
    """The upper bound per choice, and how many of its answers could not be read."""
    bound: dict[tuple[str, int, int], float] = {}
    missed = 0
    for index, question in enumerate(scenario.questions):
        for choice in range(len(question.answer_choices)):
            _check(file, index, choice, question, choice)
            response, read = _choice(file, index, choice, question, UPPER, unparsable)
            missed += not read
            bound[run.user, index, choice] = float(response == choice)
    return bound, missed


def _choice(
    file: ResultFile, row: int, column: int, question: Question, agent: str, unparsable: Unparsable
) -> tuple[int | None, bool]:
    """The 0-based choice of a reply, None if it counts as wrong, and whether it was read from the text."""
    texts = [choice.answer for choice in question.answer_choices]
    choices = len(texts)
    response, _ = parse_answer(file.reply(row, column), choices, texts)
    if unparsable == "random":
        item = file.rows[row][column]
        stored = item.get("response")
        if item.get("json_error") is True and type(stored) is int and 1 <= stored <= choices:
            return stored - 1, False
        if response is None:
            return random.Random(f"42/{agent}/{file.user}/{row}/{column}").randrange(choices), False
    return response, response is not None


def _check(file: ResultFile, row: int, column: int, question: Question, golden: int) -> None:
    file.check(row, column, "query", question.query)
    file.check(row, column, "answer_state", list(question.answer_choices[golden].state))
