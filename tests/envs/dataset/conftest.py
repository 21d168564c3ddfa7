import gzip
import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from amemgym_envs.amemgym.dataset import build
from amemgym_envs.amemgym.generator import GeneratorConfig

SMALL = {"seed": 5, "num_users": 7, "num_variables": 4, "num_questions": 3, "num_periods": 1, "num_changes_per_period": 2}


class Stop(Exception):
    """What the tests raise in the middle of a build: files are left as a killed process leaves them."""


@pytest.fixture
def config():
    return GeneratorConfig(**SMALL)


@pytest.fixture
def stopped():
    """Builds ``count`` users of ``config`` and stops there."""

    def run(config, path, count):
        def advance(done):
            if done == count:
                raise Stop

        with pytest.raises(Stop):
            build(config, path, advance=advance)

    return run


@pytest.fixture
def generated(monkeypatch):
    """The numbers of the users that ``build`` generates from now on."""
    module, numbers = sys.modules["amemgym_envs.amemgym.dataset.build"], []
    real = module.generate_user
    monkeypatch.setattr(module, "generate_user", lambda config, user: numbers.append(user) or real(config, user))
    return numbers


@pytest.fixture
def start_python():
    """Starts a process that runs the code and sees the same packages; it ends with the test, and so do its children."""
    running = []

    def start(code, *arguments):
        env = os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
        command = [sys.executable, "-c", code, *map(str, arguments)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        running.append(subprocess.Popen(command, env=env, text=True, start_new_session=True, **pipes))
        return running[-1]

    yield start
    for process in running:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture
def content():
    """The bytes of a file, decompressed."""
    return lambda path: gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
