import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
LAUNCH_FILES = sorted((ROOT / "accelerate_configs").glob("*.yaml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PINS = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))


@pytest.mark.parametrize("path", LAUNCH_FILES, ids=lambda path: path.stem)
def test_accelerate_reads_every_launch_file(path):
    from accelerate.commands.config.config_args import load_config_from_file

    config = load_config_from_file(str(path))
    assert config.use_cpu == path.stem.startswith("cpu_")
    assert (config.num_processes > 1) == (config.distributed_type.value in ("MULTI_GPU", "DEEPSPEED", "FSDP"))
    if "zero" in path.stem:
        assert config.deepspeed_config["zero_stage"] == int(path.stem[-1])
    assert f"--config_file accelerate_configs/{path.name} " in path.read_text()  # its own command stands in its header


TWINS = {"single": "cpu_single", "multi_gpu": "cpu_ddp", "zero2": "cpu_zero2", "zero3": "cpu_zero3", "fsdp2": "cpu_fsdp2"}


@pytest.mark.parametrize("gpu, cpu", TWINS.items())
def test_the_twin_on_the_cpu_differs_in_where_it_runs_only(gpu, cpu):
    ours, theirs = (yaml.safe_load((ROOT / "accelerate_configs" / f"{name}.yaml").read_text()) for name in (gpu, cpu))
    assert {key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)} <= {"use_cpu", "num_processes"}


PROCESS = """
import sys
from pathlib import Path
from accelerate import Accelerator

accelerator = Accelerator()
Path(sys.argv[1], str(accelerator.process_index)).write_text(f"{accelerator.num_processes} {accelerator.device.type}")
"""


def test_two_cpu_processes_meet(tmp_path):
    """What cpu_ddp.yaml's header says to run gives two processes that know of each other, on the CPU."""
    script, out = tmp_path / "script.py", tmp_path / "out"
    script.write_text(PROCESS)
    out.mkdir()
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--main_process_port", "0"]
    command = [*launch, "--config_file", str(ROOT / "accelerate_configs" / "cpu_ddp.yaml"), str(script), str(out)]
    env = os.environ | {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env)
    assert {path.name: path.read_text() for path in out.iterdir()} == {"0": "2 cpu", "1": "2 cpu"}, result.stderr


def test_every_requirement_is_pinned():
    extras = PROJECT["project"]["optional-dependencies"]
    lines = [*PROJECT["project"]["dependencies"], *(line for extra in extras.values() for line in extra)]
    wanted = {re.match(r"[\w-]+", line).group() for line in lines}
    pinned = {name.lower().replace("_", "-") for name in PINS}
    assert {name.lower() for name in wanted} - {"amemgym-train"} <= pinned


@pytest.mark.parametrize("name", ["torch", "trl", "transformers", "peft", "accelerate", "gymnasium", "datasets", "pydantic"])
def test_these_tests_run_with_the_pinned_versions(name):
    assert version(name).split("+")[0] == PINS[name]


def test_text_files_travel_with_the_packages():
    """Every folder with prompts or templates is covered by a package-data pattern."""
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["*"]
    files = [file for top in ("amemgym_train", "envs/amemgym_envs") for file in (ROOT / top).rglob("*") if file.is_file()]
    data = [file for file in files if file.suffix not in (".py", ".pyc", ".md")]
    assert data
    assert [file for file in data if f"*{file.suffix}" not in patterns] == []


def test_versions_agree():
    import amemgym_train

    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"]["attr"] == "amemgym_train.__version__"
    assert re.fullmatch(r"\d+\.\d+\.\d+", amemgym_train.__version__)
