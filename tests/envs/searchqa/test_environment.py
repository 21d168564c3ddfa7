"""SearchQA as an environment: actions, scores, modes, and files of the user's."""

import json
import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from amemgym_envs import make
from amemgym_envs.searchqa.answers import is_right, normalised
from amemgym_envs.searchqa.articles import Article
from amemgym_envs.searchqa.environment import parse
from amemgym_envs.searchqa.index import Index, terms

ARTICLES = [{"title": "Kea", "text": "The kea is a parrot."}, {"id": "1", "contents": '"Emu"\nThe emu is a bird\nof the plains.'}]
QUESTIONS = [
    {"question": "What is a kea?", "answers": ["parrot", "A parrot"], "searches": ["kea"], "split": "test"},
    {"question": "Where does the emu live?", "golden_answers": "the plains", "split": "train"},
]


@pytest.fixture
def env():
    return make("SearchQA")


@pytest.fixture
def lines(tmp_path):
    def write(name, rows):
        path = tmp_path / name
        path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
        return path

    return write


def played(env, task, seed=3):
    steps = [env.reset(seed=seed, options={"task": task})]
    while len(steps) == 1 or not (steps[-1][2] or steps[-1][3]):
        steps.append(env.step(env.expert()))
    return steps


def test_gymnasium_has_nothing_to_object(env):
    check_env(env, skip_render_check=True)


def test_the_expert_answers_every_question(env):
    for task in env.tasks:
        steps = played(env, task)
        assert steps[-1][4]["success"] and sum(step[1] for step in steps[1:]) == 1.0
        assert steps[-1][4]["steps"] == len(env._question.searches) + 1


def test_splits_are_what_the_card_says_and_share_nothing(env):
    assert {split: len(tasks) for split, tasks in env.splits.items()} == env.card.splits
    assert env.splits is env.splits is make("SearchQA").splits and len(set(env.tasks)) == len(env.tasks) == 1100


def test_task_and_seed_fix_an_episode(env):
    assert played(env, "test-7") == played(make("SearchQA"), "test-7")


@pytest.mark.parametrize(
    ("action", "parsed"),
    [
        ("<search>a b</search>", ("search", "a b")),
        ("I think. <answer> x\n</answer> <search>y</search>", ("answer", "x")),
        ("<answer>open <search>y</search>", ("search", "y")),
        ("<SEARCH>y</Search>", ("search", "y")),
        (" Action: search[a [b] c] ", ("search", "a [b] c")),
        ("answer[x]", ("answer", "x")),
        ("say search[x]", None),
        ("<search>x", None),
        ("</search><search>", None),
        ("", None),
    ],
)
def test_the_first_whole_element_is_the_action(action, parsed):
    assert parse(action) == parsed


@pytest.mark.parametrize(
    ("answer", "golden", "right"),
    [
        ("The  Beatles!", ["beatles"], True),
        ("1,234", ["1234"], True),
        ("a theory", ["theory"], True),
        ("theory of a", ["theory"], False),
        ("x", [], False),
        ("Ångström", ["ångström"], True),
    ],
)
def test_answers_are_compared_as_squad_does(answer, golden, right):
    assert is_right(answer, golden) is right
    assert normalised(normalised(answer)) == normalised(answer)


def test_a_search_shows_articles_in_agentgyms_form(env):
    env.reset(options={"task": "train-0"})
    title = env._question.searches[0]
    observation = env.step(f"<search>{title}</search>")[0]
    lines = observation.removeprefix("<information>").removesuffix("</information>").split("\n")
    assert len(lines) == 3 and lines[0].startswith(f"Doc 1(Title: {title}) ") and lines[2].startswith("Doc 3(Title: ")
    assert env.step("<search>zzzzqqq</search>")[0] == "<information>No article has any of these words.</information>"


@pytest.mark.parametrize(("mode", "done"), [("default", True), ("agentgym", False)])
def test_a_wrong_answer_ends_the_episode_unless_the_mode_is_agentgyms(mode, done):
    env = make("SearchQA", mode=mode)
    env.reset(options={"task": "train-0"})
    observation, reward, ended, _, info = env.step("<answer>forty-two</answer>")
    assert "wrong" in observation and reward == 0.0 and ended is done and info["success"] is (False if done else None)
    if not done:
        assert env.step(f"answer[{env._question.answers[-1]}]")[1:3] == (1.0, True)


def test_an_empty_answer_is_no_answer(env):
    env.reset(options={"task": "train-0"})
    assert not any(env.step(action)[2] for action in ("<answer> </answer>", "answer[the]", "<answer>?!</answer>", "hello"))


def test_nothing_that_an_agent_writes_breaks_an_episode(env):
    rng = random.Random(5)
    parts = ["<search>", "</search>", "<answer>", "</answer>", '"', "' OR 1=1; DROP TABLE article; --", "NEAR(a b)", "title:"]
    parts += ["AND", "\x00", "\ud800", "ﬁ²٣", "İ", "_", "{" * 50, "search[", "]", "x" * 10_000, "é́", "-" * 9, *"*^()\n", "Mount"]
    env.reset(seed=0, options={"task": "test-3"})
    for _ in range(3000):
        action = "".join(rng.choices(parts, k=rng.randint(0, 12)))
        action = f"<search>{action}</search>" if rng.random() < 0.5 else action
        observation, _, done, truncated, _ = env.step(action)
        assert isinstance(observation, str) and observation
        if done or truncated:
            env.reset(seed=0, options={"task": "test-3"})
    assert played(env, "test-3")[-1][4]["success"]


def test_a_long_action_of_open_elements_is_read_at_once(env):
    env.reset(options={"task": "test-3"})
    assert "no complete search" in env.step("<search>" * 2_500)[0]


def test_queries_keep_the_words_that_tell_articles_apart():
    assert terms('Who wrote "The Iron-Key"?') == ["wrote", "iron", "key"]
    assert terms("who is the") == ["who", "is", "the"] and terms("?!") == []
    assert len(terms(" ".join(map(str, range(1000))))) == 32


def test_one_index_answers_many_threads(env):
    queries = [env._questions.by_id[task].text for task in env.tasks[:60]]
    alone = [env._corpus.index.search.__wrapped__(query, 3) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda query: make("SearchQA")._corpus.index.search.__wrapped__(query, 3), queries)) == alone


def test_random_actions_are_of_the_grammar(env):
    env.reset(options={"task": "test-0"})
    rng = np.random.default_rng(0)
    assert {parse(env.random_action(rng))[0] for _ in range(100)} == {"search", "answer"}


def test_own_articles_and_questions(lines):
    env = make("SearchQA", corpus=lines("c.jsonl", ARTICLES), questions=str(lines("q.jsonl", QUESTIONS)), top=1)
    assert dict(env.splits) == {"train": ["q-1"], "validation": [], "test": ["q-0"]}
    assert [env.item(number) for number in (0, 1)] == ["q-0", "q-1"]
    assert env.reset(options={"task": "q-1"})[0] == "Question: Where does the emu live?"
    assert env.step("search[emu]")[0] == "<information>Doc 1(Title: Emu) The emu is a bird\nof the plains.</information>"
    assert env.expert() == "<answer>the plains</answer>"
    assert len(played(env, "q-0")) == 3
    with pytest.raises(ValueError, match="task number 2, expected 0 to 1"):
        env.item(2)


def test_a_file_that_changes_is_read_again(lines):
    assert make("SearchQA", questions=lines("q.jsonl", QUESTIONS)).tasks == ["q-1", "q-0"]
    assert make("SearchQA", questions=lines("q.jsonl", QUESTIONS[:1])).tasks == ["q-0"]


def test_questions_without_a_split_stay_in_theirs(lines):
    rows = [{"question": f"What is {number}?", "answers": ["x"]} for number in range(300)]
    first, again = (make("SearchQA", questions=lines(name, rows[:size])).splits for name, size in (("a", 200), ("b", 300)))
    assert all(set(first[split]) <= set(again[split]) and first[split] for split in first)
    assert 210 < len(again["train"]) < 270


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([QUESTIONS[0], "{broken"], "q.jsonl, line 2: not JSON"),
        (["[" * 100_000], "q.jsonl, line 1: not JSON"),
        ([["a"]], "q.jsonl, line 1: list, expected an object"),
        ([{"question": " ", "answers": ["x"]}], '"question" is \' \', expected a text'),
        ([{"question": "q"}], '"answers" is None'),
        ([{"question": "q", "answers": []}], '"answers" is \\[\\]'),
        ([{"question": "q", "answers": [3]}], '"answers" is \\[3\\]'),
        ([{"question": "q", "answers": "a", "searches": "s"}], '"searches" is \'s\''),
        ([{"question": "q", "answers": "a", "split": "dev"}], '"split" is \'dev\', expected train, validation, test'),
        ([], "no question in it"),
    ],
)
def test_broken_questions_are_told_with_their_line(lines, rows, message):
    with pytest.raises(ValueError, match=message):
        make("SearchQA", questions=lines("q.jsonl", rows))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([ARTICLES[0], "", {"title": "x"}], "c.jsonl, line 3: its keys are title, expected"),
        ([{"title": 1, "text": ""}], "c.jsonl, line 1: its keys are title, text"),
        ([], "no article in it"),
    ],
)
def test_broken_articles_are_told_with_their_line(lines, rows, message):
    with pytest.raises(ValueError, match=message):
        make("SearchQA", corpus=lines("c.jsonl", rows), questions=lines("q.jsonl", QUESTIONS))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "x"}, "mode is 'x', expected default or agentgym"),
        ({"top": 0}, "top is 0, expected a number from 1 to 20"),
        ({"corpus": "c.jsonl"}, "give questions too"),
        ({"questions": "/no/such/file"}, "/no/such/file cannot be read"),
        ({"max_steps": 0}, "max_steps is 0"),
    ],
)
def test_wrong_options_are_told(options, message):
    with pytest.raises(ValueError, match=message):
        make("SearchQA", **options)


def test_odd_text_in_articles_is_searched_as_it_is(lines):
    row = {"title": "a\ud800b", "text": 'NEAR("x" OR *) \x00 "quoted"'}
    env = make("SearchQA", corpus=lines("c.jsonl", [row]), questions=lines("q.jsonl", QUESTIONS))
    env.reset(options={"task": "q-0"})
    assert "quoted" in env.step("search[quoted]")[0]


def test_an_sqlite_without_full_text_search_is_told(monkeypatch):
    import sqlite3

    class Lacking:
        def execute(self, statement):
            raise sqlite3.OperationalError("no such module: fts5")

    monkeypatch.setattr(sqlite3, "connect", lambda *_, **__: Lacking())
    with pytest.raises(RuntimeError, match="SearchQA needs SQLite with FTS5"):
        Index([])


def test_common_words_beside_others_are_looked_up_in_titles_only():
    articles = [Article(f"Bird {number}", "a wing") for number in range(200)] + [Article("Wing Mirror", "of a car")]
    index = Index([*articles, Article("Kea", "a parrot")])
    assert [article.title for article in index.search("wing kea", 5)] == ["Kea", "Wing Mirror"]
    assert [article.title for article in index.search("wing", 3)] == ["Wing Mirror", "Bird 0", "Bird 1"]
