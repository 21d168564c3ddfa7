"""How far the expert gets, and how far one who does not look."""

from amemgym_envs.check.episode import blind, expert, play
from amemgym_envs.check.plan import Plan
from amemgym_envs.check.result import Result
from amemgym_envs.core import TextEnv
from amemgym_envs.tasks import TaskEnv

LATE = 0.1  # share of tasks that may need more steps than an episode has, as AgentGym's caps leave them


def by_expert(plan: Plan) -> Result:
    """Counted apart: tasks that the expert says it does not know, and those that need more steps than an episode has."""
    env, solved, late, failed, unknown = plan.build(), 0, [], [], []
    for task, seed in plan.episodes(plan.tasks):
        name = f"{task} (seed {seed})"
        try:
            info = play(env, task, seed, expert).info
            if not info["success"] and _longer(plan, env, task, seed):
                late.append(name)
            elif info["success"]:
                solved += 1
            else:
                failed.append(f"{name[:-1]}, score {info['score']:g}, {info.get('steps')} steps)")
        except NotImplementedError:
            unknown.append(name)
    tried = solved + len(late) + len(failed)
    if not tried:
        return Result("expert", "yellow", "there is none: nothing proves that the tasks can be solved", "implement expert()")
    figures = {"tried": tried, "solved": solved, "share": solved / tried, "late": late, "failed": failed, "unknown": unknown}
    told = f"{solved} of {tried} episodes solved" if late or failed else f"all {tried} episodes solved"
    told += f", {len(late)} with more steps than an episode has" if late else ""
    told += f"; it knows no way in {len(unknown)} more" if unknown else ""
    if failed:
        told += f"; not {', '.join(failed[:5])}" + ", ..." * (len(failed) > 5)
        return Result("expert", "red", told, "play such a task by env.expert() and look where it stops", figures)
    return Result("expert", "yellow" if len(late) > LATE * tried else "green", told, figures=figures)


def _longer(plan: Plan, env: TextEnv, task: str, seed: int) -> bool:
    """Whether the expert gets there with ten times the steps."""
    if not isinstance(env, TaskEnv) or env.steps != env.max_steps:
        return False
    return bool(play(plan.build(max_steps=10 * env.max_steps), task, seed, expert).info["success"])


def by_chance(plan: Plan) -> Result:
    env, scores, solved = plan.build(), [], 0
    try:
        for task, seed in plan.episodes(plan.tasks):
            info = play(env, task, seed, blind).info
            scores.append(info["score"])
            solved += bool(info["success"])
    except NotImplementedError:
        told = "no action can be drawn: the score of chance is not known"
        return Result("random", "yellow", told, "implement random_action(rng)")
    mean = sum(scores) / len(scores)
    figures = {"episodes": len(scores), "score": mean, "success": solved / len(scores)}
    told = f"mean score {mean:.3f}, {solved / len(scores):.1%} of {len(scores)} episodes solved"
    if solved > len(scores) / 2:
        return Result("random", "yellow", f"{told}: the tasks ask for little", figures=figures)
    return Result("random", "green", told, figures=figures)
