"""What an environment promises: gymnasium's rules, its card, its rewards."""

import warnings

from gymnasium.utils.env_checker import check_env

from amemgym_envs.check.episode import Episode, draws, mixed
from amemgym_envs.check.plan import Plan
from amemgym_envs.check.result import Fault, Result, short
from amemgym_envs.core import TextEnv
from amemgym_envs.tasks import TaskEnv

CLOSE = 1e-9


def gymnasium(plan: Plan) -> Result:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            check_env(plan.build(), skip_render_check=True)
        except Exception as error:  # an assertion, or whatever the environment raises
            raise Fault(f"{type(error).__name__}: {error}", "see gymnasium.utils.env_checker.check_env") from error
    if told:
        return Result("gymnasium", "yellow", f"its checker warns: {'; '.join(sorted({str(one.message) for one in told}))}")
    return Result("gymnasium", "green", "its checker has nothing to object")


def tasks(plan: Plan) -> Result:
    """Card and splits, and that a task is one of them."""
    env, splits = plan.build(), plan.splits
    card, known = env.card, [task for tasks in splits.values() for task in tasks]
    if len(set(known)) != len(known):
        twice = sorted({task for task in known if known.count(task) > 1}) if len(known) < 5000 else ["some"]
        raise Fault(f"tasks are in two places: {', '.join(twice[:5])}", "give every task one split")
    if not plan.options:
        counts = {split: len(tasks) for split, tasks in splits.items()}
        wrong = [split for split, count in card.splits.items() if count is not None and counts.get(split) != count]
        if wrong:
            raise Fault(f"the card says {card.splits}, there are {counts}", "mend EnvCard.splits")
    if isinstance(env, TaskEnv) and env.splits is not env.splits:
        raise Fault("splits are built anew at every call, which every reset pays for", "cache them at class or module level")
    try:
        env.reset(options={"task": "\x00 no such task"})
    except ValueError:
        pass
    else:
        raise Fault("a task that there is not is played", "raise ValueError, as TextEnv.choose_task does")
    text = ", ".join(f"{split} {len(tasks):,}" for split, tasks in splits.items())
    cap = f"{card.step_cap} steps at most" if card.step_cap else "as many steps as the task has"
    return Result("tasks", "green", f"{text}; {cap}", figures={"splits": {split: len(tasks) for split, tasks in splits.items()}})


def rewards(plan: Plan) -> Result:
    """Types, scores and ends of whole episodes, by expert and blind actions mixed."""
    env, count, steps = plan.build(), 0, 0
    for task, seed in plan.episodes(max(1, plan.tasks // 4)):
        episode, rng, total = Episode(env, task, seed), draws(seed), 0.0
        _state(env, episode, ended=False)
        while not episode.over:
            observation, reward, done, truncated, info = episode.step(mixed(env, rng))
            total += reward
            if not (isinstance(done, bool) and isinstance(truncated, bool)):
                raise Fault(f"{task}: terminated and truncated are {done!r} and {truncated!r}", "return plain bools")
            _state(env, episode, ended=done or truncated)
            if isinstance(env, TaskEnv) and abs(total - info["score"]) > CLOSE:
                said = f"{task}: after step {len(episode.actions)} rewards sum up to {total:g}, the score is {info['score']:g}"
                raise Fault(said, "pay the increase of the score, as TaskEnv.step does; Outcome.score is the episode's so far")
        cap = getattr(env, "max_steps", None)
        if cap is not None and len(episode.actions) > cap:
            raise Fault(f"{task}: {len(episode.actions)} steps, at most {cap} were announced", "truncate, as TaskEnv.step does")
        if not (done or truncated):
            raise Fault(f"{task}: no end after {len(episode.actions)} steps", "set a step_cap")
        count, steps = count + 1, steps + len(episode.actions)
    what = "rewards sum up to the score" if isinstance(env, TaskEnv) else "scores are"
    low, high = env.card.score
    told = f"{what}, within {low:g} to {high:g}, in {count} episodes of {steps:,} steps"
    return Result("rewards", "green", told, figures={"episodes": count, "steps": steps})


def _state(env: TextEnv, episode: Episode, ended: bool) -> None:
    info, low, high = episode.info, *env.card.score
    if not isinstance(episode.observation, str):
        raise Fault(f"{episode.task}: an observation is {short(episode.observation)}", "observations are strings")
    if not (isinstance(info.get("instruction"), str) and info["instruction"].strip()):
        raise Fault(f"{episode.task}: info['instruction'] is {short(info.get('instruction'))}", "say what the task is")
    if not low - CLOSE <= info["score"] <= high + CLOSE:
        raise Fault(f"{episode.task}: the score is {info['score']}, the card says {low:g} to {high:g}", "mend one of the two")
    if (info["success"] is None) == ended:
        when = "at the end" if ended else "before the end"
        raise Fault(f"{episode.task}: info['success'] is {info['success']!r} {when}", "None until the end, then True or False")
