import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym_train.agents.retrieval import bm25
from amemgym_train.agents.retrieval.bm25 import Bm25Index
from amemgym_train.agents.retrieval.dense import DenseIndex
from amemgym_train.agents.retrieval.embedders import HashedWords, embedder
from amemgym_train.agents.retrieval.hybrid import HybridIndex
from amemgym_train.agents.retrieval.store import Store
from amemgym_train.agents.retrieval.words import words
from amemgym_train.config.agent import AgentConfig

KINDS = {
    "bm25": Bm25Index,
    "dense": lambda: DenseIndex(HashedWords()),
    "hybrid": lambda: HybridIndex([Bm25Index(), DenseIndex(HashedWords())]),
}
SIGNS = "\"'()*^:+-{}\0\ud800%_"
ODD = [*SIGNS, "AND", "OR", "NOT", "NEAR", "NEAR(", "text:", "🙂", "他喜欢咖啡", "コーヒーが好き", "커피를", "é", "ﬁ", "İ"]
anything = st.text(max_size=40) | st.text(st.characters(), max_size=20) | st.lists(st.sampled_from(ODD), max_size=8).map(" ".join)
quick = settings(max_examples=60, deadline=None, derandomize=True, database=None)


@pytest.fixture(params=KINDS)
def index(request):
    return KINDS[request.param]()


def filled(index, *texts):
    for id, text in enumerate(texts):
        index.add(id, text)
    return index


def test_the_text_that_shares_the_rarest_words_comes_first(index):
    filled(index, "my cat likes milk", "my dog likes the park", "my cat sleeps", "the weather is fine")
    assert index.search("Where does my DOG go? To the park!", 1) == [1]
    assert index.search("milk for a cat", 2) == [0, 2]


def test_of_equals_the_newest_comes_first(index):
    filled(index, "a cat", "a dog", "a cat", "a cat")
    assert index.search("cat", 3) == [3, 2, 0]
    assert index.search("cat", 2) == [3, 2]


def test_what_was_removed_is_gone_and_the_rest_still_there(index):
    filled(index, "a cat", "a dog", "a cat and a dog", "a bird")
    assert set(index.search("cat", 4)) >= {0, 2}
    index.remove(2)
    assert index.search("cat", 1) == [0] and 2 not in index.search("dog cat bird", 4)
    index.add(4, "two cats, one cat")  # after a removal
    assert set(index.search("cat", 2)) == {0, 4}
    index.remove(4)  # before anybody searched for it
    index.remove(3)
    assert index.search("bird", 1) != [3]


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(st.lists(anything, min_size=1, max_size=6), st.data())
def test_what_was_added_is_found_and_no_text_raises(kind, texts, data):
    index = filled(KINDS[kind](), *texts)
    for query in [*texts, data.draw(anything)]:
        found = index.search(query, len(texts))
        assert len(set(found)) == len(found) and set(found) <= set(range(len(texts)))
    for id, text in enumerate(texts):
        assert not words(text) or id in index.search(text, len(texts))
    gone = data.draw(st.sampled_from(range(len(texts))))
    index.remove(gone)
    assert gone not in index.search(texts[gone], len(texts))


@quick
@given(anything)
def test_words_are_what_an_ascii_index_splits_at_spaces_only(text):
    assert all(word and not set(word) & set(" \"_\0'") for word in words(text))
    assert words(" ".join(words(text)).upper()) == words(" ".join(words(text)))  # case does not matter
    json.dumps(words(text), ensure_ascii=False).encode()  # can be stored


def test_words_of_many_languages():
    assert words("It's snake_case, 3.5 KM!") == ["it", "s", "snake", "case", "3", "5", "km"]
    assert words("Crème brûlée ẞ") == ["creme", "brulee", "ss"]
    assert words("爱喝咖啡 tea茶") == ["爱", "喝", "咖", "啡", "爱喝", "喝咖", "咖啡", "tea", "茶"]
    assert words("がか") == ["が", "か", "がか"]  # voiced kana are letters of their own
    assert words("커피") == ["커", "피", "커피"]


@pytest.mark.parametrize(
    ("query", "found"),
    [("咖啡", 0), ("茶", 1), ("他喜欢喝绿茶", 1), ("コーヒー", 2), ("커피", 3), ("kaffee", 4), ("ＣＡＦＥ", 5)],
)
def test_text_without_spaces_can_be_searched(index, query, found):
    filled(index, "他每天喝咖啡。", "她更爱绿茶。", "彼はコーヒーが好きです", "그는 커피를 마신다", "Er trinkt Kaffee", "au café")
    assert index.search(query, 1) == [found]


def test_a_long_query_looks_for_its_rarest_words_only():
    index = filled(Bm25Index(), *[f"common stuff number{i}" for i in range(40)])
    rare = [f"number{i}" for i in range(bm25.TERMS)]
    assert set(index._terms(" ".join(["common stuff", *rare, "unknown"]))) == set(rare)
    assert set(index._terms("common stuff")) == {"common", "stuff"}  # nothing better is there
    assert index.search("common", 2) == [39, 38]
    assert index.search("unknown", 2) == []


def test_a_query_matches_a_bounded_number_of_texts(monkeypatch):
    monkeypatch.setattr(bm25, "MATCHES", 5)
    index = filled(Bm25Index(), *[f"one{i % 2} two{i % 5} three{i % 10}" for i in range(20)])
    assert index._terms("one1 two3 three3") == ["three3"]  # held by 2; with two3 it would be 6
    assert index._terms("one1") == ["one1"]  # at least one word


def test_hashed_words_are_unit_vectors_that_forget_the_order():
    vectors = HashedWords().embed(["a cat and a dog", "a dog and a cat", "", "weather"])
    assert vectors.shape == (4, HashedWords.size) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), [1, 1, 0, 1])
    assert np.allclose(vectors[0], vectors[1]) and abs(vectors[0] @ vectors[3]) < 0.5


def test_the_dense_index_embeds_each_text_once_and_together():
    class Counted(HashedWords):
        batches = []

        def embed(self, texts):
            self.batches.append(list(texts))
            return super().embed(texts)

    index = filled(DenseIndex(Counted()), *[f"text {i}" for i in range(40)])
    assert Counted.batches == []
    index.search("text 7", 1)
    index.add(40, "a new one")
    index.search("new", 1)
    assert Counted.batches == [[f"text {i}" for i in range(40)], ["text 7"], ["a new one"], ["new"]]


def test_fusion_prefers_what_both_found():
    class Fixed:
        def __init__(self, *ids):
            self.ids = list(ids)

        def search(self, query, k):
            return self.ids[:k]

    assert HybridIndex([Fixed(1, 2, 3), Fixed(4, 2)]).search("", 4) == [2, 4, 1, 3]  # 1 and 4 are equals: the newer first
    assert HybridIndex([Fixed(1), Fixed()]).search("", 4) == [1]


@quick
@given(st.lists(st.tuples(anything, st.booleans()), max_size=8), st.sampled_from(["bm25", "dense", "hybrid"]), anything)
def test_a_loaded_store_recalls_what_the_saved_one_does(texts, kind, query):
    config = AgentConfig(name="rag", retrieval=kind)
    first, second = Store(config), Store(config)
    for number, (text, kept) in enumerate(texts):
        id = first.add("User", text, f"time {number}")
        if not kept:
            first.remove(id)
    state = json.loads(json.dumps(first.save()))
    second.load(state)
    for _ in range(2):  # a second load changes nothing
        assert second.save() == state
        assert [second.recall(query, k) for k in (1, 3, 30)] == [first.recall(query, k) for k in (1, 3, 30)]
        second.load(state)
    assert first.recall(query, 30) == list(first.entries.values())


def test_a_store_recalls_in_the_order_of_time_and_fills_up_with_the_newest():
    store = Store(AgentConfig(name="rag"))
    for number, text in enumerate(["a cat", "a dog", "a bird", "a fish"]):
        store.add("User", text, f"time {number}")
    assert [entry["value"] for entry in store.recall("bird or cat?", 2)] == ["a cat", "a bird"]
    assert [entry["value"] for entry in store.recall("cat?", 3)] == ["a cat", "a bird", "a fish"]
    assert [entry["value"] for entry in store.recall("nothing of the kind", 2)] == ["a bird", "a fish"]


@pytest.fixture(scope="module")
def sentence_model(tmp_path_factory):
    """A random BERT of one layer, as sentence-transformers loads any: mean pooling."""
    pytest.importorskip("sentence_transformers", reason="the package sentence-transformers is not installed (extra dense)")
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    folder = tmp_path_factory.mktemp("sentences")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "cat", "dog", "bird", "likes", "milk"]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertModel(BertConfig(vocab_size=len(vocabulary), **shape)).save_pretrained(folder)
    return str(folder)


def test_a_sentence_model_is_loaded_once_and_remembers(sentence_model):
    model = embedder(sentence_model)
    assert embedder(sentence_model) is model and model.size == 16
    vectors = model.embed(["a cat", "a dog", "a cat"])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.array_equal(vectors[0], vectors[2]) and not np.allclose(vectors[0], vectors[1])
    model.model = None  # what it knows it need not embed
    assert np.array_equal(model.embed(["a dog"])[0], vectors[1])
    embedder.cache_clear()


def test_dense_retrieval_with_a_sentence_model(sentence_model):
    store = Store(AgentConfig(name="rag", retrieval="dense", embedder=sentence_model))
    for text in ("a cat likes milk", "a dog", "bird"):
        store.add("User", text, "now")
    assert [entry["value"] for entry in store.recall("a dog", 1)] == ["a dog"]


def test_a_model_that_is_not_there_is_a_user_error(tmp_path):
    from amemgym_train.errors import UserError

    with pytest.raises(UserError, match="agent.embedder: .*nowhere"):
        embedder(str(tmp_path / "nowhere"))
