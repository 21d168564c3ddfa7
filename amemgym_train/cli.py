"""The command line. Each command is one thin function; whatever is heavy is imported inside it, so that help is instant."""

import argparse
import errno
import json
import os
import select
import shlex
import sys
from collections.abc import Callable
from typing import Any

from amemgym_train import __version__
from amemgym_train.errors import UserError, out_of_room
from amemgym_train.scenarios import GENERATE_FLAGS

KEPT = {  # of an interrupted command
    "evolve": "finished stages are kept",
    "generate": "finished users are kept",
    "evaluate": "with --out, finished periods are kept",
    "serve": "its episodes are over",
}
WRONG_PATH = (  # errors of the system that another path would not meet
    *(errno.EEXIST, errno.ENOENT, errno.EISDIR, errno.ENOTDIR, errno.EACCES, errno.EPERM),
    *(errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP),
)
SEEDS = 2**32  # as many as a recipe may choose from


def main(argv: list[str] | None = None) -> int:
    """Runs one command. Returns 0, 1 for what does not pass, 2 after a mistake the user can mend, 130 after an interrupt.

    Bugs keep their traceback.
    """
    arguments = _parse(argv)
    try:
        code = arguments.run(arguments)
    except UserError as error:
        return _stop(str(error), 2)
    except KeyboardInterrupt:
        kept = KEPT.get(arguments.command, "nothing was kept of this command")
        return _stop(f"interrupted; {kept}. To go on, {_again(argv)}", 130)
    except BrokenPipeError:
        if not _unread():
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still to be flushed goes nowhere
        return 0
    except Exception as error:
        if isinstance(error, OSError) and error.errno in WRONG_PATH and error.filename:
            return _stop(f"{error.filename}: {error.strerror}. Mend that path, or name another, then {_again(argv)}", 2)
        if not out_of_room(error):
            raise
        place = getattr(error, "filename", None) or "to disk"
        return _stop(f"no space left while writing {place} ({error}). Free some, then {_again(argv)}", 2)
    return code or 0


def _unread() -> bool:
    """Whether whoever read the output has seen enough, as head has after ten lines."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)  # an error is told unasked
    return bool(poll.poll(0))


def generate(arguments: argparse.Namespace) -> int | None:
    from amemgym_train.scenarios.generate import generate as generated

    return generated(arguments)


def validate(arguments: argparse.Namespace) -> int:
    from amemgym_train.scenarios.validate import validate as validated

    return validated(arguments)


def evaluate(arguments: argparse.Namespace) -> None:
    from amemgym_train.config.load import load_recipe

    recipe = load_recipe(arguments.recipe, arguments.overrides)
    own = {"words": arguments.agents, "seeds": arguments.seeds, "replay": arguments.replay, "out": arguments.out}
    if any(own.values()):
        from amemgym_train.evaluation.shown import show
        from amemgym_train.evolution.evaluation import evaluate_agents  # loads torch: only for a recipe that holds

        return show(evaluate_agents(recipe, arguments.split, arguments.adapter, **own), arguments.out, arguments.json)
    from amemgym_train.evolution.stages import evaluate_policy

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


def convert(arguments: argparse.Namespace) -> None:
    from amemgym_train.formats.convert import convert as converted

    words = (arguments.source, arguments.target, arguments.to, arguments.source_format, arguments.form, arguments.overwrite)
    converted(*words)


def rollout(arguments: argparse.Namespace) -> None:
    from amemgym_train.config.load import load_recipe

    recipe = load_recipe(arguments.recipe, arguments.overrides)
    from amemgym_train.evolution.stages import rollout_policy  # loads torch: only for a recipe that holds

    print(rollout_policy(recipe, arguments.split, arguments.adapter, arguments.out))


def evolve(arguments: argparse.Namespace) -> None:
    from amemgym_train.config.description import describe
    from amemgym_train.config.load import load_recipe

    if arguments.json and not arguments.dry_run:
        raise UserError("--json goes with --dry-run: a run's figures are in its summary.json")
    keep = [] if arguments.keep_last is None else [f"evolution.keep_last={arguments.keep_last}"]
    recipe = load_recipe(arguments.recipe, arguments.overrides + keep)
    if arguments.since is not None and arguments.fork is None:
        raise UserError("--from goes with --fork NAME, which begins a new run; a run by itself goes on where it stopped")
    if arguments.dry_run:
        from amemgym_train.evolution.plan import dry_run

        return dry_run(recipe, arguments.json)
    main_process = os.environ.get("RANK", "0") == "0"  # set by a distributed launch
    if arguments.fork is not None:
        from amemgym_train.evolution.fork import fork, renamed

        recipe = fork(recipe, arguments.fork, arguments.since) if main_process else renamed(recipe, arguments.fork)
    if main_process:
        print(describe(recipe), flush=True)
    from amemgym_train.evolution.processes import dies_with_parent
    from amemgym_train.evolution.run import evolve as evolved  # loads torch: only for a recipe that holds

    if "RANK" in os.environ:  # else whoever started it may leave
        dies_with_parent()
    evolved(recipe, arguments.machine_rank)


def doctor(arguments: argparse.Namespace) -> int:
    from amemgym_train.doctor.report import doctor as doctored

    return doctored(arguments.recipe, arguments.overrides, arguments.json)


def report(arguments: argparse.Namespace) -> int:
    from amemgym_train.report.command import report as reported

    return reported(arguments.run_name, arguments.out)


def push(arguments: argparse.Namespace) -> int:
    from amemgym_train.report.push import push as pushed

    words = (arguments.run_name, arguments.repo, arguments.private, arguments.revision, arguments.base, arguments.dry_run)
    return pushed(*words)


def serve(arguments: argparse.Namespace) -> None:
    from amemgym_train.serving import serve as served

    served(arguments)


def envs(arguments: argparse.Namespace) -> int:
    from amemgym_train.environments import envs as known

    return known(arguments)


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="amemgym-train",
        description="Train agents that get better at remembering.",
        epilog="A first run on a CPU: amemgym-train evolve recipes/configs/quickstart.yaml",
    )
    parser.add_argument("--version", action="version", version=f"amemgym-train {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    command = _command(commands, generate, "write users to a data file", "--preset base --users 20 --out data.json lang=zh")
    command.add_argument("words", nargs="*", metavar="RECIPE|KEY=VALUE", help="a recipe with the settings; keys of the generator")
    command.add_argument("--out", required=True, help="data.json or data.json.gz to write; a folder for --split all")
    splits = ("train", "validation", "test", "all")
    command.add_argument("--split", default="train", choices=splits, help="all: a file for each (default: %(default)s)")
    for flag, key in GENERATE_FLAGS.items():
        kind = str if flag in ("preset", "lang", "difficulty", "personas") else int
        command.add_argument(f"--{flag}", type=kind, metavar="N" if kind is int else "X", help=f"sets {key}")
    command.add_argument("--workers", type=_positive, default=1, metavar="N", help="processes (default: %(default)s)")
    _takes_model(command, "have this model write the users, by --base-url")
    command.add_argument(
        "--tries", type=_positive, default=20, metavar="N", help="for a text of the model (default: %(default)s)"
    )
    command.add_argument("--resamples", type=int, default=20, metavar="N", help="questions of a user replaced at most")

    command = _command(commands, validate, "prove that data can be played, scored and trusted", "data.json --tokenizer smollm2")
    command.add_argument("data", help="data file, or a folder with one per split")
    command.add_argument("--tokenizer", metavar="MODEL", help="count tokens with it (default: an estimate from bytes)")
    command.add_argument("--json", action="store_true", help="print JSON instead of tables")
    _takes_model(command, "have this model read back what no template wrote, by --base-url")

    command = _command(commands, evaluate, "score an agent", "recipes/configs/quickstart.yaml --split test --json")
    _takes_recipe(command, ("test", "validation"))
    command.add_argument("--out", type=_path, metavar="DIR", help="keep everything there, and go on from what is there")
    command.add_argument("--agents", nargs="+", default=[], metavar="AGENT", help="names, or config files of the public code")
    command.add_argument("--seeds", nargs="+", type=_seed, default=[], metavar="N", help="play everything once for each")
    command.add_argument("--replay", type=_path, metavar="DIR", help="play recorded conversations, <user id>/interactions.json")
    command.add_argument("--json", action="store_true", help="print JSON instead of a table")

    command = _command(commands, rescore, "score result files of the public AMemGym code", "--data data.json --results results")
    command.add_argument("--data", required=True, help="the data.json that the results belong to")
    command.add_argument("--results", required=True, help="folder of the results")
    command.add_argument("--unparsable", default="wrong", choices=("wrong", "random"), help="what such a reply counts as")
    command.add_argument("--json", action="store_true", help="print JSON instead of a table")

    command = _command(commands, convert, "put episodes and trajectories into another format", "episodes train.jsonl --to trl")
    command.add_argument("source", type=_path, help="file; a folder of episodes")
    command.add_argument("target", type=_path, help="file to write: .json or .jsonl, for trl .jsonl or .parquet")
    command.add_argument("--to", required=True, choices=("agenttraj", "agenteval", "trl"), help="format of TARGET")
    kinds = ("agenttraj", "agenteval", "episodes")
    command.add_argument("--from", dest="source_format", choices=kinds, help="format of SOURCE (default: by what is in it)")
    forms = ("messages", "completions")
    command.add_argument("--form", default="messages", choices=forms, help="trl: a row per trajectory, or per message learned")
    command.add_argument("--overwrite", action="store_true", help="replace TARGET if it is there")

    command = _command(commands, rollout, "play episodes and store them", "recipes/configs/quickstart.yaml --out episodes")
    _takes_recipe(command, ("train", "validation", "test"))
    command.add_argument("--out", type=_path, required=True, help="folder for the episodes")

    command = _command(commands, evolve, "play, diagnose, train, evaluate, repeat", "recipes/configs/quickstart.yaml seed=1")
    _takes_recipe(command, ())
    command.add_argument("--fork", metavar="NAME", help="begin the run NAME from what this one has done, with another recipe")
    command.add_argument("--from", type=_whole, dest="since", metavar="N", help="with --fork: the last iteration taken over")
    command.add_argument("--keep-last", type=_positive, metavar="N", help="whose episodes and adapter stay, with the best")
    command.add_argument("--machine-rank", type=_whole, default=0, metavar="N", help="of this machine, with launcher accelerate")
    command.add_argument("--dry-run", action="store_true", help="build all but the weights, say what would happen, write nothing")
    command.add_argument("--json", action="store_true", help="with --dry-run: print JSON instead of sentences")

    command = _command(commands, doctor, "find what would stop a run", "recipes/configs/quickstart.yaml seed=1")
    command.add_argument("recipe", nargs="?", metavar="RECIPE", help="recipe file (default: look at the machine alone)")
    command.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="overrides, for instance evolution.iterations=3")
    command.add_argument("--json", action="store_true", help="print JSON instead of a table")

    command = _command(commands, report, "write what a run has shown, from its folder alone", "runs/quickstart")
    command.add_argument("run_name", type=_path, metavar="RUN", help="folder of the run, or its name below runs/")
    command.add_argument("--out", type=_path, metavar="DIR", help="where to (default: RUN/report)")

    command = _command(commands, push, "send a run's best adapter to the hub", "runs/quickstart --repo me/notes --dry-run")
    command.add_argument("run_name", type=_path, metavar="RUN", help="folder of the run, or its name below runs/")
    command.add_argument("--repo", required=True, metavar="ID", help="of the repository, OWNER/NAME; it is made if need be")
    command.add_argument("--private", action="store_true", help="make it a private one")
    command.add_argument("--revision", metavar="BRANCH", help="branch to commit to (default: main)")
    command.add_argument("--base", metavar="ID", help="of the base model on the hub, if the recipe names a folder")
    command.add_argument("--dry-run", action="store_true", help="say what would go, without any network")

    command = _command(commands, serve, "serve environments over HTTP", "textcraft,wordle --port 8000 --max-instances 500")
    command.add_argument("names", metavar="ENV[,ENV...]", help="environments, by their names")
    command.add_argument("--port", type=_whole, default=8000, metavar="N", help="0: any free one (default: %(default)s)")
    command.add_argument("--host", default="127.0.0.1", help="address to listen at (default: %(default)s)")
    command.add_argument("--token", metavar="TEXT", help="asked of every client (default: what AMEMGYM_TOKEN holds, if anything)")
    command.add_argument("--insecure", action="store_true", help="let others than this machine in without a token")
    command.add_argument("--max-instances", type=_positive, default=1024, metavar="N", help="at a time (default: %(default)s)")
    command.add_argument("--ttl", type=_positive, default=3600, metavar="SECONDS", help="of idle ones (default: %(default)s)")
    option = "set what an environment is made with, for instance wordle.mode=agentgym"
    command.add_argument("--option", action="append", default=[], metavar="ENV.KEY=VALUE", help=option)

    command = _command(commands, envs, "list the environments, or check some", "check textcraft,searchqa --seeds 3")
    command.add_argument("--json", action="store_true", help="print JSON instead of a table")
    command.set_defaults(action="list")
    what = "look whether environments keep their contract"
    checking = command.add_subparsers(dest="action", metavar="check").add_parser("check", help=what, description=f"{what}.")
    checking.add_argument("names", metavar="NAME[,NAME]", help="environments, by their names; one of your own as module:Class")
    checking.add_argument("--seeds", type=_positive, default=3, metavar="N", help="to play with (default: %(default)s)")
    checking.add_argument("--tasks", type=_positive, default=20, metavar="N", help="of every split (default: %(default)s)")
    checking.add_argument("--garbage", type=_positive, default=600, metavar="N", help="garbage actions (default: %(default)s)")
    checking.add_argument("--seconds", type=float, default=1.0, metavar="X", help="for each speed (default: %(default)s)")
    option = "what they are made with, for instance mode=agentgym"
    checking.add_argument("--options", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help=option)
    checking.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON instead of a table")

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


def _takes_model(command: argparse.ArgumentParser, what: str) -> None:
    command.add_argument("--model", metavar="NAME", help=what)
    command.add_argument(
        "--base-url", metavar="URL", help="of an OpenAI-compatible server, for instance http://127.0.0.1:8000/v1"
    )
    command.add_argument(
        "--api-key-env", default="OPENAI_API_KEY", metavar="VAR", help="variable with the key (default: %(default)s)"
    )
    command.add_argument(
        "--concurrency", type=_positive, default=8, metavar="N", help="requests at a time (default: %(default)s)"
    )
    command.add_argument("--price-in", type=float, metavar="X", help="per million tokens read, for the cost report")
    command.add_argument("--price-out", type=float, metavar="X", help="per million tokens written")


def _positive(text: str) -> int:
    return _whole(text, 1)


def _whole(text: str, least: int = 0) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r}, expected a whole number of at least {least}")
    return int(text)


def _seed(text: str) -> int:
    if _whole(text) >= SEEDS:
        raise argparse.ArgumentTypeError(f"{text!r}, expected less than {SEEDS:,}")
    return int(text)


def _path(text: str) -> str:
    """Not the empty text of a variable that is not set, which would keep nothing; nor bytes that are no text."""
    if not text.strip() or text.encode("utf-8", "ignore").decode() != text:
        raise argparse.ArgumentTypeError(f"{text!r}, expected the path of a folder")
    return text


def _takes_recipe(command: argparse.ArgumentParser, splits: tuple[str, ...]) -> None:
    command.add_argument("recipe", metavar="RECIPE", help="recipe file (YAML)")
    command.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="overrides, for instance evolution.iterations=3")
    if splits:
        command.add_argument("--adapter", type=_path, metavar="DIR", help="LoRA adapter (default: policy.adapter, else none)")
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
