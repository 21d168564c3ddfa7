"""JSON is read strictly: what Python's reader would let pass in silence is refused, by whole files and item by item."""

import json

import pytest

from amemgym_envs.amemgym.files import read_items, read_json
from amemgym_envs.amemgym.scenario import ScenarioError

ITEMS = [{"a": [1, 2.5, None]}, {"b": "茶 \ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16")}, []]


@pytest.fixture(params=[read_json, lambda path: list(read_items(path))], ids=["whole", "by item"])
def read(tmp_path, request):
    def run(text):
        (tmp_path / "data.json").write_text(text)
        return request.param(tmp_path / "data.json")

    return run


@pytest.mark.parametrize("indent", [None, 3])
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("items", [ITEMS, ITEMS[:1], []], ids=len)
def test_a_list_is_read_as_it_was_written(read, items, indent, ascii_only):
    text = json.dumps(items, indent=indent, ensure_ascii=ascii_only)
    assert read(text) == items
    assert read(f"\n{text} \r\n\t") == items


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('[{"a": 1}]\n]', "line 2, column 1"),
        ("[1][2]", "line 1, column 4"),
        ("[1] x", "line 1, column 5"),
        ("[1]\u00a0", "line 1, column 4"),
        ("[1,]", "line 1, column"),
        ("[,1]", "line 1, column"),
        ("[1,,2]", "line 1, column"),
        ("[1 2]", "line 1, column"),
        ("[1;2]", "line 1, column"),
        ("[1", "line 1, column"),
        ("[1,", "line 1, column"),
    ],
)
def test_what_is_no_list_names_its_place(read, text, place):
    with pytest.raises(ScenarioError, match=f"data.json: invalid JSON at {place}"):
        read(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"x": 1, "twice": 1, "twice": 1}]', "key 'twice' stands twice in one object"),
        ('[[{"a": {"twice": 1, "b": 2, "twice": 3}}]]', "key 'twice' stands twice in one object"),
        ("[NaN]", "NaN is no number of JSON"),
        ('[{"a": -Infinity}]', "-Infinity is no number of JSON"),
        ("[1e999]", "1e999 is no number of JSON"),
        (r'["\ud800"]', "surrogates not allowed"),
        (r'[{"\udfff": 1}]', "surrogates not allowed"),
    ],
)
def test_values_that_could_not_be_written_again_are_refused(read, text, message):
    with pytest.raises(ScenarioError, match=f"data.json: no sensible JSON .*{message}"):
        read(text)


def test_the_items_before_a_mistake_are_read(tmp_path):
    path = tmp_path / "data.json"
    path.write_text('[1, {"a": 1, "a": 2}]')
    items = read_items(path)
    assert next(items) == 1
    with pytest.raises(ScenarioError, match="key 'a' stands twice"):
        next(items)
