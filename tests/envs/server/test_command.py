"""``amemgym-train serve``: what it refuses before anything is served."""

import socket
import sys

import pytest

from amemgym_train import cli


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["chess"], "no environment 'chess'; there are AMemGym"),
        (["amemgym,AMemGym-v0"], "names an environment twice"),
        (["amemgym", "--host", "0.0.0.0"], "give --token TEXT (or set AMEMGYM_TOKEN)"),
        (["amemgym", "--host", "203.0.113.7", "--insecure"], "cannot be listened at"),
        (["amemgym", "--port", "70000"], "cannot be listened at"),
        (["amemgym", "--option", "probes=false"], "expected ENV.KEY=VALUE"),
        (["amemgym", "--option", "amemgym.prob=false"], "unexpected keyword argument 'prob'"),
        (["amemgym", "--option", "amemgym.rounds_init=0"], "rounds_init is 0, expected at least 1"),
    ],
)
def test_a_mistake_ends_with_2_and_a_line(words, told, capsys, monkeypatch):
    monkeypatch.delenv("AMEMGYM_TOKEN", raising=False)
    assert cli.main(["serve", "--port", "0", *words]) == 2
    assert told in capsys.readouterr().err


def test_a_port_in_use_is_told(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert cli.main(["serve", "amemgym", "--port", str(port)]) == 2
    assert f"port {port} of 127.0.0.1 is in use; choose another by --port" in capsys.readouterr().err


def test_a_missing_package_is_told_with_the_extra_that_brings_it(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    for name in [name for name in sys.modules if name.startswith("amemgym_envs.server")]:
        monkeypatch.delitem(sys.modules, name)
    assert cli.main(["serve", "amemgym", "--port", "0"]) == 2
    assert "pip install 'amemgym-train[server]'" in capsys.readouterr().err
