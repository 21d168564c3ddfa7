"""That task and seed fix an episode: in this instance and in others, beside others, and in another process."""

import hashlib
import json
import os
import random
import subprocess
import sys

import numpy as np

from amemgym_envs.check.episode import Episode, difference, play, replay
from amemgym_envs.check.plan import Plan, plan
from amemgym_envs.check.result import Fault, Result

OWN = "draw from self.np_random, and from nothing that outlives an episode"


def determinism(plan: Plan) -> Result:
    env, other, count = plan.build(), plan.build(), 0
    state = _global_state()
    for task, seed in plan.episodes(2):
        first = play(env, task, seed)
        for again in (replay(env, first), replay(other, first)):
            if told := difference(first, again):
                raise Fault(told, OWN)
        count += 1
    if _global_state() != state:
        raise Fault("draws from the generators of random or numpy that all share", OWN)
    return Result("determinism", "green", f"{count} episodes, each played three times, are the same to the letter")


def processes(checked: Plan) -> Result:
    """Sets of strings are in another order there."""
    if checked.entry is None:
        return Result("processes", "yellow", "not looked at: another process cannot make the environment")
    amounts = {"seeds": min(checked.seeds, 2), "tasks": 2}
    request = json.dumps({"entry": checked.entry, "options": checked.options} | amounts)
    hashing = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    path = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
    environment = os.environ | {"PYTHONHASHSEED": hashing, "PYTHONPATH": path}
    command = [sys.executable, "-m", "amemgym_envs.check.digest"]
    child = subprocess.run(command, input=request, capture_output=True, text=True, env=environment, timeout=600)
    if child.returncode:
        last = (child.stderr.strip().splitlines() or [f"exit code {child.returncode}"])[-1]
        raise Fault(f"another process fails: {last}", f"run {' '.join(command[1:])} by hand, given {request}")
    here, there = digests(plan(checked.entry, checked.options, **amounts)), json.loads(child.stdout)
    if wrong := [name for name in here if here[name] != there.get(name)]:
        raise Fault(f"another process plays {wrong[0]} differently", "rely on neither hash() nor the order of a set")
    return Result("processes", "green", f"another process, with other string hashes, plays {len(here)} episodes the same")


def digests(plan: Plan) -> dict[str, str]:
    """{task and seed: digest of all that the episode tells}"""
    env = plan.build()
    played = [play(env, task, seed) for task, seed in plan.episodes(plan.tasks)]
    texts = {f"{one.task} with seed {one.seed}": "\n".join(one.seen) for one in played}
    return {name: hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest() for name, text in texts.items()}


def instances(plan: Plan) -> Result:
    """Two by turns, one of them closed on the way, against each of them alone."""
    count = 0
    for seed in range(plan.seeds):
        some = [task for tasks in plan.sample(2).values() for task in tasks]
        for task, other in zip(some, some[1:] + some[:1], strict=True):
            alone = [play(plan.build(), task, seed), play(plan.build(), other, seed + 1)]
            envs = [plan.build(), plan.build()]
            together = [Episode(env, one.task, one.seed) for env, one in zip(envs, alone, strict=True)]
            for number in range(max(len(one.actions) for one in alone)):
                for env, one, episode in zip(envs, alone, together, strict=True):
                    if number < len(one.actions) and not episode.over:
                        episode.step(one.actions[number])
                        if episode.over:
                            env.close()
            for one, episode in zip(alone, together, strict=True):
                if told := difference(one, episode):
                    raise Fault(f"beside another instance, {told}", "keep an episode's state in self, and copy what is shared")
            count += 1
    return Result("instances", "green", f"{count} pairs, played by turns, do as each does alone")


def _global_state() -> str:
    return repr(random.getstate()) + repr([part.tolist() if hasattr(part, "tolist") else part for part in np.random.get_state()])
