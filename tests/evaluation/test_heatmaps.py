import subprocess
import sys

import pytest

from amemgym_train.evaluation import heatmaps

REPORT = {
    "agents": {
        "awi": {"per_period": {"period": [0, 1, 2], "overall": [0.1, 0.5, 0.9], "memory_score": [0.0, None, 1.2]}},
        "native": {"per_period": {"period": [0, 1], "overall": [0.3, 0.2], "memory_score": [-0.5, 0.1]}},
    }
}
for one in REPORT["agents"].values():
    one["per_period"] |= {name: [0.2] * len(one["per_period"]["period"]) for name in heatmaps.FAILURES}


def test_rows_are_agents_and_columns_periods():
    assert heatmaps.lines(REPORT, ("overall",)) == [("awi", [0.1, 0.5, 0.9]), ("native", [0.3, 0.2, None])]
    labels = [label for label, _ in heatmaps.lines(REPORT, heatmaps.FAILURES)]
    assert labels[:3] == ["awi: write", "native: write", "awi: read"] and len(labels) == 6


def test_every_known_value_stands_in_its_cell():
    pytest.importorskip("matplotlib")
    axes = heatmaps.draw(heatmaps.lines(REPORT, ("memory_score",)), "Memory score").axes[0]
    texts = {text.get_position(): text.get_text() for text in axes.texts}
    assert texts == {(0, 0): "0.00", (2, 0): "1.20", (0, 1): "-0.50", (1, 1): "0.10"}
    assert [label.get_text() for label in axes.get_yticklabels()] == ["awi", "native"]


def test_the_files_are_images_and_repeat_themselves(tmp_path):
    pytest.importorskip("matplotlib")
    for folder in ("one", "two"):
        assert heatmaps.save_heatmaps(tmp_path / folder, REPORT)
    names = ["failures.png", "memory_score.png", "overall.png"]
    for name in names:
        content = (tmp_path / "one" / name).read_bytes()
        assert content.startswith(b"\x89PNG") and content == (tmp_path / "two" / name).read_bytes()
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == names


def test_without_agents_that_could_be_played_there_is_a_picture_all_the_same(tmp_path):
    pytest.importorskip("matplotlib")
    assert heatmaps.save_heatmaps(tmp_path, {"agents": {"awi": {"per_period": {"period": []}}}})


def test_a_name_is_no_formula(tmp_path):
    pytest.importorskip("matplotlib")
    assert heatmaps.save_heatmaps(tmp_path, {"agents": {"awe $^$ 4": REPORT["agents"]["awi"]}})


def test_without_matplotlib_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(heatmaps, "find_spec", lambda name: None)
    assert not heatmaps.save_heatmaps(tmp_path / "maps", REPORT)
    assert not (tmp_path / "maps").exists()


def test_it_is_loaded_when_it_draws_and_not_before():
    code = "import sys, amemgym_train.evaluation.heatmaps; print('matplotlib' in sys.modules)"
    paths = [path for path in sys.path if path]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}; {code}"], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "False", done.stderr
