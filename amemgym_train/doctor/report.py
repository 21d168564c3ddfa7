"""``amemgym-train doctor``: the findings as a table, as JSON, and as an exit code."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from amemgym_train.doctor.checks import findings
from amemgym_train.doctor.finding import Finding


def doctor(path: str | None, overrides: Sequence[str], as_json: bool) -> int:
    """Print what is found. 0: nothing is red; 1: something is. UserError: the recipe cannot be read."""
    from amemgym_train.evolution import ranks

    ranks.alone("doctor")
    found = list(findings(path, list(overrides)))
    if as_json:
        print(json.dumps([asdict(finding) for finding in found], indent=2))
    else:
        show(found)
    return int(any(finding.level == "red" for finding in found))


def show(found: Sequence[Finding]) -> None:
    """A row for each finding, then the remedies as lines to copy; plain lines where rich is not there to draw a table."""
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        for finding in found:
            print(finding.level, finding.name, finding.message, finding.remedy, sep="\t")
        return
    table = Table()
    for heading in ("check", "", "what was found"):
        table.add_column(heading)
    for finding in found:
        table.add_row(finding.name, Text(finding.level, style=finding.level), Text(finding.message, overflow="fold"))
    Console().print(table)
    counts = {level: sum(finding.level == level for finding in found) for level in ("green", "yellow", "red")}
    print(", ".join(f"{count} {level}" for level, count in counts.items()))
    for finding in found:
        if finding.remedy:
            print(f"{finding.name} -> {finding.remedy}")
