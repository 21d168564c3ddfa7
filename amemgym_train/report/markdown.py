"""The report of a run in Markdown. The same run gives the same bytes."""

from collections.abc import Iterable, Sequence

from amemgym_train.report.figures import NONE, compared, difference, losses, number, rewards, scored, seconds, shown, tokens, told
from amemgym_train.report.origin import base_of, command, data_hashes, masked, recipe_yaml
from amemgym_train.report.record import Record, section

FAILURES = ("write", "read", "utilisation")
GOALS = {"success": "success", "steps": "steps", "replies without an action": "unparsed", "replies cut off": "cut"}


def interval(record: Record) -> str:
    whom = record.whom
    return f"Brackets: 95 % bootstrap interval over {whom} (10,000 draws, seed 0); one {whom[:-1]} has none."


def report(record: Record, picture: str | None) -> str:
    """``picture``: the name of the PNG beside the report, if there is one."""
    parts = [f"# {record.name}", _headline(record), _scores(record)]
    parts += [f"![score, failures, training and time of {record.name}]({picture})"] if picture else []
    parts += [_gate(record), _failures(record), _controls(record), _training(record), _time(record), _origin(record)]
    parts += [_reproduce(record), _load(record)]
    if record.problems:
        parts.append(_part("What could not be read", "\n".join(f"- {problem}" for problem in record.problems)))
    return "\n\n".join(part for part in parts if part) + "\n"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The first column is text, the others are figures."""
    lines = [headings, ["---", *["---:"] * (len(headings) - 1)], *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def _part(title: str, text: str) -> str:
    return f"## {title}\n\n{text}"


def _headline(record: Record) -> str:
    training, best = section(record.config, "training").get("method", "unknown"), record.best
    about = f"{base_of(record).name}, agent {section(record.config, 'agent').get('name', 'awi')}, method {training}, "
    about += f"seed {record.config.get('seed', 'unknown')}."
    if best is None:
        return f"{about} **Not finished**: nothing was evaluated yet."
    done = f"{len(record.judged)} of {record.wanted or 'unknown'} iterations"
    which = f"the best is iteration {best.number}" if best.number else "none passed the gate, so that the start stands"
    if not record.finished:
        return f"{about} **Not finished**: {done} are over, {which}; the figures below are those so far."
    early = " (the gate's patience ended it)" if (record.judged[-1].gate or {}).get("decision") == "stop" else ""
    old, new = told(scored(record.before)), told(scored(record.after))
    change = told(difference(record.after, record.before), sign=True)
    what = f"{record.measure.capitalize()} of test {record.whom}"
    return f"{about} {done}{early}, {which}. {what}: **{old} before, {new} after**, difference {change}."


def _scores(record: Record) -> str:
    start, best = record.iterations[0] if record.iterations else None, record.best
    pairs = {
        "test": (record.before, record.after if record.finished else None),
        "validation": (start and start.evaluated, best and best.evaluated),
    }
    rows = [row for name, (old, new) in pairs.items() for row in compared(name, old, new)]
    whom = record.whom
    heading = (whom, "number", f"{record.measure} before", "with the best", f"difference, {whom[:-1]} by {whom[:-1]}")
    words = f"The gate chose by validation {whom}, so that their difference is flattering; test {whom} had no part in it."
    return _part("Scores", f"{table(heading, rows)}\n\n{interval(record)} {words}")


def _gate(record: Record) -> str:
    rows = []
    for one in record.judged:
        gate = one.gate or {}
        between = {"mean": number(gate, "difference"), "low": number(gate, "low"), "high": number(gate, "high")}
        figures = [shown(number(gate, "score")), shown(number(gate, "best_before")), told(between, sign=True)]
        figures += [shown(number(gate, "share")), shown(number(gate, "confidence"))]
        rows.append((str(one.number), gate.get("decision", NONE), *figures))
    if not rows:
        return ""
    heading = ("iteration", "decision", "score", "best before", "difference", "share that holds", "needed")
    words = "Share: of the bootstrap's mean differences, those that reach `evolution.gate.min_delta`."
    return _part("Gate", f"{table(heading, rows)}\n\n{words}")


def _failures(record: Record) -> str:
    columns = GOALS if record.of_tasks else {"correct": "correct", **{f"{name} failures": name for name in FAILURES}}
    rows = [
        (str(one.number), *(shown(number(one.evaluated.figures, name)) for name in columns.values()))
        for one in record.iterations
        if one.evaluated is not None
    ]
    title = "Validation tasks" if record.of_tasks else "Failures of validation users"
    return _part(title, table(("iteration", *columns), rows)) if rows else ""


def _controls(record: Record) -> str:
    if record.after is None or not record.after.controls:
        return ""
    agents = {"agent": record.after.figures, **record.after.controls}
    failures = {f"{name} failures": name for name in FAILURES}
    users = {"memory score": "memory_score", "overall accuracy": "overall", **failures}
    columns = {"score": "score", **GOALS} if record.of_tasks else users
    rows = [(agent, *(shown(number(figures, name)) for name in columns.values())) for agent, figures in agents.items()]
    return _part(f"Controls on test {record.whom}", table(("", *columns), rows))


def _training(record: Record) -> str:
    rows = []
    for one in record.iterations:
        found = one.result("train")
        if found:
            spans = (_span(losses(one)), _span(rewards(one)))
            rows.append((str(one.number), *(_count(number(found, name)) for name in ("rows", "steps", "tokens")), *spans))
    heading = ("iteration", "rows", "steps", "tokens trained on", "loss, first to last logged", "reward, first to last step")
    return _part("Training", table(heading, rows)) if rows else ""


def _span(values: list[float]) -> str:
    return f"{values[0]:.4f} to {values[-1]:.4f}" if values else NONE


def _count(value: float | int | None) -> str:
    return NONE if value is None else f"{value:,.0f}"


def _time(record: Record) -> str:
    spent = seconds(record)
    if not spent:
        return ""
    rows = [
        (stage, f"{value:.1f}", _count(tokens(record, stage, "tokens_sampled")), _count(tokens(record, stage, "tokens")))
        for stage, value in spent.items()
    ]
    rows.append(("all", f"{sum(spent.values()):.1f}", NONE, NONE))
    return _part("Time and tokens by stage", table(("stage", "seconds", "tokens sampled", "tokens trained on"), rows))


def _origin(record: Record) -> str:
    versions, hashes = masked(record.versions), data_hashes(record)
    packages = versions.get("packages")
    facts = {
        "commit of the toolkit": versions.get("commit"),
        "amemgym-train": versions.get("toolkit"),
        "python": versions.get("python"),
        **(packages if isinstance(packages, dict) else {}),
        "recipe (hash)": record.given.get("recipe"),
        **{f"{record.whom} of {role} (hash)" if role != "all" else "data hash": found for role, found in hashes.items()},
    }
    rows = [(name, f"`{value}`") for name, value in facts.items() if value]
    recipe = _code("yaml", _recipe(record))
    return _part("Made from", f"{table(('', 'what'), rows)}\n\nThe recipe, without keys at their defaults:\n\n{recipe}")


def _recipe(record: Record) -> str:
    return recipe_yaml(record, brief=True) if record.config else "# config.json could not be read\n"


def _reproduce(record: Record) -> str:
    commit = str(record.versions.get("commit") or "")
    lines = [f"git checkout {masked(commit).removesuffix('-dirty')}"] if commit else []
    lines += ["pip install -e . -c constraints.txt", "amemgym-train evolve recipe.yaml"]
    text = f"`recipe.yaml` lies beside this report.\n\n{_code('bash', chr(10).join(lines))}"
    if commit.endswith("-dirty"):
        text += "\n\nThe toolkit had changes that this commit does not hold."
    started = command(record)
    return _part("Do it again", text + (f"\n\nIt was started last as `{started}`." if started else ""))


def _load(record: Record) -> str:
    best = record.best
    if best is None or not best.made("adapter"):
        return ""
    where = f"iterations/{best.number:03d}/adapter"
    lines = f'{base_of(record).loading}\nmodel = PeftModel.from_pretrained(model, "{where}")'
    text = f"{_code('python', 'from peft import PeftModel' + chr(10) + lines)}\n\n"
    return _part("Load the adapter", f"{text}Or score it: `amemgym-train evaluate recipe.yaml --adapter {where}`.")


def _code(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"
