from collections import Counter
from datetime import date

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from amemgym_envs import make
from amemgym_envs.toolkit import Call, ToolError, ToolTask, save, write
from amemgym_envs.weather.climate import GeneratedClimate, distance, places
from amemgym_envs.weather.questions import make_tasks
from amemgym_envs.weather.tools import TOOLS, Visit

VIENNA = {"latitude": 48.21, "longitude": 16.37}
AGENTGYM = """get_user_current_date get_user_current_location get_historical_temp get_historical_rain get_historical_snow
get_temp_forecast get_rain_forecast get_snow_forecast get_current_temp get_current_rain get_current_snow get_latitude_longitude
get_elevation get_distance get_historical_air_quality_index get_current_air_quality_index get_air_quality_level
check_valid_actions finish""".split()


@pytest.fixture(scope="module")
def env():
    return make("Weather")


def use(name, /, **arguments):
    TOOLS[name].check(arguments)
    return TOOLS[name].method(Visit(GeneratedClimate(), "2023-05-10", "Vienna"), **arguments)


def test_gymnasium_has_nothing_to_object(env):
    check_env(make("Weather"), skip_render_check=True)
    assert set(env.toolbox) == set(AGENTGYM) and all(name in env.instruction for name in AGENTGYM)


def test_splits_are_stable_disjoint_and_of_many_kinds(env):
    assert {split: len(tasks) for split, tasks in env.splits.items()} == env.card.splits
    assert len(set(env.tasks)) == 360 and env.splits is make("Weather").splits
    assert make_tasks() == env.make_tasks()
    tasks = [env.task_of(task) for task in env.tasks]
    assert len({(task.goal, *task.init.values()) for task in tasks}) == 360
    assert len(Counter(task.kind for task in tasks)) == 16 and {task.difficulty for task in tasks} == {"easy", "medium", "hard"}
    assert env.task_of("train-0").goal == "How many metres above sea level is Vienna? Answer with a number."


def test_no_one_answer_is_right_for_many(env):
    answers = Counter(str(env.task_of(task).answer) for task in env.tasks)
    assert answers.most_common(1)[0][1] <= 4 and not {"0", "0.0", "[]", "None"} & set(answers)


def test_the_expert_succeeds_in_every_task(env):
    for task in env.tasks:
        env.reset(seed=0, options={"task": task})
        done = truncated = False
        while not (done or truncated):
            observation, _, done, truncated, info = env.step(env.expert())
            assert "ERROR" not in observation
        assert info["success"], task


def test_an_answer_without_looking_or_of_the_wrong_type_fails(env):
    for task in env.tasks[:60]:
        answer = env.task_of(task).answer
        for wrong in (0, "", [], str(answer) + "1", [answer, answer]):
            env.reset(options={"task": task})
            *_, info = env.step(write(Call("finish", {"answer": wrong})))
            assert info["success"] is False


def test_task_and_seed_fix_an_episode(env):
    def episode():
        rng = np.random.default_rng(1)
        return [env.reset(seed=3, options={"task": "test-7"}), *(env.step(env.random_action(rng)) for _ in range(4))]
    assert str(episode()) == str(episode())


def test_all_tools_tell_of_the_same_weather():
    today = {"start_date": "2023-05-10", "end_date": "2023-05-10"}
    for kind in ("temp", "rain", "snow"):
        past, coming = (use(name, **VIENNA, **today)["daily"] for name in (f"get_historical_{kind}", f"get_{kind}_forecast"))
        assert past == coming == use(f"get_current_{kind}", **VIENNA, current_date="2023-05-10")["daily"]
    assert use("get_historical_air_quality_index", **VIENNA, **today)["daily"] == use(
        "get_current_air_quality_index", **VIENNA, current_date="2023-05-10")["daily"]
    month = use("get_historical_temp", **VIENNA, start_date="2023-04-11", end_date="2023-05-10")["daily"]
    assert len(month["time"]) == 30
    assert month["temperature_2m_max"][-1:] == use("get_historical_temp", **VIENNA, **today)["daily"]["temperature_2m_max"]


def test_the_climate_is_plausible():
    climate = GeneratedClimate()
    for place in places():
        days = climate.days(place.latitude, place.longitude, date(2023, 1, 1), date(2023, 12, 31))
        assert all(day.lowest < day.mean < day.highest and not (day.rain and day.snow) and day.air > 0 for day in days)
        assert all(-65 < day.lowest and day.highest < 50 for day in days)
        assert sum(day.rain + day.snow > 0 for day in days) > 20


@pytest.mark.parametrize(("name", "least", "most"), [("Oslo", 10, 40), ("Melbourne", -30, -5), ("Quito", -5, 5)])
def test_seasons_are_those_of_the_hemisphere(name, least, most):
    place = GeneratedClimate().find(name)[0]
    january, july = (np.mean([day.mean for day in GeneratedClimate().days(
        place.latitude, place.longitude, date(2023, month, 1), date(2023, month, 28))]) for month in (1, 7))
    assert least < july - january < most


def test_cities_are_found_by_name_whatever_their_accents():
    assert [place["country"] for place in use("get_latitude_longitude", name="cordoba")["results"]] == ["Argentina", "Spain"]
    assert len(use("get_latitude_longitude", name="Valencia, Venezuela")["results"]) == 1
    assert GeneratedClimate().find("TROMSO")[0].name == "Tromsø"


def test_distance_is_a_metric_on_the_globe():
    assert distance(48.21, 16.37, 48.21, 16.37) == 0 and distance(0, 0, 0, 180) == pytest.approx(np.pi * 6371)
    assert distance(51.51, -0.13, 48.86, 2.35) == pytest.approx(distance(48.86, 2.35, 51.51, -0.13)) == pytest.approx(343, abs=3)


@pytest.mark.parametrize(("name", "arguments", "told"), [
    ("get_latitude_longitude", {"name": "Atlantis"}, "no place has the name 'Atlantis'"),
    ("get_elevation", {"latitude": 91, "longitude": 0}, "is nowhere"),
    ("get_historical_temp", {**VIENNA, "start_date": "2023-05-02", "end_date": "2023-05-01"}, "is after the last"),
    ("get_historical_temp", {**VIENNA, "start_date": "2023-04-01", "end_date": "2023-05-01"}, "more than 30 days"),
    ("get_historical_rain", {**VIENNA, "start_date": "2023-05-01", "end_date": "2023-05-11"}, "history ends today, 2023-05-10"),
    ("get_rain_forecast", {**VIENNA, "start_date": "2023-05-09", "end_date": "2023-05-11"}, "forecasts begin today"),
    ("get_current_snow", {**VIENNA, "current_date": "2023-05-09"}, "not the user's current date"),
    ("get_historical_snow", {**VIENNA, "start_date": "1939-12-31", "end_date": "1940-01-02"}, "weather from 1940-01-01"),
    ("get_historical_temp", {**VIENNA, "start_date": "2023-5-1", "end_date": "2023-05-02"}, "expected: date written YYYY-MM-DD"),
    ("get_air_quality_level", {"air_quality_index": -1}, "expected at least 0"),
])
def test_what_cannot_be_asked_is_told(name, arguments, told):
    with pytest.raises(ToolError, match=told):
        use(name, **arguments)


def test_a_file_of_tasks_may_leave_date_and_place_unknown(tmp_path):
    save(tmp_path / "tasks.jsonl", [ToolTask("x", "g", "a", init={}, subgoals=("good", 7, 8))])
    env = make("Weather", tasks=tmp_path / "tasks.jsonl", scoring="progress")
    env.reset(options={"task": "0"})
    assert "date is not known" in env.step(write(Call("get_user_current_date", {})))[0]
    assert env.step(write(Call("get_air_quality_level", {"air_quality_index": 3})))[1] == 1
    near = {"latitude": 48.3, "longitude": 16.2}
    assert env.meets(near, {"latitude": 48.2, "longitude": 16.4}) and not env.meets(near, {"latitude": 50.2, "longitude": 16.4})


def test_noise_and_random_actions_do_no_harm(env):
    rng, done = np.random.default_rng(0), True
    for _ in range(2_000):
        if done:
            env.reset(seed=int(rng.integers(1000)))
        action = env.random_action(rng)
        if rng.random() < 0.5:
            cut = int(rng.integers(len(action)))
            action = action[:cut] + chr(int(rng.integers(1, 0xD7FF))) + action[cut + int(rng.integers(3)):]
        observation, _, ended, truncated, _ = env.step(action)
        done = ended or truncated
        assert observation.startswith("Observation: ")


@pytest.mark.parametrize("value", [10**17, -(10**17), 1e308, "9" * 5_000, None, [[]], {}, True, "2023-02-30", "'; DROP", "\0"])
def test_odd_arguments_are_answered(env, value):
    rng = np.random.default_rng(0)
    for tool in TOOLS.values():
        for parameter in tool.parameters:
            env.reset(seed=1)
            assert env.step(write(Call(tool.name, tool.draw(rng) | {parameter.name: value})))[0].startswith("Observation: ")
