import os
import subprocess
import sys

import pytest

ENV = os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
MODULES = ("config.load", "tracking.tracker", "cli", "doctor.report", "report.command")


@pytest.mark.parametrize("module", [f"amemgym_train.{name}" for name in MODULES])
def test_nothing_heavy_is_imported(module):
    code = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=ENV).stdout.split()
    assert module in loaded
    assert not {"torch", "transformers", "trl", "datasets", "wandb", "pyarrow", "rich", "gymnasium"} & set(loaded)
