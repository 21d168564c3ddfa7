"""Our wording against what AgentGym's own server answered."""

import re

COMMAND = re.compile(r"craft \d+ [a-z ]+ using \d+ [a-z ]+(, \d+ [a-z ]+)*")


def layout(observation: str) -> tuple[str, bool, str]:
    """The heading of a first observation, whether all its commands are commands, and how it names the goal."""
    heading, *commands, empty, goal = observation.split("\n")
    return heading + empty, all(COMMAND.fullmatch(line) for line in commands), re.sub(r"craft .*\.", "craft ITEM.", goal)


def test_first_observations_are_laid_out_alike(env, recorded):
    resets = [exchange for exchange in recorded if exchange["path"] in ("/create", "/reset")]
    assert len(resets) == 7
    for exchange in resets:
        ours, _ = env.reset(options={"task": env.item(exchange["body"].get("data_idx", 0))})
        assert layout(ours) == layout(exchange["response"]["observation"]) == ("Crafting commands:", True, "Goal: craft ITEM.")


def test_every_recorded_action_is_answered_in_the_same_words(env, recorded):
    steps = 0
    for exchange in recorded:
        response = exchange["response"]
        if exchange["path"] in ("/create", "/reset"):
            env.reset(options={"task": env.item(exchange["body"].get("data_idx", 0))})
        elif exchange["path"] == "/step" and "observation" in response:
            observation, reward, done, _, _ = env.step(exchange["body"]["action"])
            assert {"observation": observation, "reward": reward, "done": done} == response
            steps += 1
    assert steps == 60


def test_commands_that_both_know_are_written_alike(env, recorded):
    ours = {recipe.text for recipes in env.book.recipes.values() for recipe in recipes}
    theirs = {line for e in recorded if e["path"] == "/reset" for line in e["response"]["observation"].split("\n")}
    assert len(ours & theirs) >= 50
