"""What the tests of reports share: copies of a finished run, and the command."""

import shutil

import pytest

from amemgym_train import cli


@pytest.fixture
def run(undisturbed, tmp_path):
    """The folder of a finished run that a test may damage."""
    return shutil.copytree(undisturbed, tmp_path / "runs" / "tiny", symlinks=True)


@pytest.fixture
def report(capsys):
    """Runs the command; returns its exit code, the lines of its complaints, and the report."""

    def call(folder, *words):
        capsys.readouterr()
        code = cli.main(["report", str(folder), *map(str, words)])
        out, err = capsys.readouterr()
        written = next((line for line in out.splitlines() if line.endswith("report.md")), None)
        return code, err.splitlines(), open(written, encoding="utf-8").read() if written else ""

    return call
