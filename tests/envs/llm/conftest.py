"""A model whose replies are those of transcript.yaml, and what calls it."""

import asyncio
import json
import re
from itertools import count
from pathlib import Path

import pytest
import yaml

from amemgym_envs.amemgym.generator.config import GeneratorConfig
from amemgym_envs.amemgym.llm import Endpoint, LLMWriter, Reply, Report
from amemgym_envs.amemgym.llm.caller import Caller
from amemgym_envs.amemgym.llm.journal import Journal
from amemgym_envs.amemgym.llm.prompts import NAMES, template

TRANSCRIPT = yaml.safe_load((Path(__file__).parent / "transcript.yaml").read_text())
STAGES = {template(name).splitlines()[0]: name for name in NAMES}
DINNER = "What could I cook on weekday evenings?"


def stated(text):
    """{name: value} of the lines "- name: value", and of "- name: from old to new"."""
    return {name: value.split(" ")[-1] for name, value in re.findall(r"^- (\w+): (\w+|from \w+ to \w+)$", text, re.MULTILINE)}


def known(kind, name, value):
    return TRANSCRIPT[kind].get(name, {}).get(value, f"No idea of {value.replace('_', ' ')}.")


class Model:
    """The model of the transcript. ``junk``: persons for whom nothing sensible comes; ``vague``: questions without answers."""

    def __init__(self):
        self.junk = []
        self.vague = [DINNER]
        self.untold = []  # values that no message of its makes clear

    def __call__(self, messages):
        request, refined = messages[0]["content"], len(messages) > 1
        if any(name in request for name in self.junk):
            return "I would rather not."
        return getattr(self, STAGES[request.splitlines()[0]])(request, refined)

    def propose(self, request, refined):
        return {"questions": TRANSCRIPT["propose"]["There are questions already" in request]}

    def merge(self, request, refined):
        listed = re.findall(r"^- (\w+):", request, re.MULTILINE)
        groups = [g | {"members": [m for m in g["members"] if m in listed]} for g in TRANSCRIPT["merge"]]
        return {"groups": [g for g in groups if len(g["members"]) > 1]}

    def unify(self, request, refined):
        name = re.search(r"The info type (\w+)", request).group(1)
        return {"values": TRANSCRIPT["unify"].get(name, ["this_way", "that_way", "no_way"])}

    def combinations(self, request):
        lines = re.findall(r"^\d+\. (.+)$", request, re.MULTILINE)
        return [dict(pair.split(" = ") for pair in line.split(", ")) for line in lines]

    def advice(self, combination):
        return " ".join(known("advice", name, value) for name, value in combination.items())

    def answers(self, request, refined):
        written = [self.advice(combination) for combination in self.combinations(request)]
        if any(question in request for question in self.vague):
            written = [TRANSCRIPT["vague_answer"][:-i] + "." for i, _ in enumerate(written, start=1)]
        elif "the office for the coming months" in request:
            written[1] = TRANSCRIPT["vague_answer"]
        return {"answers": written}

    def answer(self, request, refined):
        assert refined
        if any(question in request for question in self.vague):
            return {"answer": TRANSCRIPT["vague_answer"]}
        number = int(re.search(r"for combination (\d+)", request).group(1))
        return {"answer": self.advice(self.combinations(request)[number - 1])}

    def check_answer(self, request, refined):
        fitting = [i for i, c in enumerate(self.combinations(request), start=1) if self.advice(c) in request]
        return {"combination": fitting[0] if fitting else 4}

    def told(self, request):
        names = list(stated(request))
        most = int(re.search(r"one to (\d+)", request).group(1))
        groups = [names[i : i + most] for i in range(0, len(names), most)]
        return [{"event": TRANSCRIPT["events"].get(group[0], "Life went on."), "info_types": group} for group in groups]

    def introduce(self, request, refined):
        return {"events": self.told(request)}

    def period(self, request, refined):
        return {"summary": TRANSCRIPT["summary"], "events": self.told(request.partition("have changed:")[2])}

    def query(self, request, refined):
        states = stated(request.partition("Rules")[0])
        says = {name: known("says", name, value) for name, value in states.items()}
        for name, value in states.items():
            if value in self.untold or (name in TRANSCRIPT["vague"] and not refined):
                says[name] = TRANSCRIPT["vague"].get(name, "Much is new.")
        return {"query": " ".join(["Hello!", *says.values(), "What do you suggest?"])}

    def check_query(self, request, refined):
        names = re.findall(r"^- (\w+):", request, re.MULTILINE)
        says = {name: TRANSCRIPT["says"].get(name, {}) for name in names}
        return {name: next((v for v, sentence in says[name].items() if sentence in request), None) for name in names}


@pytest.fixture
def transcript():
    return TRANSCRIPT


@pytest.fixture
def stage_of():
    """The stage of a request that the server has seen."""
    return lambda request: STAGES[request["messages"][0]["content"].splitlines()[0]]


@pytest.fixture
def model():
    return Model()


@pytest.fixture
def server(model, chat_server):
    return chat_server(model)


@pytest.fixture
def endpoint(server):
    """Makes an endpoint at the server whose retries hardly wait."""
    return lambda **settings: Endpoint(**{"base_url": server.url, "model": "strong", "backoff_s": 0.001} | settings)


class Chatter(Endpoint):
    """Says what ``speak(messages)`` returns, without a server."""

    def __init__(self, speak):
        super().__init__("http://127.0.0.1:1/v1", "chatter")
        self.speak = speak

    async def complete(self, messages, sampling=None):
        await asyncio.sleep(0)
        said = self.speak([dict(message) for message in messages])
        return Reply(said if isinstance(said, str) else json.dumps(said), 1, 1)


@pytest.fixture
def chatter():
    return Chatter


@pytest.fixture
def caller(tmp_path):
    """Makes a caller of one user whose model says ``speak(messages)``."""
    numbers = count()
    facts = {"person": "name: Mara Lind", "language": "English"}

    def caller(speak, max_tries=2):
        endpoint, journal = Chatter(speak), tmp_path / f"{next(numbers)}.jsonl"
        return Caller(endpoint, Journal(journal), Report(endpoint), max_tries, facts)

    return caller


def persona(user):
    name = ["Mara Lind", "Jon Sand", "Ada Moor"][user % 3]
    return {"uuid": f"{user:032x}", "name": name, "age": 41, "formatted_str": f"name: {name}\nage: 41\noccupation: clerk"}


@pytest.fixture
def settings():
    """Three questions of two states, two periods after the initial one."""
    return {
        **{"seed": 5, "num_users": 1, "num_variables": 5, "num_periods": 2, "num_questions": 3, "num_states_per_question": 2},
        **{"num_choices_per_state": 3, "num_choices": 4, "num_changes_per_period": 2, "states_per_session": 2},
    }


@pytest.fixture
def run(settings):
    """Runs a writer to its end: ([(user, outcome)], the writer). ``config``: other settings."""

    def run(endpoint, work, users=(0,), config=None, **options):
        writer = LLMWriter(GeneratorConfig(**(config or settings)), endpoint, work, options.pop("personas", persona), **options)

        async def collect():
            async with endpoint:
                return [outcome async for outcome in writer.write(users)]

        return asyncio.run(collect()), writer

    return run
