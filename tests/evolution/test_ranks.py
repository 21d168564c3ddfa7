from types import SimpleNamespace

import pytest

from amemgym_train.errors import UserError
from amemgym_train.evolution import ranks


def processes(monkeypatch, number, of):
    monkeypatch.setenv("WORLD_SIZE", str(of))
    monkeypatch.setattr(ranks, "_state", lambda: SimpleNamespace(process_index=number, num_processes=of))


def test_every_item_goes_to_exactly_one_process(monkeypatch):
    parts = []
    for number in range(3):
        processes(monkeypatch, number, of=3)
        parts += ranks.share(range(10))
    assert sorted(parts) == list(range(10))


def test_a_command_for_one_process_refuses_several(monkeypatch):
    processes(monkeypatch, 0, of=1)
    ranks.alone("evaluate")
    processes(monkeypatch, 0, of=2)
    with pytest.raises(UserError, match="evaluate runs in one process; start it without accelerate launch"):
        ranks.alone("evaluate")
