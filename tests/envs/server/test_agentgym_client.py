"""Our client of AgentGym's servers: against recordings of them, against ours, and against all that can go wrong."""

import pytest
from gymnasium.utils.env_checker import check_env

from amemgym_envs import make
from amemgym_envs.agentgym import WIRES
from amemgym_envs.client import AgentGymEnv
from amemgym_envs.registry import CLASSES, class_of, lacking

THERE = [name for name in WIRES if name in CLASSES and not lacking(class_of(name).card)]


@pytest.fixture
def agentgym():
    made = []

    def connect(url, environment, **settings):
        made.append(AgentGymEnv(url, environment, **{"wait": 0} | settings))
        return made[-1]

    yield connect
    for one in made:
        one.close()


def recorded(exchanges, name):
    """The exchanges of ``name`` that make up episodes, and a server that gives their answers in their order."""
    kept = [one for one in exchanges if one["env"] == name and one["path"] in ("/create", "/reset", "/step", "/close")]
    kept = [one for one in kept if one["status"] == 200 and "not valid" not in str(one["response"])]
    left = iter(kept)

    def answer(method, path, body):
        one = next(left)
        assert (method, path, body) == (one["method"], one["path"], one["body"])
        return one["status"], one["response"]

    return kept, answer


@pytest.mark.parametrize("name", ["textcraft", "babyai"])
def test_a_recording_that_is_played_back_gives_the_recorded_episodes(name, exchanges, playback, agentgym):
    kept, answer = recorded(exchanges, name)
    env = agentgym(playback(answer).url, name, max_steps=100)
    episodes, finished = 0, False
    for one in kept[1:-1]:
        wanted = one["response"]
        if one["path"] == "/reset":
            observation, info = env.reset(options={"task": str(one["body"]["data_idx"])})
            total, finished, episodes = 0.0, False, episodes + 1
        elif finished:  # which the client does not even ask
            assert "has finished" in wanted["error"]
            with pytest.raises(RuntimeError, match="call reset first"):
                env.step(one["body"]["action"])
            continue
        else:
            observation, reward, finished, truncated, info = env.step(one["body"]["action"])
            total += reward
            assert total == pytest.approx(wanted.get("score", wanted["reward"])) == info["score"]
            assert (finished, truncated, info["success"]) == (wanted["done"], False, True if wanted["done"] else None)
        assert observation == wanted["observation"]
    assert episodes == {"textcraft": 6, "babyai": 8}[name]


@pytest.mark.parametrize("name", THERE)
def test_our_server_is_played_through_agentgyms_protocol(name, serve, agentgym):
    remote, local = agentgym(serve(name).url, name), make(name)
    for number in (0, 5):
        assert remote.reset(options={"task": str(number)})[0] == local.reset(seed=number, options={"task": local.item(number)})[0]
        ended = False
        while not ended:
            action = local.expert()
            told, wanted = remote.step(action), local.step(action)
            ended = wanted[2]
            assert (told[0], told[2]) == (wanted[0], ended) and told[1] == pytest.approx(wanted[1])
        assert told[4]["success"] is wanted[4]["success"] is True


def test_gymnasium_has_nothing_to_object(serve, agentgym):
    check_env(agentgym(serve("TextCraft").url, "TextCraft"), skip_render_check=True)


def test_an_environment_of_several_has_a_prefix(serve, agentgym):
    env = agentgym(serve("TextCraft", "SearchQA").url, "SearchQA", prefix="/searchqa")
    assert env.reset(options={"task": "1"})[0].startswith("Question: ")


def test_out_of_rounds_is_no_success(serve, agentgym):
    env = agentgym(serve("TextCraft").url, "TextCraft", max_steps=2)
    env.reset(options={"task": "1"})
    assert [env.step("inventory")[2:4] for _ in range(2)] == [(False, False), (False, True)]
    with pytest.raises(RuntimeError, match="call reset first"):
        env.step("inventory")


FIRST = {"id": 4, "observation": "o", "done": False, "reward": 0}
GONE = (200, {"error": "The id 4 is not valid."})


@pytest.mark.parametrize(
    "wrong",
    [
        *(GONE, (500, "Internal Server Error"), (422, {"detail": []}), (200, None), (200, []), (200, "text"), None),
        *((200, FIRST | {"reward": "1"}), (200, FIRST | {"done": None}), (200, {"reward": 1}), (200, FIRST | {"reward": True})),
    ],
)
def test_a_failing_step_is_an_oserror_and_never_a_reward(wrong, playback, agentgym):
    replies = iter([(200, FIRST), (200, FIRST), wrong])
    server = playback(lambda *_: next(replies))
    env = agentgym(server.url, "textcraft")
    env.reset(options={"task": "7"})
    with pytest.raises(OSError):
        env.step("inventory")
    assert len(server.asked) == 3  # a step that may have been made is not made again
    with pytest.raises(RuntimeError):
        env.step("inventory")


def test_an_instance_that_a_server_has_forgotten_is_replaced_at_reset(playback, agentgym):
    replies = iter([(200, FIRST), (200, FIRST), GONE, (200, FIRST | {"id": 9}), (200, FIRST), GONE, GONE])
    server = playback(lambda *_: next(replies))
    env = agentgym(server.url, "textcraft")
    for _ in range(2):
        env.reset(options={"task": "7"})
    assert [body.get("id") for _, _, body in server.asked] == [None, 4, 4, None, 9]
    with pytest.raises(OSError, match="The id 4 is not valid"):
        env.reset(options={"task": "7"})


STEP_A = {"state": "s", "reward": 0.5, "done": True, "info": None}


@pytest.mark.parametrize(
    ("name", "create", "reset", "opening", "body", "step", "score", "success"),
    [
        ("webshop", 11, ["page", None], "first page", {"session_id": 2}, STEP_A, 0.5, False),
        ("bird", 3, ["schema", None], "schema", {"item_id": 2}, STEP_A | {"reward": 1}, 1.0, True),
        *((n, 0, "goal", "goal", {"id": 2}, FIRST | {"reward": 1.0, "done": True}, 1.0, True) for n in ("weather", "sheet")),
        (
            *("webarena", {"env_idx": 0}, {"observation": "tree", "sites": [], "object": "x"}, "tree", {"seed": 0, "idx": 2}),
            *({"observation": "s", "reward": 1, "terminated": True, "truncated": False, "info": {}}, 1.0, True),
        ),
        (
            *("webarena", {"env_idx": 0}, {"observation": "tree", "sites": [], "object": "x"}, "tree", {"seed": 0, "idx": 2}),
            *({"observation": "s", "reward": 1, "terminated": False, "truncated": True, "info": {}}, 0.0, False),
        ),
        (
            *("alfworld", {"id": 0}, {"id": 0, "observation": "room", "available_actions": ["look", "go"], "task_type": "x"}),
            *("room\nAVAILABLE ACTIONS: look,go", {"game": 2, "world_type": "Text"}),
            *({"observation": "s", "reward": 1, "available_actions": [], "done": True}, 1.0, True),
        ),
        (
            *("sciworld", {"id": 0}, {"task_description": "boil", "observation": "room", "reward": 0, "score": 0}),
            *("boil\nroom", {"data_idx": 2}, {"observation": "s", "reward": -3, "score": -100, "done": True}, -100.0, False),
        ),
        ("maze", {"id": 0}, {"observation": "o"}, "o", {"game": 2}, FIRST | {"reward": -1, "done": True}, -1.0, False),
    ],
)
def test_every_environments_answers_are_understood(
    name, create, reset, opening, body, step, score, success, playback, agentgym
):
    wire = WIRES[agentgym("http://127.0.0.1:9", name).name]
    answers = {"/create": create, "/reset": reset, "/step": step, "/observation": "first page", "/close": True}
    server = playback(lambda method, path, body: (200, answers[path.removeprefix(wire.prefix).partition("?")[0]]))
    env = agentgym(server.url, name, instruction=None if name in ("webshop", "webarena", "alfworld", "sciworld") else "i" * 101)
    observation, info = env.reset(options={"task": "2"})
    told = env.step("look")
    env.close()
    handle = create if isinstance(create, int) else create[wire.handle]
    posted = {path.removeprefix(wire.prefix): sent for method, path, sent in server.asked if method == "POST"}
    assert observation == opening and posted["/reset"] == {wire.handle: handle} | body
    assert (told[1], told[4]["score"], told[4]["success"], told[2]) == (score, score, success, True)
    assert ("/close" in posted) == wire.closes and env.card.score[0] <= score <= env.card.score[1]
    assert len(info["instruction"]) > 100


def test_tools_are_called_as_python_reads_it(playback, agentgym):
    replies = iter([(200, 0), (200, "goal"), (200, FIRST), (200, FIRST)])
    server = playback(lambda *_: next(replies))
    env = agentgym(server.url, "weather")
    env.reset(options={"task": "2"})
    env.step('finish with Action Input: {"answer": [true, null, "it\'s"]}')
    env.step("what?")
    assert [body["action"] for _, _, body in server.asked[2:]] == [
        "Action: finish with Action Input: {'answer': [True, None, \"it's\"]}",
        "what?",
    ]


@pytest.mark.parametrize(
    ("settings", "task", "words"),
    [
        ({"environment": "chess"}, "0", "AgentGym has no environment 'chess'"),
        ({"environment": "textcraft", "max_steps": 0}, "0", "max_steps is 0"),
        *(({"environment": "textcraft"}, task, "expected one of 0, 1, 2") for task in ("544", "-1", "x", "²")),
    ],
)
def test_what_is_not_there_is_told_before_anything_is_asked(settings, task, words, agentgym):
    with pytest.raises(ValueError, match=words):
        agentgym("http://127.0.0.1:9", **settings).reset(options={"task": task})
