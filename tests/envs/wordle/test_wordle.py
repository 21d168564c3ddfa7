from collections import Counter

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym_envs import make
from amemgym_envs.wordle.solver import best_guess, feedback
from amemgym_envs.wordle.words import own_words

PINNED = ["stoop", "mason", "creak", "frown", "heard", "ditto"]
FEW_LETTERS = st.text("abc", min_size=5, max_size=5)


def played(env, actions, **reset):
    """Every step of an episode until its end; ``actions`` may be the environment's expert."""
    steps = [env.reset(**reset)]
    for action in iter(actions, None) if callable(actions) else actions:
        steps.append(env.step(action))
        if steps[-1][2] or steps[-1][3]:
            break
    return steps


def at(task, seed=1):
    return {"seed": seed, "options": {"task": task}}


@pytest.fixture
def forty(tmp_path):
    path = tmp_path / "forty.txt"
    path.write_text("\n".join(own_words()[0][::50]))
    return path


@settings(derandomize=True, deadline=None, max_examples=500)
@given(FEW_LETTERS, FEW_LETTERS)
def test_letters_are_marked_as_often_as_the_hidden_word_has_them(guess, hidden):
    marks = feedback(guess, hidden)
    assert [mark == "g" for mark in marks] == [mine == theirs for mine, theirs in zip(guess, hidden, strict=True)]
    for letter in "abc":
        places = [place for place in range(5) if guess[place] == letter]
        found = [place for place in places if marks[place] != "b"]
        assert len(found) == min(len(places), Counter(hidden)[letter])
        elsewhere = [place for place in places if marks[place] != "g"]  # of these the first are the yellow ones
        assert [marks[place] for place in elsewhere] == sorted((marks[place] for place in elsewhere), reverse=True)


TWICE = [("speed", "abide", "bbyby"), ("allay", "llama", "ygyyb"), ("eerie", "there", "ybybg")]


@pytest.mark.parametrize(("guess", "hidden", "marks"), TWICE)
def test_marks_of_letters_that_come_twice(guess, hidden, marks):
    assert feedback(guess, hidden) == marks


def test_word_lists_are_clean():
    words, others = own_words()
    assert 2000 <= len(words) <= 3000 and not others & set(words)
    assert all(len(word) == 5 and word.isascii() and word.islower() for word in [*words, *others])
    assert list(words) == sorted(set(words))


@pytest.mark.parametrize("options", [{}, {"vocabulary": 30}, {"shaped": True}])
def test_gymnasium_has_nothing_to_object(options):
    check_env(make("Wordle", **options), skip_render_check=True)


@pytest.mark.parametrize("options", [{}, {"vocabulary": 5}, {"vocabulary": 40}])
def test_a_hidden_word_is_in_one_split_whatever_the_vocabulary(options):
    env, whole = make("Wordle", **options), make("Wordle")
    split_of = {word: task.partition("-")[0] for task, word in whole.lexicon.hidden.items()}
    assert len(split_of) == len(whole.tasks) == len(set(whole.tasks))
    assert all(split_of[word] == task.partition("-")[0] for task, word in env.lexicon.hidden.items())
    assert {split: len(tasks) for split, tasks in env.splits.items()} == env.card.splits
    assert all(env.splits.values()) and env.splits is env.splits
    assert sorted(env.lexicon.hidden) == sorted(env.tasks) and whole.card == type(whole).card


def test_tasks_stay_what_they_are():
    """Results of different days are compared by task id."""
    hidden = make("Wordle").lexicon.hidden
    assert [hidden[f"{split}-{n}"] for split in ("train", "validation", "test") for n in (0, 100)] == PINNED


def test_an_honest_expert_finds_the_word():
    env = make("Wordle")
    for tasks in env.splits.values():
        for task in tasks[::10]:
            steps = played(env, env.expert, **at(task))
            assert steps[-1][4]["success"] is True and sum(step[1] for step in steps[1:]) == 1.0


def test_the_expert_sees_the_marks_alone_until_its_last_guess():
    env = make("Wordle", vocabulary=40)
    for task in env.tasks:
        env.reset(options={"task": task})
        assert env.expert() == " ".join(best_guess(env.lexicon.words))
        env.step("s t a r e")
        guess = env.expert().replace(" ", "")
        assert guess in env.consistent() and guess == best_guess(env.consistent())
    last = make("Wordle", guesses=1)
    assert played(last, last.expert, **at("test-1"))[-1][4]["success"] is True


def test_consistent_words_are_those_with_the_same_marks():
    env = make("Wordle")
    env.reset(options={"task": "train-5"})
    hidden, tried = env.lexicon.hidden["train-5"], ["crane", "xxxxx", "moist", "pudgy"]
    for guess in tried:
        env.step(guess)
        if guess == "crane":
            env.consistent()  # asked for in between or not
    told = [guess for guess in tried if guess != "xxxxx"]
    allowed = [word for word in env.lexicon.words if all(feedback(g, word) == feedback(g, hidden) for g in told)]
    assert env.consistent() == allowed and hidden in allowed
    env.consistent().clear()
    assert env.consistent() == allowed


@pytest.mark.parametrize("text", ["c r a n e", "crane", "CRANE", " C r A n E\n", "Action: c r a n e", "action:\ncrane"])
def test_a_guess_is_read_leniently(text):
    env = make("Wordle")
    assert played(env, [text], **at("train-0")) == played(env, ["crane"], **at("train-0"))
    assert "invalid" not in played(env, [text], **at("train-0"))[-1][0]


def test_what_is_no_word_uses_up_a_guess():
    env = make("Wordle")
    steps = played(env, ["xxxxx", "cranes", "", "c r a n é", "stare", "crwth"], **at("train-0"))
    assert [step[0].partition(":")[0] for step in steps[1:]] == ["invalid word"] * 4 + [steps[5][0], "invalid word"]
    assert "xxxxx is not in the word list" in steps[1][0] and "like c r a n e" in steps[2][0]
    assert steps[-1][2:4] == (True, False) and steps[-1][4]["success"] is False and steps[-1][4]["score"] == 0.0


def test_shaping_pays_letters_in_place_but_is_no_success():
    env = make("Wordle", shaped=True)
    env.reset(options={"task": "train-0"})
    hidden = env.lexicon.hidden["train-0"]
    by_greens = sorted(env.lexicon.words, key=lambda word: feedback(word, hidden).count("g"))
    best = by_greens[-2]
    greens = feedback(best, hidden).count("g")
    assert 0 < greens < 5
    rewards = [env.step(guess)[1] for guess in (best, by_greens[0])]
    assert rewards == [0.5 * greens / 5, 0.0]
    *_, info = env.step(hidden)
    assert info["score"] == 1.0 and info["success"] is True
    lost = played(env, [best] * 6, **at("train-0"))
    assert lost[-1][4]["success"] is False and lost[-1][4]["score"] == 0.5 * greens / 5


def test_a_small_vocabulary_is_shown_and_is_all_that_may_be_guessed():
    env = make("Wordle", vocabulary=20)
    first, info = env.reset(options={"task": "test-0"})
    assert first.splitlines()[2:] == list(env.lexicon.words) and len(env.lexicon.words) == 20
    assert set(env.lexicon.hidden.values()) == set(env.lexicon.words)
    other = next(word for word in own_words()[0] if word not in env.lexicon.words)
    assert "invalid word" in env.step(other)[0]
    assert env.lexicon.hidden["test-0"] not in make("Wordle").reset(options={"task": "test-0"})[0]


def test_the_word_of_agentgym_is_drawn_anew_among_those_still_possible(forty):
    env = make("Wordle", mode="agentgym", words=forty)
    words, drawn = list(env.lexicon.words), set()
    for number in range(60):
        task = env.item(number)
        env.reset(options={"task": task})
        left = words
        for guess in words[number % 35 :][:5]:
            marks, _, done, *_ = env.step(guess)
            left = [word for word in left if feedback(guess, word) == marks.replace(" ", "")]
            assert left and env.consistent() == left
            if done:
                break
        drawn.add(tuple(left))
        assert played(env, env.expert, **at(task))[-1][4]["success"] is True
    assert len(drawn) > 20
    assert env.reset(options={"task": "seed-5"})[0].splitlines()[0] == "Let's start Wordle!"
    assert env.step("zzzzz")[0] == "invalid word"


def test_any_whole_number_is_an_item_of_agentgym(forty):
    env = make("Wordle", mode="agentgym", words=forty)
    for number in (0, 999, 123456, -3):
        assert env.reset(options={"task": env.item(number)})[0]
    for task in ("seed-", "seed-x", "train-0"):
        with pytest.raises(ValueError, match="Wordle-v0: task is"):
            env.reset(options={"task": task})
    assert sum(env.card.splits.values()) == len(set(env.tasks)) == 1000
    check_env(env, skip_render_check=True)


@pytest.mark.parametrize("mode", ["default", "agentgym"])
def test_task_and_seed_fix_an_episode(mode, forty):
    options = {"mode": mode, "words": forty}
    one, other = make("Wordle", **options), make("Wordle", **options)
    rng = np.random.default_rng(0)
    for task in one.tasks[::9]:
        guesses = [one.random_action(rng) for _ in range(6)]
        assert played(one, guesses, **at(task)) == played(other, guesses, **at(task))


@pytest.mark.parametrize("mode", ["default", "agentgym"])
def test_nothing_that_is_said_harms_an_episode(mode, forty, garbage):
    env, rng = make("Wordle", mode=mode, words=forty), np.random.default_rng(0)
    for action in garbage:
        env.reset(options={"task": env.tasks[0]})
        observation, reward, *_ = env.step(action)
        assert observation.startswith("invalid word") and reward == 0.0 and len(observation) < 100
        assert env.consistent() == list(env.lexicon.words)
        assert "invalid" not in env.step(env.random_action(rng))[0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mode": "hard"}, "mode is 'hard', expected 'default' or 'agentgym'"),
        ({"mode": "agentgym"}, "give words=FILE"),
        ({"guesses": 0}, "guesses is 0, expected at least 1"),
        ({"vocabulary": 4}, "a vocabulary of 4 out of 2012 words, expected at least 5"),
        ({"vocabulary": 0}, "a vocabulary of 0 out of"),
        ({"vocabulary": 9999}, "no more than there are"),
        ({"words": "no/such/file"}, "'no/such/file' cannot be read"),
        ({"max_steps": 0}, "max_steps is 0"),
    ],
)
def test_wrong_options_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        make("Wordle", **options)


def test_a_line_that_is_no_word_is_named(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("crane\nC R A N E\n\nstares\n")
    with pytest.raises(ValueError, match="line 4: 'stares', expected a word of 5 letters"):
        make("Wordle", words=path)
    path.write_text("crane\n")
    with pytest.raises(ValueError, match="1 words, expected at least 5"):
        make("Wordle", words=path)
