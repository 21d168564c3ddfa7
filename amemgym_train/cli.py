"""The command line. Each command is one thin function; whatever is heavy is imported inside it, so that help is instant."""

import argparse
import json
import os
import shlex
import sys
from collections.abc import Callable
from typing import Any

from amemgym_train import __version__
from amemgym_train.errors import UserError, out_of_room

GENERATE_FLAGS = {  # flag: the key of the generator that it sets
    "users": "num_users",
    "seed": "seed",
    "offset": "user_offset",
    "variables": "num_variables",
    "periods": "num_periods",
    "questions": "num_questions",
    "changes": "num_changes_per_period",
}


WRONG_PATH = (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)


def main(argv: list[str] | None = None) -> int:
    """Runs one command. Returns 0, 2 after a mistake the user can mend, or 130 after an interrupt; bugs keep their traceback."""
    arguments = _parse(argv)
    try:
        arguments.run(arguments)
    except UserError as error:
        return _stop(str(error), 2)
    except KeyboardInterrupt:
        kept = "finished stages are kept" if arguments.command == "evolve" else "nothing was kept of this command"
        return _stop(f"interrupted; {kept}. To go on, {_again(argv)}", 130)
    except Exception as error:
        if isinstance(error, WRONG_PATH) and error.filename:
            return _stop(f"{error.filename}: {error.strerror}. Mend that path, or name another, then {_again(argv)}", 2)
        if not out_of_room(error):
            raise
        place = getattr(error, "filename", None) or "to disk"
        return _stop(f"no space left while writing {place} ({error}). Free some, then {_again(argv)}", 2)
    return 0


def generate(arguments: argparse.Namespace) -> None:
    from amemgym_envs.amemgym.scenario import ScenarioError, save_scenarios
    from amemgym_train.config.load import load_recipe

    recipes = [word for word in arguments.words if "=" not in word]
    if len(recipes) > 1:
        raise UserError(f"generate takes one recipe, got {', '.join(recipes)}; overrides have the form dotted.key=value")
    overrides = [word for word in arguments.words if "=" in word]
    given = {key: getattr(arguments, flag) for flag, key in GENERATE_FLAGS.items() if getattr(arguments, flag) is not None}
    overrides += [f"scenarios.{arguments.split}.{key}={value}" for key, value in given.items()]
    config = getattr(load_recipe(recipes[0] if recipes else None, overrides).scenarios, arguments.split)
    if config.data is not None:
        raise UserError(f"scenarios.{arguments.split} are read from {config.data}: there is nothing to generate")
    scenarios = config.build()
    try:
        save_scenarios(arguments.out, scenarios)
    except ScenarioError as error:
        raise UserError(str(error)) from error
    print(f"{arguments.out}: {len(scenarios)} {'user' if len(scenarios) == 1 else 'users'}")


def evaluate(arguments: argparse.Namespace) -> None:
    from amemgym_train.config.load import load_recipe

    recipe = load_recipe(arguments.recipe, arguments.overrides)
    from amemgym_train.evolution.stages import evaluate_policy  # loads torch: only for a recipe that holds

    _show(evaluate_policy(recipe, arguments.split, arguments.adapter), arguments.json)


def rescore(arguments: argparse.Namespace) -> None:
    from rich.console import Console

    from amemgym_train.evaluation.public import rescore as rescored
    from amemgym_train.evaluation.table import render

    rows = rescored(arguments.data, arguments.results, arguments.unparsable)
    if arguments.json:
        print(json.dumps([row.to_dict() for row in rows], indent=2))
    else:
        Console().print(render(rows))


def rollout(arguments: argparse.Namespace) -> None:
    from amemgym_train.config.load import load_recipe

    recipe = load_recipe(arguments.recipe, arguments.overrides)
    from amemgym_train.evolution.stages import rollout_policy  # loads torch: only for a recipe that holds

    print(rollout_policy(recipe, arguments.split, arguments.adapter, arguments.out))


def evolve(arguments: argparse.Namespace) -> None:
    from amemgym_train.config.description import describe
    from amemgym_train.config.load import load_recipe

    recipe = load_recipe(arguments.recipe, arguments.overrides)
    main_process = os.environ.get("RANK", "0") == "0"  # set by a distributed launch
    if main_process:
        print(describe(recipe), flush=True)
    from amemgym_train.evolution.loop import evolve as evolved  # loads torch: only for a recipe that holds

    evolved(recipe)


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="amemgym-train",
        description="Train agents that get better at remembering.",
        epilog="A first run on a CPU: amemgym-train evolve recipes/configs/quickstart.yaml",
    )
    parser.add_argument("--version", action="version", version=f"amemgym-train {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    command = _command(commands, generate, "write users to a data file", "--out data.json --split test --users 4 --periods 3")
    command.add_argument("words", nargs="*", metavar="RECIPE|KEY=VALUE", help="a recipe that holds the settings, and overrides")
    command.add_argument("--out", required=True, help="data.json or data.json.gz to write")
    command.add_argument("--split", default="train", choices=("train", "validation", "test"), help="(default: %(default)s)")
    for flag, key in GENERATE_FLAGS.items():
        command.add_argument(f"--{flag}", type=int, metavar="N", help=f"sets {key}")

    command = _command(commands, evaluate, "score an agent", "recipes/configs/quickstart.yaml --split test --json")
    _takes_recipe(command, ("test", "validation"))
    command.add_argument("--json", action="store_true", help="print JSON instead of a table")

    command = _command(commands, rescore, "score result files of the public AMemGym code", "--data data.json --results results")
    command.add_argument("--data", required=True, help="the data.json that the results belong to")
    command.add_argument("--results", required=True, help="folder of the results")
    command.add_argument("--unparsable", default="wrong", choices=("wrong", "random"), help="what such a reply counts as")
    command.add_argument("--json", action="store_true", help="print JSON instead of a table")

    command = _command(commands, rollout, "play episodes and store them", "recipes/configs/quickstart.yaml --out episodes")
    _takes_recipe(command, ("train", "validation", "test"))
    command.add_argument("--out", required=True, help="folder for the episodes")

    command = _command(commands, evolve, "play, diagnose, train, evaluate, repeat", "recipes/configs/quickstart.yaml seed=1")
    _takes_recipe(command, ())

    arguments, rest = parser.parse_known_args(argv)
    # argparse takes no positional after an option once it has matched them, but an override may stand anywhere
    takes = next((name for name in ("overrides", "words") if hasattr(arguments, name)), None)
    unknown = [word for word in rest if word.startswith("-") or takes is None]
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if rest:
        getattr(arguments, takes).extend(rest)
    return arguments


def _command(commands: Any, run: Callable[[argparse.Namespace], None], what: str, example: str) -> argparse.ArgumentParser:
    name = run.__name__
    text = f"example:\n  amemgym-train {name} {example}"
    raw = argparse.RawDescriptionHelpFormatter
    command = commands.add_parser(name, help=what, description=what.capitalize() + ".", epilog=text, formatter_class=raw)
    command.set_defaults(run=run)
    return command


def _takes_recipe(command: argparse.ArgumentParser, splits: tuple[str, ...]) -> None:
    command.add_argument("recipe", metavar="RECIPE", help="recipe file (YAML)")
    command.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="overrides, for instance evolution.iterations=3")
    if splits:
        command.add_argument("--adapter", metavar="DIR", help="LoRA adapter to load (default: the base model)")
        command.add_argument("--split", default=splits[0], choices=splits, help="(default: %(default)s)")


def _show(result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(result, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=False)
    for key, value in _flat(result, ""):
        table.add_row(key, f"{value:.3f}" if isinstance(value, float) else str(value))
    Console().print(table)


def _flat(values: dict[str, Any], prefix: str) -> list[tuple[str, Any]]:
    """The plain values with dotted names; lists (per period, per user) are left to --json."""
    rows: list[tuple[str, Any]] = []
    for key, value in values.items():
        if isinstance(value, dict):
            rows += _flat(value, f"{prefix}{key}.")
        elif not isinstance(value, list):
            rows.append((prefix + key, value))
    return rows


def _again(argv: list[str] | None) -> str:
    return f"run again: amemgym-train {shlex.join(sys.argv[1:] if argv is None else argv)}"


def _stop(message: str, code: int) -> int:
    print(f"amemgym-train: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
