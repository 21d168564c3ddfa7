"""What a recipe names besides its keys: files, whose content decides a stage as much as the recipe does."""

import hashlib
from pathlib import Path

from amemgym_train.agents.templates import SETS
from amemgym_train.config.environments import key, sources
from amemgym_train.config.recipe import Recipe
from amemgym_train.config.scenarios import ROLES
from amemgym_train.evolution.manifest import digest

SMALL = 1 << 20  # bytes up to which a model's file is read: its config, tokenizer and template


def named_files(recipe: Recipe) -> dict[str, str]:
    """Digests of the files that the recipe names, by key.

    UserError: ``policy.adapter`` is no folder of a saved adapter.
    """
    files: dict[str, str | None] = {"policy.adapter": recipe.policy.adapter}
    if recipe.policy.adapter is not None:
        from amemgym_train.training.lora import check_adapter

        check_adapter(recipe.policy.adapter)
    for role in ROLES:
        for name, scenarios in sources(recipe, role).items():
            place = key(name, role)
            files[f"{place}.data"] = scenarios.data
            files[f"{place}.personas"] = scenarios.personas or None
            files[f"{place}.language"] = scenarios.language if "/" in scenarios.language else None  # else a shipped pack
    if recipe.tasks is not None:
        given = {name: value for name, value in recipe.tasks.options.items() if isinstance(value, str)}
        files |= {f"tasks.options.{name}": value for name, value in given.items() if Path(value).exists()}
    if recipe.agent.prompts not in SETS:
        files["agent.prompts"] = recipe.agent.prompts
    found = {name: digest(Path(path)) for name, path in files.items() if path is not None}
    model = Path(recipe.policy.model).expanduser()
    return found | ({"policy.model": fingerprint(model)} if model.is_dir() else {})


def fingerprint(folder: Path) -> str:
    """A digest of a model's folder: names and sizes of all files, and what the small ones hold. Weights are not read, as that
    takes minutes where they are large."""
    hashed = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        size = file.stat().st_size
        hashed.update(f"{file.relative_to(folder).as_posix()} {size}\n".encode())
        if size <= SMALL:
            hashed.update(file.read_bytes())
    return hashed.hexdigest()
