"""The port to Open-Meteo against a server on this machine that answers in its shapes from the generated climate."""

import json
import threading
from datetime import date, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

import pytest

from amemgym_envs import make
from amemgym_envs.toolkit import ToolError, save
from amemgym_envs.weather.climate import GeneratedClimate
from amemgym_envs.weather.open_meteo import OpenMeteo

CLIMATE = GeneratedClimate()
FIELDS = {"temperature_2m_max": "highest", "temperature_2m_min": "lowest", "temperature_2m_mean": "mean", "rain_sum": "rain",
          "snowfall_sum": "snow"}


def answer(path, query):
    if path == "/v1/search":
        found = [place._asdict() for place in CLIMATE.find(query["name"])]
        return {"results": found} if found else {}
    where = float(query["latitude"]), float(query["longitude"])
    if path == "/v1/elevation":
        return {"elevation": [CLIMATE.elevation(*where)]}
    first, last = (date.fromisoformat(query[name]) for name in ("start_date", "end_date"))
    days = CLIMATE.days(*where, first, last)
    times = [(first + timedelta(days=at)).isoformat() for at in range(len(days))]
    if path == "/v1/air-quality":
        hours = [f"{time}T{hour:02}:00" for time in times for hour in range(3)]
        return {"hourly": {"time": hours, query["hourly"]: [value for day in days for value in (day.air - 1, None, day.air)]}}
    return {"daily": {"time": times} | {name: [getattr(day, FIELDS[name]) for day in days] for name in query["daily"].split(",")}}


class StandIn(BaseHTTPRequestHandler):
    def do_GET(self):
        url = urlparse(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if query.get("name") == "busy":
            return self.send_error(503)
        refused = query.get("latitude") == "66.6"
        body = json.dumps({"error": True, "reason": "Out of range"} if refused else answer(url.path, query)).encode()
        self.send_response(400 if refused else 200)
        self.end_headers()
        self.wfile.write(b"<html>" if query.get("name") == "broken" else body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def climate():
    server = ThreadingHTTPServer(("127.0.0.1", 0), StandIn)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield OpenMeteo(f"http://127.0.0.1:{server.server_port}", timeout=10)
    server.shutdown()
    server.server_close()
    thread.join()


def test_its_answers_are_those_of_the_service(climate):
    period = (48.21, 16.37, date(2023, 1, 1), date(2023, 1, 5))
    for name in ("temperatures", "rain", "snow", "air"):
        assert getattr(climate, name)(*period) == getattr(CLIMATE, name)(*period)
    assert climate.find("Córdoba") == CLIMATE.find("Córdoba") and climate.find("Atlantis") == []
    assert climate.elevation(48.21, 16.37) == 171


def test_tasks_from_a_file_are_solved_in_it(climate, tmp_path):
    built_in = make("Weather")
    save(tmp_path / "tasks.jsonl", [built_in.task_of(task) for task in built_in.splits["test"][:16]])
    env = make("Weather", tasks=tmp_path / "tasks.jsonl", world=climate)
    assert env.blocking and not built_in.blocking
    for task in env.tasks:
        env.reset(options={"task": task})
        done = False
        while not done:
            *_, done, _, info = env.step(env.expert())
        assert info["success"]


def test_a_refusal_is_told_to_the_agent_and_silence_to_the_operator(climate):
    with pytest.raises(ToolError, match="refuses this: Out of range"):
        climate.elevation(66.6, 0)
    for name, reason in (("busy", "answered 503"), ("broken", "gave no answer")):
        with pytest.raises(ConnectionError, match=f"Open-Meteo: http.*{reason}.*try later"):
            climate.find(name)
    with pytest.raises(ValueError, match="base_url is 'file:///etc', expected one of http"):
        OpenMeteo("file:///etc")
