"""What docs/formats.md shows is true, and the package is light."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from amemgym_train import cli
from amemgym_train.formats.items import PREFIXES

DOCS = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")


def test_every_command_of_the_page_is_one():
    commands = re.findall(r"^amemgym-train (convert .*)$", DOCS, re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        assert cli._parse(shlex.split(command)).run is cli.convert


def test_the_table_of_prefixes_is_the_one_in_use():
    assert dict(re.findall(r"(\w+) \| `(\w+)`", DOCS)) == PREFIXES


def test_formats_load_neither_torch_nor_a_table_library():
    heavy = "import sys, amemgym_train.formats.convert; print({'torch', 'pyarrow', 'datasets'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True, timeout=60).stdout == "set()\n"
