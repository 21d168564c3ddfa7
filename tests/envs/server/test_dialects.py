"""AgentGym's routes: what its servers were recorded to answer, and what each environment makes of them."""

import base64
import json

import pytest

from amemgym_envs import make
from amemgym_envs.agentgym import WIRES
from amemgym_envs.registry import CLASSES, class_of, lacking

THERE = [name for name in WIRES if name in CLASSES and not lacking(class_of(name).card)]
TOOLS = [name for name in THERE if WIRES[name].best]


def shape(value):
    """Keys and types, and of mistakes the words."""
    if isinstance(value, dict):
        words = value.get("error")
        return {key: shape(one) for key, one in value.items()} if words is None else {"error": words.replace("77", "N")}
    if isinstance(value, list):
        return [shape(one) for one in value]
    return type(value).__name__


@pytest.mark.parametrize(("name", "options", "same"), [("TextCraft", {}, False), ("BabyAI", {"mode": "agentgym"}, True)])
def test_recorded_requests_get_answers_of_the_recorded_shape(name, options, same, exchanges, serve, client):
    """TextCraft's numbers stand for other goals here, so that its texts differ; BabyAI's texts are the same."""
    if lacking(class_of(name).card):
        pytest.skip(f"{name} needs {class_of(name).card.requires}")
    one, compared = client(serve(name, options=options).url), 0
    for exchange in exchanges:
        if exchange["env"] != name.lower():
            continue
        path = exchange["path"] + "".join(f"?{key}={value}" for key, value in (exchange["params"] or {}).items())
        status, answer = one.ask(exchange["method"], path, exchange["body"])
        wanted = exchange["response"]
        assert (status, shape(answer)) == (exchange["status"], shape(wanted)), exchange
        if same or status == 422 or exchange["path"] == "/":
            assert answer == wanted, exchange
        compared += 1
    assert compared == {"TextCraft": 78, "BabyAI": 94}[name]


class Player:
    """Speaks to one environment as AgentGym's client of it does."""

    def __init__(self, connection, name, prefix=""):
        self.connection, self.wire, self.prefix = connection, WIRES[name], prefix
        status, told = connection.ask("POST", f"{prefix}/create", self.wire.sends)
        assert status == 200
        self.number = told if self.wire.dialect == "A" else told["id"]

    def post(self, path, **body):
        return self.connection.post(f"{self.prefix}{path}", **{self.wire.handle: self.number}, **body)

    def get(self, path):
        return self.connection.get(f"{self.prefix}{path}?{self.wire.handle}={self.number}")


@pytest.mark.parametrize("name", THERE)
def test_an_expert_solves_a_task_by_its_number(name, serve, client):
    env, wire = make(name), WIRES[name]
    player = Player(client(serve(name).url), name, wire.prefix)
    observation, _ = env.reset(seed=3, options={"task": env.item(3)})
    status, told = player.post("/reset", **{wire.task: 3}, **wire.also)
    text = told if isinstance(told, str) else told[0] if isinstance(told, list) else told["observation"]
    assert (status, text) == (200, observation)
    ended = False
    while not ended:
        action = env.expert()
        observation, reward, ended, _, info = env.step(action)
        status, told = player.post("/step", action=wire.form.format(action))
        assert status == 200 and list(told) == list(wire.step)
        assert (told.get("state", told.get("observation")), told["done"]) == (observation, ended)
        assert told.get("score", told["reward"]) == pytest.approx(info["score"])
    assert told["reward"] >= wire.success
    again = player.post("/step", action=action)
    assert again == (200, {"error": "The task with environment 0 has finished."}) if wire.dialect == "B" else again[0] == 500


@pytest.mark.parametrize("name", THERE)
def test_mistakes_are_told_as_the_dialect_tells_them(name, serve, client):
    wire = WIRES[name]
    player = Player(client(serve(name, limit=1).url), name, wire.prefix)
    wrong = {"B": 200, "A": 500}[wire.dialect]
    status, full = player.connection.ask("POST", f"{wire.prefix}/create", wire.sends)
    assert status == {"B": 200, "A": 503}[wire.dialect] and "as many as this server allows" in json.dumps(full)
    assert player.post("/step", action=7)[0] == player.connection.post(f"{wire.prefix}/step", action="x")[0] == 422
    assert player.connection.raw("POST", f"{wire.prefix}/step", b"{")[0] == 422
    assert player.post("/reset", **{wire.task: -(10**6)})[0] in (wrong, 200)
    assert player.post("/close") == (200, True) and player.post("/close") == (200, False)
    status, told = player.post("/step", action="x")
    assert status == wrong and "The id 0 is not valid." in json.dumps(told)
    assert Player(player.connection, name, wire.prefix).number == 1


def test_several_environments_have_paths_of_their_own(serve, client):
    one = client(serve("TextCraft", "SearchQA").url)
    crafting, asking = Player(one, "TextCraft-v0", "/textcraft"), Player(one, "SearchQA-v0", "/searchqa")
    assert (crafting.number, asking.number, one.get("/"), one.get("/textcraft/")[0]) == (0, 0, (200, "ok"), 200)
    assert crafting.post("/step", action="inventory")[1]["observation"] == "Inventory: You are not carrying anything."
    assert asking.post("/reset", id=1)[1].startswith("Question: ")
    assert one.get("/searchqa/list_envs")[1] == [0] and one.get("/create")[0] == 404


def test_answers_may_hold_any_character(serve, client):
    player = Player(client(serve("TextCraft").url), "TextCraft-v0")
    for action in ("\ud800", "\x00\x1b", "🪓" * 5000, "get 1 " + "9" * 5000):
        status, told = player.post("/step", action=action)
        assert (status, told["reward"], told["done"]) == (200, 0, False)
    assert player.connection.post("/step", id="\ud800", action="x")[0] == 422


def test_goals_of_a_clients_own_are_refused(serve, client):
    one = client(serve("TextCraft").url)
    assert "not taken" in one.post("/create", goal="craft bread")[1]["error"]
    assert one.post("/create")[1]["id"] == 0


@pytest.mark.skipif("BabyAI-v0" not in THERE, reason="needs minigrid")
def test_babyai_is_drawn(serve, client):
    player = Player(client(serve("BabyAI").url), "BabyAI-v0")
    assert "no task yet" in player.post("/render")[1]["error"]
    player.post("/reset", data_idx=0)
    head, _, picture = player.post("/render")[1].partition(",")
    assert head == "data:image/png;base64" and base64.b64decode(picture).startswith(b"\x89PNG")


@pytest.mark.skipif("Maze-v0" not in THERE, reason="not there")
def test_lmrl_gym_has_routes_of_its_own(serve, client):
    maze = Player(client(serve("Maze", options={"mode": "agentgym"}).url), "Maze-v0", "/maze")
    assert len(maze.get("/available_actions")[1]) == 4
    maze.post("/reset", game=0)
    answers = [maze.post("/step", action="wait")[1] for _ in range(50)]
    assert answers[-1] == {"observation": "Failure", "reward": -1, "done": True}
    wordle = Player(client(serve("Wordle", options={"vocabulary": 40}).url), "Wordle-v0", "/wordle")
    wordle.post("/reset", seed=0)
    assert len(wordle.get("/filtered_vocab")[1]) == 40
