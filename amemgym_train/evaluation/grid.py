"""What is played: every agent with every seed on every user, and where all of it lies on disk."""

import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from amemgym_train.config.public_agent import NamedAgent, names_folder
from amemgym_train.config.recipe import Recipe
from amemgym_train.errors import UserError
from amemgym_train.evaluation.controls import agents, environment
from amemgym_train.evaluation.files import read_json, write_json
from amemgym_train.evaluation.overheard import Overheard, interactions_in
from amemgym_train.evaluation.results import UPPER
from amemgym_train.evaluation.written import write_run
from amemgym_train.policy.base import Policy, Sampling
from amemgym_train.rollout.pieces import Pieces
from amemgym_train.rollout.pool import Task
from amemgym_train.rollout.records import Episode
from amemgym_train.rollout.runner import Play
from amemgym_train.rollout.store import load_episodes, save_episodes

if TYPE_CHECKING:
    from amemgym_envs.amemgym.scenario import Scenario
    from amemgym_envs.amemgym.simulator import User


@dataclass(frozen=True)
class Entry:
    """One agent with one seed; ``label`` is the name of its results."""

    agent: NamedAgent
    seed: int
    label: str

    @property
    def sampling(self) -> Sampling:
        return Sampling(**self.agent.sampling.model_dump())

    def recipe(self, recipe: Recipe) -> Recipe:
        """``recipe`` with this agent."""
        reflection = self.agent.reflection or recipe.reflection
        return recipe.model_copy(update={"agent": self.agent.config, "reflection": reflection})


def entries(named: Sequence[NamedAgent], seeds: Sequence[int]) -> list[Entry]:
    """All agents, each with all seeds: an agent's results have its name, those of later seeds the seed behind it."""
    made = [Entry(agent, seed, agent.name + (f"-seed{seed}" if at else "")) for agent in named for at, seed in enumerate(seeds)]
    labels = [entry.label for entry in made]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise UserError(f"two results would be called {twice}; name each seed once, and rename an agent in its config file")
    return made


class Life(Pieces):
    """The pieces of one episode, and in ``seconds.json`` how long each period took to play."""

    def resume(self, episode: Episode) -> int:
        self._since = time.perf_counter()
        return super().resume(episode)

    def keep(self, episode: Episode, since: dict[str, int], period: int) -> None:
        now = time.perf_counter()
        path = self.folder / "seconds.json"
        write_json(path, (read_json(path, dict) if path.is_file() else {}) | {str(period): round(now - self._since, 3)})
        self._since = now
        super().keep(episode, since, period)


class Store:
    """The folder of an evaluation.

    ``unfinished/<label>/<user>`` has the periods of an entry that is being played; when all of its users are played, their
    episodes are in ``episodes/<agent>/seed-<n>.parquet``. ``results`` has the public layout, ``controls`` their episodes.
    """

    def __init__(self, folder: Path, scenarios: "Sequence[Scenario]") -> None:
        self.folder = folder
        self.scenarios = {scenario.id: scenario for scenario in scenarios}
        unfit = next((name for name in self.scenarios if not names_folder(name)), None)
        if unfit is not None:
            raise UserError(f"user {unfit!r}: this id cannot name a folder of results; rename the user in the data file")

    def life(self, entry: Entry, user: str) -> Path:
        return self.folder / "unfinished" / entry.label / user

    def results(self, label: str, user: str) -> Path:
        return self.folder / "results" / label / user

    def upper(self, user: str) -> Path:
        return self.folder / "results" / UPPER / f"{user}.json"

    def play(
        self, entry: Entry, recipe: Recipe, role: str, policy: Policy, user: "Callable[[Scenario, int], User] | None"
    ) -> Play:
        """The users of ``entry``, each of whose periods is kept. ``user``: see ``controls.environment``."""
        own, scenarios = entry.recipe(recipe), list(self.scenarios.values())
        made = environment(own, role, scenarios, user=user)
        return Play(
            lambda task: Overheard(made(task), self.life(entry, task.id)),
            [Task(scenario.id, scenario.id, entry.seed) for scenario in scenarios],
            agents(own, policy, entry.sampling, scenarios),
            entry.seed,
            together=True,
            pieces=lambda task: Life(self.life(entry, task.id)),
        )

    def finished(self, entry: Entry) -> list[Episode] | None:
        """The episodes of an entry all of whose users were played."""
        path = self._episodes(entry)
        if not path.is_file():
            return None
        self._put_away(entry)  # a run that was killed may have left it
        return load_episodes(path)

    def finish(self, entry: Entry, episodes: Sequence[Episode]) -> None:
        """Write the results of all users that were played; if that is everybody, their periods are put together."""
        for episode in episodes:
            if episode.error is None:
                folder, life = self.results(entry.label, episode.task), self.life(entry, episode.task)
                write_run(folder, episode, self.scenarios[episode.task])
                if life.is_dir():
                    write_json(folder / "interactions.json", interactions_in(life))
        write_json(self._seconds, self.seconds())
        if all(episode.error is None for episode in episodes):
            save_episodes(self._episodes(entry), episodes)
            self._put_away(entry)

    def seconds(self) -> dict[str, dict[str, float]]:
        """{label: {user: seconds}}: how long each episode took to play; others may have been played at the same time."""
        known = read_json(self._seconds, dict) if self._seconds.is_file() else {}
        for path in sorted(self.folder.glob("unfinished/*/*/seconds.json")):
            label, user = path.parts[-3:-1]
            known = known | {label: known.get(label, {}) | {user: round(sum(read_json(path, dict).values()), 3)}}
        return known

    def control(self, name: str, work: Callable[[], list[Episode]]) -> list[Episode]:
        """The episodes of a control, of ``work`` unless they are kept; kept once nobody's is broken."""
        path = self.folder / "controls" / f"{name}.parquet"
        if path.is_file():
            return load_episodes(path)
        episodes = work()
        if all(episode.error is None for episode in episodes):
            save_episodes(path, episodes)
        return episodes

    def _put_away(self, entry: Entry) -> None:
        """The periods of a finished entry, which are in its episodes."""
        shutil.rmtree(self.folder / "unfinished" / entry.label, ignore_errors=True)
        with suppress(OSError):  # others are not finished
            (self.folder / "unfinished").rmdir()

    @property
    def _seconds(self) -> Path:
        return self.folder / "seconds.json"

    def _episodes(self, entry: Entry) -> Path:
        return self.folder / "episodes" / entry.agent.name / f"seed-{entry.seed}.parquet"
