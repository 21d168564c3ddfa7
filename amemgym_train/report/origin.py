"""What a run was made from, in words that may leave the machine: neither its paths nor its addresses nor a key."""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import yaml

from amemgym_train.config.load import UNHASHED
from amemgym_train.config.recipe import Recipe
from amemgym_train.config.scenarios import RolesConfig
from amemgym_train.report.record import Record, section

ROLES = ("train", "validation", "test")
FILES = ("data", "personas", "language")  # keys of users that may name a file or a folder
HUB = {"smollm2": "HuggingFaceTB/SmolLM2-135M-Instruct"}  # of the models that come by a short name
ADDRESS = re.compile(r"\b\w+://[^\s'\"\]},]+")
SECRET = re.compile(r"\b(?:hf|sk|pk|ghp|gho|xoxb|wandb)[_-][\w-]{16,}")
LOCAL = re.compile(r"(?<![\w./:-])(?:~|\.{1,2})?/[^\s'\"\]},:=]+")  # a path that begins at a root, a home or here


def masked(value: Any) -> Any:
    """``value`` with local paths cut to their last name, and without addresses and keys."""
    if isinstance(value, dict):
        return {masked(key): masked(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [masked(one) for one in value]
    if not isinstance(value, str):
        return value
    text = SECRET.sub("(key)", ADDRESS.sub("(address)", value))
    if text.startswith(("/", "~", "./", "../")) and "\n" not in text:
        return PurePath(text).name or "(folder)"
    return LOCAL.sub(lambda found: PurePath(found.group()).name, text)


def recipe_yaml(record: Record, brief: bool = False) -> str:
    """The recipe as a file that ``evolve`` takes, without keys at their defaults and those that change no figure. ``brief``: for
    reading only; of the users, too, defaults are left out."""
    try:
        recipe = Recipe.model_validate(record.config)
    except ValueError:  # of another version: all of it, as it is
        return yaml.safe_dump(masked({key: value for key, value in record.config.items() if key != "output"}), sort_keys=False)
    values = recipe.model_dump(mode="json", exclude=UNHASHED, exclude_defaults=True)
    if not brief:
        values |= _users(recipe)
    values.setdefault("evolution", {})["iterations"] = recipe.evolution.iterations
    policy = masked(values.get("policy", {}))
    if "policy.model" not in record.given and "model" in policy:
        policy["model"] = recipe.policy.model  # a hub id, or a short name
    return yaml.safe_dump({"name": recipe.name, **masked(values), **({"policy": policy} if policy else {})}, sort_keys=False)


def _users(recipe: Recipe) -> dict[str, Any]:
    """The section ``scenarios``, ``environments`` or ``tasks``: of their users all keys, as those left out would be chosen by
    their role."""
    if recipe.tasks is not None:
        return {"tasks": recipe.tasks.model_dump(mode="json", exclude_none=True)}
    if not recipe.environments:
        return {"scenarios": _roles(recipe.scenarios)}
    user = {} if recipe.scenarios.user is None else {"scenarios": recipe.scenarios.model_dump(mode="json", include={"user"})}
    return user | {"environments": {name: _roles(one) for name, one in recipe.environments.items()}}


def _roles(config: RolesConfig) -> dict[str, Any]:
    users = {role: getattr(config, role) for role in ROLES}
    return config.model_dump(mode="json", exclude_defaults=True) | {
        role: one.model_dump(mode="json", exclude_none=True, **({"exclude_defaults": True} if one.data else {}))
        for role, one in users.items()
    }


def command(record: Record) -> str | None:
    """How the run was started last."""
    words = record.versions.get("command")
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        return None
    told = []
    for word in words[1:]:
        key, equals, value = word.partition("=")
        if key != "output":
            told.append(f"{masked(key)}{equals}{masked(value)}")
    return " ".join(["amemgym-train", *(f"'{word}'" if re.search(r"[\s{}\[\]()*?$&|<>;]", word) else word for word in told)])


def sources(record: Record, role: str) -> dict[str, dict[str, Any]]:
    """Settings of the users of ``role``, by their dotted key: of ``scenarios``, of each of several environments, or of tasks."""
    if record.of_tasks:
        tasks = section(record.config, "tasks")
        shared = {key: value for key, value in tasks.items() if key not in ROLES}
        return {f"tasks.{role}": shared | section(tasks, role)}
    several = section(record.config, "environments")
    places = {f"environments.{name}": section(several, name) for name in several} or {
        "scenarios": section(record.config, "scenarios")
    }
    return {f"{place}.{role}": section(roles, role) for place, roles in places.items() if section(roles, role)}


def data_hashes(record: Record) -> dict[str, str]:
    """16 hex digits for the users of each role, and of ``all``: of their settings, with files by what they hold."""
    found = {}
    for role in ROLES:
        held = {}
        for place, users in sources(record, role).items():
            files = {key: value for key in FILES if (value := record.given.get(f"{place}.{key}")) is not None}
            held[place] = users | files
        if held:
            found[role] = _hash(held if section(record.config, "environments") else next(iter(held.values())))
    return found | ({"all": _hash(found)} if found else {})


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Base:
    """The model below the adapter: its ``name``, and ``hub``, its id there (None: it is known to this machine only)."""

    name: str
    hub: str | None

    @property
    def loading(self) -> str:
        """Python that sets ``model`` and ``tokenizer``."""
        if self.name in ("smollm2", "quickstart"):  # smollm2 was quantised once, so that its weights are not quite the hub's
            return f'from amemgym_train.policy.references import load\n\nmodel, tokenizer = load("{self.name}")'
        classes = "from transformers import AutoModelForCausalLM, AutoTokenizer\n\n"
        base = json.dumps(self.hub or self.name)
        both = ("model = AutoModelForCausalLM", "tokenizer = AutoTokenizer")
        return classes + "\n".join(f"{one}.from_pretrained({base})" for one in both)


def base_of(record: Record) -> Base:
    """The base model that the run's recipe names."""
    model = str(section(record.config, "policy").get("model", "unknown"))
    if "policy.model" in record.given:  # a folder has a fingerprint
        return Base(PurePath(model).name, None)
    hub = HUB.get(model) or (model if re.fullmatch(r"[\w.-]+/[\w.-]+", model) and not model.startswith(".") else None)
    return Base(model if hub else masked(model), hub)
