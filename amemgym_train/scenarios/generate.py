"""``amemgym-train generate``: users by templates or by a model, into a data file with a manifest."""

import argparse
import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amemgym_train.config.load import load_scenarios
from amemgym_train.config.scenarios import ROLES, ScenarioConfig
from amemgym_train.errors import UserError
from amemgym_train.rollout.progress import counted
from amemgym_train.scenarios import GENERATE_FLAGS
from amemgym_train.scenarios.output import quiet_when_cut

if TYPE_CHECKING:
    from amemgym_envs.amemgym.dataset.stream import Entry
    from amemgym_envs.amemgym.generator import GeneratorConfig

LOOKED_AT = 20  # users, for the note on choices that are no full grid


@quiet_when_cut
def generate(arguments: argparse.Namespace) -> None:
    """One file for one split; a folder with a file for each when the split is ``all``."""
    from amemgym_envs.amemgym.scenario import ScenarioError

    splits = list(ROLES) if arguments.split == "all" else [arguments.split]
    out = Path(arguments.out)
    files = {split: out / f"{split}.json" if arguments.split == "all" else out for split in splits}
    if arguments.split == "all" and out.suffix in (".json", ".gz"):
        raise UserError(f"--split all writes a folder with a file per split, and {out} looks like a file; name a folder")
    configs = {split: _section(arguments, split).generator() for split in splits}  # every mistake before any work
    try:
        for split, config in configs.items():
            _generated(arguments, config, files[split])
    except ScenarioError as error:
        raise UserError(str(error)) from error


def _section(arguments: argparse.Namespace, split: str) -> ScenarioConfig:
    """The recipe's settings for a split. An override without a dot is a key of the generator."""
    recipes = [word for word in arguments.words if "=" not in word]
    if len(recipes) > 1:
        raise UserError(f"generate takes one recipe, got {', '.join(recipes)}; overrides have the form key=value")
    given = {key: getattr(arguments, flag) for flag, key in GENERATE_FLAGS.items() if getattr(arguments, flag) is not None}
    words = [f"{key}={value}" for key, value in given.items()] + [word for word in arguments.words if "=" in word]
    words = [word if "." in word.partition("=")[0] else f"scenarios.{split}.{word}" for word in words]
    section = getattr(load_scenarios(recipes[0] if recipes else None, words), split)
    if section.data is not None:
        raise UserError(f"scenarios.{split} are read from {section.data}: there is nothing to generate")
    return section


def _generated(arguments: argparse.Namespace, config: "GeneratorConfig", path: Path) -> None:
    """One file, and what there is to say of it. A finished one of the same settings is left alone."""
    from amemgym_envs.amemgym.dataset import finished

    entries = finished(config, path) if arguments.model is None else None
    if entries is not None:
        print(f"{path}: already there, with the {_users(entries)} that these settings give")
        return
    _report(path, _written(arguments, config, path))
    if arguments.model is None:
        _note_hint(config, path)


def _note_hint(config: "GeneratorConfig", path: Path) -> None:
    from amemgym_envs.amemgym.generator.user import full_grid

    users = range(config.user_offset, config.user_offset + min(config.num_users, LOOKED_AT))
    if not all(full_grid(config, user) for user in users):
        grid = f"num_choices {config.num_choices} is no full grid of the values of {config.num_states_per_question} variables"
        _note(f"{path}: {grid}, which leaves a hint to the right choice; see num_choices in docs/scenarios.md")


def _note(text: str) -> None:
    print(text, file=sys.stderr)


def _written(arguments: argparse.Namespace, config: "GeneratorConfig", path: Path) -> "list[Entry]":
    from amemgym_envs.amemgym.dataset import build

    with counted(path.name, config.num_users, "users") as advance:
        if arguments.model is None:
            return build(config, path, workers=arguments.workers, advance=advance, note=_note)
        return asyncio.run(_by_model(arguments, config, path, advance))


async def _by_model(arguments: argparse.Namespace, config: "GeneratorConfig", path: Path, advance: Any) -> "list[Entry]":
    """A user who cannot be written leaves a line in the report, and an exit code; the others are in the file."""
    from amemgym_envs.amemgym.dataset import save, settings_of
    from amemgym_envs.amemgym.generator.personas import persona
    from amemgym_envs.amemgym.llm import LLMWriter
    from amemgym_envs.amemgym.records import Scenario

    work = path.with_name(path.name + ".work")
    async with endpoint(arguments) as model:
        writer = LLMWriter(config, model, work, lambda user: persona(config, user), arguments.tries, arguments.resamples)
        users = range(config.user_offset, config.user_offset + config.num_users)
        found = []
        async for _, outcome in writer.write(users):
            found += [outcome] if isinstance(outcome, Scenario) else []
            advance(len(found))
    settings = settings_of(config) | {"writer": writer.report.to_dict()}
    entries = save(found, path, settings, _note) if found else []
    print("\n".join(writer.report.lines()))
    if len(found) < config.num_users:
        kept = f"{len(found)} of {config.num_users} users are in {path}" if found else "no user was written"
        raise UserError(f"{kept}; replies are kept in {work}. Try another model, or more --tries")
    return entries


def endpoint(arguments: argparse.Namespace) -> Any:
    """The model that the command line names."""
    from amemgym_envs.amemgym.llm import Endpoint

    if arguments.base_url is None:
        raise UserError(f"--model {arguments.model} needs --base-url, for instance http://127.0.0.1:8000/v1")
    return Endpoint(
        arguments.base_url,
        arguments.model,
        arguments.api_key_env,
        concurrency=arguments.concurrency,
        price_in=arguments.price_in,
        price_out=arguments.price_out,
    )


def _report(path: Path, entries: "list[Entry]") -> None:
    from amemgym_envs.amemgym.dataset import manifest_path

    tokens = sum(entry.tokens for entry in entries) / max(len(entries), 1)
    print(
        f"{path}: {_users(entries)}, about {tokens:,.0f} tokens of conversation each; {manifest_path(path).name} has their hashes"
    )


def _users(entries: "list[Entry]") -> str:
    return "1 user" if len(entries) == 1 else f"{len(entries)} users"
