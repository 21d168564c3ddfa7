"""The recipe's rewards on three canned episodes."""

from amemgym_train.config.recipe import Recipe
from amemgym_train.doctor.finding import Finding, green, red

NAME = "rewards"


def rewards(recipe: Recipe) -> list[Finding]:
    """Each canned episode's mean reward by the recipe's scheme, which must pay something."""
    from amemgym_train.credit.canned import canned
    from amemgym_train.credit.rewards import resolve
    from amemgym_train.diagnosis.operations import diagnose
    from amemgym_train.errors import UserError

    means = {}
    try:
        scheme = resolve(recipe.credit)
        for episode in canned():
            paid = [reward.value for reward in scheme(episode, diagnose(episode), recipe.credit).values() if reward is not None]
            means[episode.task] = sum(paid) / len(paid) if paid else None
    except UserError as error:
        return [red(NAME, str(error), "credit.scheme=operation")]
    shown = ", ".join(f"{task} {'nothing' if mean is None else f'{mean:.2f}'}" for task, mean in means.items())
    if all(mean is None for mean in means.values()):
        nothing = f"{recipe.credit.scheme} pays no call of three canned episodes, so nothing can be learned"
        return [red(NAME, nothing, "credit.scheme=operation")]
    return [green(NAME, f"{recipe.credit.scheme} on three canned episodes, mean per call: {shown}")]
