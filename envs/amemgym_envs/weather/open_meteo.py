"""Real weather from Open-Meteo's public services, for AgentGym's own tasks."""

import json
from datetime import date
from functools import lru_cache
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from amemgym_envs.toolkit import ToolError
from amemgym_envs.weather.climate import Place

LARGEST = 4 * 2**20  # bytes of an answer
HOSTS = {
    "v1/archive": "https://archive-api.open-meteo.com",
    "v1/search": "https://geocoding-api.open-meteo.com",
    "v1/air-quality": "https://air-quality-api.open-meteo.com",
    "v1/elevation": "https://api.open-meteo.com",
}


class OpenMeteo:
    """A ``Climate`` over HTTP. ``base_url``: one server for all paths instead of the public hosts; ``timeout`` in seconds.

    ToolError: the service refuses what it is asked. ConnectionError: it does not answer, which is nobody's wrong answer and ends
    the episode with this error. Days without a value are None in the series, as the service gives them.
    """

    blocking = True

    def __init__(self, base_url: str | None = None, timeout: float = 30.0) -> None:
        if base_url is not None and not base_url.startswith(("http://", "https://")):
            raise ValueError(f"OpenMeteo: base_url is {base_url!r}, expected one of http or https")
        self.base_url = base_url
        self.timeout = timeout
        self._fetch = lru_cache(maxsize=1024)(self._request)

    def find(self, name: str) -> list[Place]:
        found = self._get("v1/search", name=name, count=5, language="en").get("results") or []
        return [Place(one["name"], one.get("country", ""), one["latitude"], one["longitude"], one.get("elevation", 0.0))
                for one in found]

    def elevation(self, latitude: float, longitude: float) -> float:
        return self._get("v1/elevation", latitude=latitude, longitude=longitude)["elevation"][0]

    def temperatures(self, latitude: float, longitude: float, start: date, end: date) -> list[tuple[float, float, float]]:
        names = ("temperature_2m_max", "temperature_2m_min", "temperature_2m_mean")
        daily = self._daily(",".join(names), latitude, longitude, start, end)
        return list(zip(*(daily[name] for name in names), strict=True))

    def rain(self, latitude: float, longitude: float, start: date, end: date) -> list[float]:
        return self._daily("rain_sum", latitude, longitude, start, end)["rain_sum"]

    def snow(self, latitude: float, longitude: float, start: date, end: date) -> list[float]:
        return self._daily("snowfall_sum", latitude, longitude, start, end)["snowfall_sum"]

    def air(self, latitude: float, longitude: float, start: date, end: date) -> list[int]:
        index = "european_aqi_pm2_5"
        query = {"latitude": latitude, "longitude": longitude, "start_date": start, "end_date": end, "hourly": index}
        hours = self._get("v1/air-quality", **query)["hourly"]
        days: dict[str, list[int]] = {}
        for hour, value in zip(hours["time"], hours[index], strict=True):
            days.setdefault(hour[:10], []).extend([] if value is None else [value])
        return [max(values, default=None) for values in days.values()]

    def _daily(self, names: str, latitude: float, longitude: float, start: date, end: date) -> dict[str, list[Any]]:
        return self._get("v1/archive", latitude=latitude, longitude=longitude, start_date=start, end_date=end, daily=names,
                         timezone="GMT")["daily"]

    def _get(self, path: str, **query: Any) -> dict[str, Any]:
        return self._fetch(f"{self.base_url or HOSTS[path]}/{path}?{urlencode(query)}")

    def _request(self, url: str) -> dict[str, Any]:
        try:
            with urlopen(Request(url, headers={"Accept": "application/json"}), timeout=self.timeout) as answer:
                return json.loads(answer.read(LARGEST))
        except HTTPError as error:
            if error.code == 400:
                raise ToolError(f"the weather service refuses this: {_reason(error)}") from None
            raise ConnectionError(f"Open-Meteo: {url} answered {error.code}; try later or use the built-in world") from error
        except (OSError, ValueError) as error:
            raise ConnectionError(f"Open-Meteo: {url} gave no answer ({error}); try later or use the built-in world") from error


def _reason(error: HTTPError) -> str:
    try:
        return str(json.loads(error.read(LARGEST))["reason"])[:200]
    except (OSError, ValueError, KeyError, TypeError):
        return "no reason given"
