import pytest
import torch
from peft import PeftModel

from amemgym_train.config.policy import LoraConfig
from amemgym_train.config.training import TrainingConfig
from amemgym_train.rollout.records import Row
from amemgym_train.training.lora import load_adapter, new_adapter, save_adapter
from amemgym_train.training.sft import dataset, train_sft

LORA = LoraConfig(r=4, alpha=8)
ONE_STEP = TrainingConfig(learning_rate=1e-3, batch_size=6, warmup_ratio=0)


@pytest.fixture
def rows(tokenizer):
    """Six rows whose prompts and completions differ in length."""
    drawn = torch.Generator().manual_seed(2)

    def row(number):
        prompt, completion = 4 + 3 * number, 1 + number
        ids = torch.randint(1, len(tokenizer), (prompt + completion,), generator=drawn).tolist()
        mask = [0] * prompt + [1] * completion
        return Row(ids, mask, [0.0] * len(ids), "answer", f"answer/p0/q{number}", "e", "g", "base")

    return [row(number) for number in range(6)]


@torch.inference_mode()
def surprises(model, rows):
    """-log p of every completion token, each row alone and unpadded."""
    values = []
    for row in rows:
        logprobs = model(input_ids=torch.tensor([row.ids])).logits[0].log_softmax(-1)
        values += [-float(logprobs[i - 1, row.ids[i]]) for i in range(len(row.ids)) if row.mask[i]]
    return values


def mean(values):
    return sum(values) / len(values)


def train(llama, tokenizer, rows, folder, config=ONE_STEP, seed=0):
    model = new_adapter(llama, LORA, seed)
    return model, train_sft(model, tokenizer, rows, config, folder, seed)


def test_labels_are_the_completions(rows):
    for row, example in zip(rows, dataset(rows), strict=True):
        completion = sum(row.mask)
        assert example["input_ids"] == row.ids
        assert example["labels"] == [-100] * (len(row.ids) - completion) + row.ids[-completion:]


@pytest.mark.parametrize("sizes", [{}, {"batch_size": 2, "gradient_accumulation": 3}, {"gradient_checkpointing": True}])
def test_the_loss_is_the_mean_over_completion_tokens(llama, tokenizer, rows, tmp_path, sizes):
    """However the rows of a step are cut into batches; so every token counts the same, and those of a prompt not at all."""
    expected = surprises(llama, rows)
    _, metrics = train(llama, tokenizer, rows, tmp_path, ONE_STEP.model_copy(update=sizes))
    assert len(expected) == 21
    assert metrics["loss"] == pytest.approx(mean(expected), rel=1e-4)
    assert (metrics["steps"], metrics["rows"], metrics["tokens"]) == (1, 6, sum(len(row.ids) for row in rows))


def test_only_the_adapter_learns(llama, tokenizer, rows, tmp_path):
    before = {name: weight.clone() for name, weight in llama.state_dict().items()}
    surprise = mean(surprises(llama, rows))
    config = TrainingConfig(learning_rate=1e-2, epochs=20, batch_size=3, warmup_ratio=0.1)
    model, metrics = train(llama, tokenizer, rows, tmp_path, config)
    assert metrics["steps"] == 40
    assert mean(surprises(model, rows)) < surprise - 1
    base = model.unload()
    assert all(torch.equal(weight, before[name]) for name, weight in base.state_dict().items())
    assert mean(surprises(base, rows)) == pytest.approx(surprise, rel=1e-5)


def test_a_stock_peft_user_gets_the_same_logits(llama, tokenizer, rows, tmp_path, make_llama):
    model, _ = train(llama, tokenizer, rows, tmp_path / "trainer", ONE_STEP.model_copy(update={"learning_rate": 0.1}))
    save_adapter(model, tmp_path / "adapter")
    loaded = PeftModel.from_pretrained(make_llama(), str(tmp_path / "adapter")).eval()
    ids = torch.tensor([rows[5].ids])
    with torch.inference_mode():
        ours, theirs, base = (one(input_ids=ids).logits for one in (model.eval(), loaded, make_llama()))
    assert torch.allclose(ours, theirs, atol=1e-5) and not torch.allclose(ours, base, atol=1e-2)


def test_equal_training_gives_equal_bytes(tokenizer, rows, tmp_path, make_llama):
    config = TrainingConfig(batch_size=2, epochs=2, learning_rate=1e-2)
    for name, seed in [("a", 0), ("b", 0), ("c", 1)]:
        model, _ = train(make_llama(), tokenizer, rows, tmp_path / "trainer", config, seed)
        save_adapter(model, tmp_path / name)
    a, b, c = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in "abc")
    assert a == b != c


def test_a_saved_adapter_is_trained_on(llama, tokenizer, rows, tmp_path, make_llama):
    config = TrainingConfig(learning_rate=1e-2, batch_size=6, epochs=10, warmup_ratio=0)
    model, first = train(llama, tokenizer, rows, tmp_path / "trainer", config)
    save_adapter(model, tmp_path / "adapter")
    again = load_adapter(make_llama(), tmp_path / "adapter", trainable=True)
    start = mean(surprises(again, rows))
    second = train_sft(again, tokenizer, rows, config, tmp_path / "trainer", 1)
    assert second["loss"] < start < first["loss"]
