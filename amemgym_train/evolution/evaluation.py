"""An evaluation that is kept: agents x users x seeds are played, scored, compared and written down.

A model in this process is given one agent after another: it waits for all live episodes to fill its batches, and knows them by
their ids. Servers and chat endpoints wait for nobody, and get the episodes of all agents and seeds at once.
"""

import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amemgym_train.config.environments import environment_of, users
from amemgym_train.config.public_agent import NamedAgent, named_agents
from amemgym_train.config.recipe import Recipe
from amemgym_train.errors import UserError
from amemgym_train.evaluation import shown, standings
from amemgym_train.evaluation.controls import ask_with_memory, play_scripted
from amemgym_train.evaluation.files import read_json, write_json, write_text
from amemgym_train.evaluation.grid import Entry, Store, entries
from amemgym_train.evaluation.heatmaps import MISSING, save_heatmaps
from amemgym_train.evaluation.memory import UpperBound
from amemgym_train.evaluation.settings import adopt, hash_of, settings
from amemgym_train.evaluation.upper import ask_upper, bound
from amemgym_train.evaluation.written import write_upper
from amemgym_train.evolution import ranks
from amemgym_train.evolution.folder import claimed
from amemgym_train.evolution.inputs import named_files
from amemgym_train.evolution.manifest import digest
from amemgym_train.evolution.policies import answering, totals
from amemgym_train.evolution.stages import check_scrambled
from amemgym_train.policy.base import Policy
from amemgym_train.rollout.records import Episode
from amemgym_train.rollout.runner import check_unscorable, play_several

if TYPE_CHECKING:
    from amemgym_envs.amemgym.recorded import Interactions
    from amemgym_envs.amemgym.scenario import Scenario

ONCE = ("random", "oracle", "instruction")  # controls that are the same for every agent
Played = dict[Entry, list[Episode]]


def evaluate_agents(
    recipe: Recipe,
    role: str,
    adapter: str | None = None,
    *,
    words: Sequence[str] = (),
    seeds: Sequence[int] = (),
    replay: str | None = None,
    out: str | None = None,
) -> dict[str, Any]:
    """Play, or go on playing, the users of ``role``; ``out`` keeps everything, None nothing. Returns JSON values: the
    ``report``, the ``seconds`` that episodes took (by results and user), what chat models ``cost`` (``policies.totals``; empty if
    the report was read), and what the folder ``lacks``, in words.

    ``words`` name the agents (``config.public_agent``; none: the recipe's), ``seeds`` default to the recipe's, ``replay`` is a
    folder of recorded interactions. An evaluation that is finished in ``out`` is read, and no model is loaded.

    UserError: ``out`` is of another evaluation, a recording or agent config does not fit, or more episodes than
    ``rollout.max_unscorable`` allows were broken, which is told once the others are kept.
    """
    ranks.alone("evaluate")
    if recipe.tasks is not None:
        raise UserError(
            "evaluate: --agents, --seeds, --replay and --out are of AMemGym's users; leave them out for tasks, whose episodes "
            "are kept by: amemgym-train rollout RECIPE --split test --out FOLDER"
        )
    with nullcontext(out) if out else tempfile.TemporaryDirectory() as folder, claimed(Path(folder), "another --out"):
        evaluation = Evaluation(recipe, role, adapter or recipe.policy.adapter, words, seeds, replay, Path(folder))
        report = evaluation.run()
        seconds, lacks = evaluation.store.seconds(), evaluation.lacks()
        return {"report": report, "seconds": seconds, "cost": evaluation.cost, "lacks": lacks}


class Evaluation:
    """One evaluation in its folder."""

    def __init__(
        self,
        recipe: Recipe,
        role: str,
        adapter: str | None,
        words: Sequence[str],
        seeds: Sequence[int],
        replay: str | None,
        folder: Path,
    ) -> None:
        self.recipe, self.role, self.adapter, self.folder = recipe, role, adapter, folder
        self.agents = named_agents(words, recipe)
        self.seeds = list(seeds) or [recipe.seed]
        self.entries = entries(self.agents, self.seeds)
        self.scenarios: list[Scenario] = users(recipe, role)
        check_scrambled(role, self.scenarios, recipe.evaluation.controls)
        self.store = Store(folder, self.scenarios)
        self.cost: dict[str, Any] = {}
        self.recorded = self._recordings(Path(replay)) if replay else None
        adopt(folder, settings(recipe, role, self.agents, self.seeds, self._hashes()))

    def run(self) -> dict[str, Any]:
        """The report, whose writing ends the evaluation if nobody's episode is broken."""
        path = self.folder / "report.json"
        kept = read_json(path, dict) if path.is_file() else {}
        if kept.get("broken") == []:
            if not self.heatmaps.is_dir():
                save_heatmaps(self.heatmaps, kept)
            return kept
        save_data(self.folder / "data.json", self.scenarios)
        with answering(self.recipe, self.adapter) as policy:
            played = self._play(policy)
            everybody = [episode for episodes in played.values() for episode in episodes]
            check_unscorable(everybody, self.recipe.rollout.max_unscorable)
            upper = self._upper(policy)
            controls = self._controls(policy, played)
        self.cost = totals(self.recipe)
        report = self._report(played, upper, controls)
        save_heatmaps(self.heatmaps, report)
        write_text(self.folder / "report.md", shown.markdown(report))
        write_json(path, report)
        return report

    @property
    def heatmaps(self) -> Path:
        return self.folder / "heatmaps"

    def lacks(self) -> list[str]:
        """What could not be made on this machine, and how to get it."""
        return [] if self.heatmaps.is_dir() else [MISSING]

    def _play(self, policy: Policy) -> Played:
        kept = {entry: self.store.finished(entry) for entry in self.entries}
        left = [entry for entry in self.entries if kept[entry] is None]
        limit = self.recipe.rollout.concurrency
        for group in [left] if self.recipe.policy.remote and left else [[entry] for entry in left]:
            plays = [self.store.play(entry, self.recipe, self.role, policy, self._user()) for entry in group]
            label = ", ".join(entry.label for entry in group)
            for entry, episodes in zip(group, play_several(plays, limit, label), strict=True):
                kept[entry] = episodes
                self.store.finish(entry, episodes)
        return {entry: episodes for entry, episodes in kept.items() if episodes is not None}

    def _user(self) -> Any:
        """The factory of recorded users; None leaves it to the recipe who talks."""
        from amemgym_envs.amemgym.recorded import RecordedUser

        recorded = self.recorded
        return None if recorded is None else lambda scenario, seed: RecordedUser(recorded[scenario.id])

    def _upper(self, policy: Policy) -> UpperBound | None:
        """The model's upper bound, if it is wanted: asked for the users whose replies are not kept."""
        if self.recipe.evaluation.upper != "model":
            return None
        store = self.store
        left = [scenario for scenario in self.scenarios if not store.upper(scenario.id).is_file()]
        ask_upper(self.recipe.agent, policy, left, lambda user, replies: write_upper(store.upper(user.id), user, replies))
        files = {scenario.id: read_json(store.upper(scenario.id), list) for scenario in self.scenarios}
        replies = {user: [[item["raw_response"] for item in row] for row in rows] for user, rows in files.items()}
        return bound(self.scenarios, replies)

    def _controls(self, policy: Policy, played: Played) -> dict[str, list[Episode]]:
        """The episodes of every control: for all agents, or of each with its first seed once all of its users are played."""
        found: dict[str, list[Episode]] = {}
        for name in self.recipe.evaluation.controls:
            if name in ONCE:
                found[name] = self.store.control(name, lambda name=name: self._once(name, policy))
        for entry, episodes in played.items():
            if entry.seed == self.seeds[0] and all(episode.error is None for episode in episodes):
                for name in self.recipe.evaluation.controls:
                    if name not in ONCE:
                        asked = (entry.recipe(self.recipe), name, policy, self.scenarios, episodes, entry.sampling, True)
                        kept = self.store.control(f"{entry.label}/{name}", lambda asked=asked: ask_with_memory(*asked))
                        found[f"{entry.label}, {name} memory"] = kept
        return found

    def _once(self, name: str, policy: Policy) -> list[Episode]:
        if name == "instruction":
            return ask_with_memory(self.recipe, name, policy, self.scenarios, [], together=True)
        return play_scripted(self.recipe, name, self.role, self.scenarios)

    def _report(self, played: Played, upper: UpperBound | None, controls: dict[str, list[Episode]]) -> dict[str, Any]:
        report: dict[str, Any] = {
            "split": self.role,
            "users": [scenario.id for scenario in self.scenarios],
            "seeds": self.seeds,
            "agents": {},
        }
        notes = [note for agent in self.agents for note in agent.notes]
        for agent in self.agents:
            own = {entry.seed: episodes for entry, episodes in played.items() if entry.agent is agent}
            labels = [entry.label for entry in played if entry.agent is agent]
            report["agents"][agent.name] = {"results": labels} | standings.standing(own, upper)
            notes += _notes(agent, own, report["agents"][agent.name])
        if self.recipe.environments:
            of_users = {user: environment_of(self.recipe, user) for user in report["users"]}
            report["environments"] = standings.by_environment(report["agents"], of_users)
        report["differences"] = standings.differences(report["agents"])
        report["controls"] = {name: standings.control(episodes, upper) for name, episodes in controls.items()}
        everybody = [*((entry.label, episodes) for entry, episodes in played.items()), *controls.items()]
        report["broken"] = [one for label, episodes in everybody for one in standings.broken(label, episodes)]
        return report | {"notes": notes}

    def _recordings(self, folder: Path) -> "dict[str, Interactions]":
        from amemgym_envs.amemgym.recorded import load_interactions
        from amemgym_envs.amemgym.scenario import ScenarioError

        try:
            return {scenario.id: load_interactions(folder, scenario) for scenario in self.scenarios}
        except ScenarioError as error:
            raise UserError(f"--replay: {error}") from error

    def _hashes(self) -> dict[str, str]:
        """Of what the recipe and the command name: files and what is in them, by key."""
        from amemgym_envs.amemgym.layout import unparse

        files = {key: value for key, value in named_files(self.recipe).items() if key.startswith("agent.")}
        found = files | {f"scenarios.{self.role}": hash_of(unparse(self.scenarios))}
        if self.adapter:
            found["adapter"] = digest(Path(self.adapter))
        return found if self.recorded is None else found | {"replay": hash_of(self.recorded)}


def _notes(agent: NamedAgent, by_seed: dict[int, list[Episode]], standing: dict[str, Any]) -> list[str]:
    """What the figures of an agent do not say by themselves."""
    notes = []
    if equal := standings.equal_seeds(by_seed):
        why = "it is greedy, so that seeds change the user's words alone" if agent.sampling.temperature == 0 else "by chance"
        which = f"seed{'s' if len(equal) > 1 else ''} {', '.join(map(str, equal))}"
        notes.append(f"{agent.name}: {which} gave the answers of seed {min(by_seed)}; {why}")
    if standing["undefined_periods"]:
        left_out = f"the memory score leaves out {standing['undefined_periods']} periods without headroom above a blind pick"
        notes.append(f"{agent.name}: {left_out}")
    verdicts = Counter(one["verdict"] for episodes in by_seed.values() for one in _rewrites(episodes))
    if verdicts:
        told = ", ".join(f"{verdict} {count}" for verdict, count in sorted(verdicts.items()))
        notes.append(f"{agent.name}: it tried to rewrite its prompts {verdicts.total()} times after a period: {told}")
    return notes


def _rewrites(episodes: Sequence[Episode]) -> list[dict[str, Any]]:
    return [one for episode in episodes if episode.states for one in episode.states[-1].get("rewrites", [])]


def save_data(path: Path, scenarios: "Sequence[Scenario]") -> None:
    """The users that are played, for ``rescore``."""
    from amemgym_envs.amemgym.scenario import ScenarioError, save_scenarios

    try:
        save_scenarios(path, list(scenarios))
    except ScenarioError as error:
        raise UserError(str(error)) from error
