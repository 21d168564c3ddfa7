"""The result files of the public AMemGym code, written from our episodes: what ``results.py`` reads.

``response`` and ``response_state`` are null for a reply that could not be read, which is wrong; the public code draws a choice.
Tokens are counted where the policy counts them, and no time is given for a single call.
"""

import json
from pathlib import Path
from typing import Any

from amemgym_envs.amemgym.scenario import Question, Scenario
from amemgym_train.agents.parsing import parse_answer
from amemgym_train.diagnosis.operations import diagnose
from amemgym_train.evaluation.files import write_json
from amemgym_train.evaluation.results import ANSWERS, PROBES
from amemgym_train.rollout.records import Answer, Episode, Probe, Turn


def write_run(folder: Path, episode: Episode, scenario: Scenario) -> None:
    """The four files of a whole episode in ``<agent>/<user id>``: replies and metrics of the answers and of the probes."""
    answers = by_period(episode.answers, scenario)
    probes = by_period(episode.probes, scenario)
    overall = [[answer_item(answer, episode, scenario) for answer in row] for row in answers]
    write_json(folder / f"{ANSWERS}.json", overall)
    accuracy = [[item["scores"]["accuracy"] for item in row] for row in overall]
    write_json(folder / "overall_metrics.json", {"accuracy": accuracy})
    write_json(folder / f"{PROBES}.json", [[probe_item(probe, episode, scenario) for probe in row] for row in probes])
    write_json(folder / "diagnosis_metrics.json", diagnosis_metrics(episode, scenario))


def by_period(records: list[Any], scenario: Scenario) -> list[list[Any]]:
    places = {(record.period, record.question): record for record in records}
    return [[places[p, q] for q in range(len(scenario.questions))] for p in range(len(scenario.periods))]


def answer_item(answer: Answer, episode: Episode, scenario: Scenario) -> dict[str, Any]:
    turn = None if answer.turn is None else episode.turns[answer.turn]
    said = _said(turn, {} if answer.response is None else {"answer": answer.response + 1})
    question = scenario.questions[answer.question]
    return choice_item(question, answer.golden, answer.golden, said, answer.response) | {"llm_usage_statistics": _usage(turn)} | {
        "scores": {"accuracy": float(answer.correct)}
    }


def choice_item(question: Question, shown: int, golden: int, said: str, response: int | None) -> dict[str, Any]:
    """``shown`` is the golden choice as the file counts it: from 0 in the results, from 1 in the upper bound."""
    choices = question.answer_choices
    picked = None if response is None else choices[response]
    return {
        "query": question.query,
        "answer": shown,
        "answer_state": list(choices[golden].state),
        "answer_choice": choices[golden].answer,
        "raw_response": said,
        "response": None if response is None else response + 1,
        "response_state": picked and list(picked.state),
        "response_choice": picked and picked.answer,
        "json_error": response is None,
    }


def probe_item(probe: Probe, episode: Episode, scenario: Scenario) -> dict[str, Any]:
    turn = None if probe.turn is None else episode.turns[probe.turn]
    required = scenario.questions[probe.question].required_info  # a type may stand there twice, and does in public data
    results = [
        {
            "info_type": name,
            "json_error": probe.response[name] is None,
            "answer_state": probe.expected[name],
            "response_state": probe.response[name],
            "write_pos": probe.write_period[name],
            "read_pos": probe.period,
            "score": float(probe.known(name)),
        }
        for name in required
    ]
    schema = {name: scenario.state_schema[name] for name in required}
    said = _said(turn, {name: value for name, value in probe.response.items() if value is not None})
    return {"query": json.dumps(schema, ensure_ascii=False), "raw_response": said, "results": results}


def diagnosis_metrics(episode: Episode, scenario: Scenario) -> dict[str, Any]:
    cells = by_period(diagnose(episode).cells, scenario)

    def counts(name: str) -> list[list[int]]:
        required = [question.required_info for question in scenario.questions]
        return [[sum(map(required[cell.question].count, getattr(cell, name))) for cell in row] for row in cells]

    return {
        "write_failure": counts("write_failures"),
        "read_failure": counts("read_failures"),
        "memory_success": [[int(all(cell.known.values())) for cell in row] for row in cells],
    }


def write_upper(path: Path, scenario: Scenario, replies: list[list[str]]) -> None:
    """The upper bound of one user: ``replies`` [question][choice] are texts."""
    rows = zip(scenario.questions, replies, strict=True)
    write_json(path, [[_upper_item(question, choice, said) for choice, said in enumerate(row)] for question, row in rows])


def _upper_item(question: Question, choice: int, said: str) -> dict[str, Any]:
    texts = [one.answer for one in question.answer_choices]
    response, _ = parse_answer(said, len(texts), texts)
    item = choice_item(question, choice + 1, choice, said, response)
    return item | {"llm_usage_statistics": _usage(None), "scores": {"accuracy": float(response == choice)}}


def _said(turn: Turn | None, action: dict[str, Any]) -> str:
    """The raw reply; without a call, the action itself."""
    return json.dumps(action, ensure_ascii=False) if turn is None else turn.text


def _usage(turn: Turn | None) -> dict[str, int | None]:
    counted = turn is not None and bool(turn.prompt_ids)
    return {
        "input_tokens": len(turn.prompt_ids) if counted else None,
        "output_tokens": len(turn.completion_ids) if counted else None,
        "time_elapsed": None,
    }
