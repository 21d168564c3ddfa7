"""Steps per second on one core, and whether memory grows."""

import time
from itertools import cycle
from pathlib import Path

from amemgym_envs.check.episode import Episode, Player, blind, expert, mixed, play
from amemgym_envs.check.plan import Plan
from amemgym_envs.check.result import Result

GROWN = 8.0  # MB that an allocator may keep without anything being wrong


def speed(plan: Plan) -> Result:
    figures = {}
    for name, player in (("random", blind), ("expert", expert)):
        try:
            figures[name] = round(_rate(plan, player))
        except NotImplementedError:
            continue
    if not figures:
        figures["any"] = round(_rate(plan, mixed))
    told = ", ".join(f"{rate:,} steps/s {name}" for name, rate in figures.items())
    return Result("speed", "green", f"{told}; resets included, per second of processor time", figures=figures)


def _rate(plan: Plan, player: Player) -> float:
    """Steps per second of processor time, which others on the machine do not take away. Actions are chosen beforehand."""
    env, played = plan.build(), _played(plan, player)
    steps, start, spent = 0, time.process_time(), 0.0
    for one in cycle(played):
        env.reset(seed=one.seed, options={"task": one.task})
        for action in one.actions:
            env.step(action)
        steps += len(one.actions)
        spent = time.process_time() - start
        if spent >= plan.seconds:
            return steps / spent


def _played(plan: Plan, player: Player) -> list[Episode]:
    """By ``player`` on tasks of the last split, those that they know. NotImplementedError: they know none."""
    env, played = plan.build(), []
    for task in list(plan.sample(3 * plan.tasks).values())[-1]:
        try:
            played.append(play(env, task, 0, player))
        except NotImplementedError:
            continue
    if not played:
        raise NotImplementedError(f"{env.card.id}: nobody plays")
    return played


def memory(plan: Plan) -> Result:
    """What instances that are made, played and closed leave behind, after some that fill all that is kept on purpose."""
    chosen = cycle(list(plan.episodes(2)))
    first = max(1, plan.instances // 4)
    if (start := resident()) is None:
        return Result("memory", "yellow", "not looked at: this system does not tell a process how much it has")
    for number in range(first + plan.instances):
        task, seed = next(chosen)
        env = plan.build()
        play(env, task, seed)
        env.close()
        if number == first - 1:
            start = resident()
    grown = resident() - start
    figures = {"grown_mb": round(grown, 1), "resident_mb": round(resident(), 1)}
    told = f"{grown:.1f} MB more after {plan.instances} instances made, played and closed; {resident():.0f} MB in all"
    if grown > 4 * GROWN:
        return Result("memory", "red", told, "see what outlives close(), by tracemalloc", figures)
    return Result("memory", "yellow" if grown > GROWN else "green", told, figures=figures)


def resident() -> float | None:
    """MB of memory that the process has now; None where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return None
    import resource

    return pages * resource.getpagesize() / 2**20
