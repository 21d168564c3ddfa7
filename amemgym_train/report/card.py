"""The model card of a run's best adapter: the README.md of its repository on the hub."""

from amemgym_train.report.figures import compared, number, scored, shown
from amemgym_train.report.markdown import interval, table
from amemgym_train.report.origin import ROLES, Base, base_of, data_hashes, masked, recipe_yaml, sources
from amemgym_train.report.record import Record, section

TAGS = ("agent", "lora", "peft")


def card(record: Record, repo: str | None = None, base: Base | None = None) -> str | None:
    """Markdown with the hub's YAML in front; None where the best of the run has no adapter of its own.

    ``repo``: the id that the adapter is to have; ``base``: the model below it, if the recipe does not say how others find it.
    """
    from huggingface_hub import EvalResult, ModelCard, ModelCardData

    best = record.best
    if best is None or not best.made("adapter"):
        return None
    base, method = base or base_of(record), section(record.config, "training").get("method", "unknown")
    after = record.after if record.finished else None
    split, evaluated = ("test", after) if after else ("validation", best.evaluated)
    name, found = (repo or record.name).rpartition("/")[2], scored(evaluated)
    results = []
    if found["mean"] is not None:
        world = _world(record)
        kind = {"task_type": "text-generation", "dataset_type": world.lower(), "dataset_name": f"{world} {split} {record.whom}"}
        bounds = {} if found["low"] is None else {"low": round(found["low"], 4), "high": round(found["high"], 4)}
        score = {"metric_type": record.measure.replace(" ", "_"), "metric_name": record.measure}
        score["metric_value"] = round(found["mean"], 4)
        arguments = {record.whom: found["users"], **bounds}
        results = [EvalResult(**kind, **score, dataset_split=split, metric_args=arguments)]
    data = ModelCardData(
        base_model=base.hub or base.name,
        library_name="peft",
        pipeline_tag="text-generation",
        tags=[_world(record).lower(), *TAGS, *(() if record.of_tasks else ("memory",)), str(method)],
        model_name=name,
        eval_results=results,
    )
    parts = [f"---\n{data.to_yaml()}\n---", f"# {name}", _about(record, base, str(method)), _scores(record)]
    return str(ModelCard("\n\n".join([*parts, _use(base, repo), _limits(record), _origin(record)]) + "\n"))


def _world(record: Record) -> str:
    return str(section(record.config, "tasks").get("environment", "AMemGym"))


def _about(record: Record, base: Base, method: str) -> str:
    agent, number_ = section(record.config, "agent").get("name", "awi"), record.best.number
    does = "of AMemGym (arXiv 2603.01966), which keeps notes of a long conversation and answers from them"
    if record.of_tasks:
        does = f"in {_world(record)}, an environment with a goal in which it takes one action after the other"
    text = f"A LoRA adapter on `{base.name}` for the `{agent}` agent {does}. "
    text += f"Trained with `{method}` by amemgym-train; iteration {number_} of its run."
    return text if record.finished else f"{text} The run was **not finished** when this was written."


def _scores(record: Record) -> str:
    after = record.after if record.finished else None
    start, best = record.iterations[0].evaluated, record.best.evaluated
    rows = [*compared("test", record.before, after), *compared("validation", start, best)]
    whom = record.whom
    by = f"difference, {whom[:-1]} by {whom[:-1]}"
    text = table((whom, "number", f"{record.measure} before", "with this adapter", by), rows)
    shares = (after or best).figures if after or best else {}
    kinds = ", ".join(f"{kind} {shown(number(shares, kind))}" for kind in ("write", "read", "utilisation"))
    where, told = "test" if after else "validation", f"## Scores\n\n{text}\n\n{interval(record)}"
    if record.of_tasks:
        return f"{told}\n\nSuccess in {shown(number(shares, 'success'))} of {where} tasks with this adapter."
    return f"{told}\n\nShares of failed questions of {where} users with this adapter: {kinds}."


def _use(base: Base, repo: str | None) -> str:
    lines = f'from peft import PeftModel\n{base.loading}\nmodel = PeftModel.from_pretrained(model, "{repo or "adapter"}")'
    text = "Meant for research on agents, with the prompts and the agent of the recipe below."
    return f"## Use\n\n{text}\n\n```python\n{lines}\n```"


def _limits(record: Record) -> str:
    if record.of_tasks:
        text = f"Trained and scored with tasks of {_world(record)} and its wording: other tasks and other words are not known. "
        return f"## Limits\n\n{text}It has all faults of its base model, whose licence holds for it, too."
    read = any(users.get("data") for role in ROLES for users in sources(record, role).values())
    users = "users from data files" if read else "generated users, whose lives and words come from templates"
    text = f"Trained and scored with {users}: scores with real people are not known. It was trained for one agent's calls "
    text += "(notes, probes and answers to multiple choice) and is no better an assistant elsewhere; it has all faults of its "
    return f"## Limits\n\n{text}base model, whose licence holds for it, too."


def _origin(record: Record) -> str:
    versions, hashes = masked(record.versions), data_hashes(record)
    facts = {
        "commit of amemgym-train": versions.get("commit"),
        "recipe (hash)": record.given.get("recipe"),
        "data (hash)": hashes.get("all"),
        **{f"{record.whom} of {role} (hash)": value for role, value in hashes.items() if role != "all"},
    }
    rows = [(name, f"`{value}`") for name, value in facts.items() if value]
    recipe = recipe_yaml(record, brief=True) if record.config else "# config.json could not be read\n"
    return f"## Made from\n\n{table(('', 'what'), rows)}\n\n```yaml\n{recipe.rstrip()}\n```"
