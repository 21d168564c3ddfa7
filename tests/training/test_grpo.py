"""Our rows through TRL's loss: the same gradient however they are cut, and TRL's own where both say the same."""

import pytest
import torch
from trl import GRPOConfig, GRPOTrainer

from amemgym_train.config.credit import CreditConfig
from amemgym_train.config.training import GRPOSettings, TrainingConfig
from amemgym_train.credit.batch import Credited
from amemgym_train.credit.rows import deal, merged
from amemgym_train.errors import UserError
from amemgym_train.rollout.records import Row, Turn
from amemgym_train.training.arguments import arguments_of
from amemgym_train.training.batch import collate
from amemgym_train.training.grpo import EpisodeGRPO, token_means

SETTINGS = TrainingConfig(method="grpo", batch_size=2, learning_rate=1e-3)


@pytest.fixture
def rows(tokenizer):
    """Three episodes of three, two and one calls; in the first each call's context is all that came before it."""
    drawn = torch.Generator().manual_seed(2)

    def ids(length):
        return torch.randint(1, len(tokenizer), (length,), generator=drawn).tolist()

    def row(episode, prompt, completion, advantage, calls):
        mask = [0] * len(prompt) + [1] * len(completion)
        logprobs = [0.0] * len(prompt) + [-2.0] * len(completion)
        weight = 1 / (calls * len(completion))
        return Row([*prompt, *completion], mask, logprobs, "answer", f"answer/p{advantage}", episode, "g", "v", advantage, weight)

    first = row("a", ids(5), ids(3), 0.7, 3)
    second = row("a", [*first.ids, *ids(4)], ids(2), -0.4, 3)
    third = row("a", [*second.ids, *ids(2)], ids(4), 0.2, 3)
    others = [row("b", ids(7), ids(6), -1.0, 2), row("b", ids(3), ids(1), 0.5, 2), row("c", ids(4), ids(2), 1.2, 1)]
    return [first, second, third, *others]


def trainer(model, tokenizer, folder, batches=1, settings=SETTINGS, sampled=None):
    made = EpisodeGRPO(
        model,
        tokenizer,
        lambda policy, step: [],
        CreditConfig(),
        settings,
        arguments_of(settings, folder, 0, batches, 8, 1.0, on_cpu=True),
        max_prompts=8,
        max_unscorable=0.1,
    )
    made.current_gradient_accumulation_steps = batches
    return made


def gradient(trainer, batches, episodes=3):
    """(loss, gradient) of one optimiser step on the micro-batches."""
    tokens = sum(sum(row.mask) for batch in batches for row in batch)
    trainer._play = lambda step: Credited(batches, tokens, tokens / episodes)
    trainer._check_sampler = lambda *inputs: None
    trainer.model.zero_grad()
    total = 0.0
    for place in range(len(batches)):
        trainer._step = place
        loss = trainer._compute_loss(trainer.model, trainer._prepare_inputs({}))
        loss.backward()
        total += loss.item()
    return total, torch.cat([p.grad.flatten() for p in trainer.model.parameters() if p.requires_grad])


def same(one, other, relative=1e-5):
    assert one[0] == pytest.approx(other[0], rel=relative, abs=1e-7)
    assert (one[1] - other[1]).norm() <= relative * other[1].norm()
    assert other[1].norm() > 1e-4  # equal because there is something, not because there is nothing


def cut(rows, per_batch, batches=None):
    return deal(rows, 1, per_batch, batches)[0]


def test_batches_order_and_padding_leave_the_gradient(model, tokenizer, rows, tmp_path):
    whole = gradient(trainer(model, tokenizer, tmp_path), [rows])
    assert (whole[1] != 0).any()
    for per_batch, batches in ((1, 6), (2, 3), (4, 2), (2, 7), (6, 4)):
        same(gradient(trainer(model, tokenizer, tmp_path, batches), cut(rows, per_batch, batches)), whole)
    same(gradient(trainer(model, tokenizer, tmp_path), [rows[::-1]]), whole)


def test_merged_calls_leave_the_gradient(model, tokenizer, rows, tmp_path):
    one = merged(rows)
    assert [sum(row.mask) for row in one] == [9, 6, 1, 2]  # the first episode is one row now
    same(gradient(trainer(model, tokenizer, tmp_path), [one]), gradient(trainer(model, tokenizer, tmp_path), [rows]))


def test_accumulation_is_a_sum_and_an_episode_counts_once(model, tokenizer, rows, tmp_path):
    """The gradient of all episodes is the mean of those of each by itself, whatever the number of its calls."""
    whole = gradient(trainer(model, tokenizer, tmp_path), [rows])
    alone = [
        gradient(trainer(model, tokenizer, tmp_path), [[row for row in rows if row.episode == name]], 1) for name in "abc"
    ]
    mean = (sum(loss for loss, _ in alone) / 3, sum(grad for _, grad in alone) / 3)
    same(mean, whole)


@pytest.mark.parametrize("loss_type", ["grpo", "dr_grpo"])
@pytest.mark.parametrize("beta", [0.0, 0.3])
def test_single_calls_give_the_loss_of_stock_grpo(model, tokenizer, rows, tmp_path, loss_type, beta):
    """The same samples and advantages through TRL's own trainer."""
    single = [rows[0], rows[3], rows[5]]
    longest = 8
    for row in single:
        row.weight = 1 / (sum(row.mask) if loss_type == "grpo" else longest)
    settings = SETTINGS.model_copy(update={"grpo": GRPOSettings(beta=beta)})
    ours = trainer(model, tokenizer, tmp_path / "ours", settings=settings)
    inputs = collate(single, tokenizer.pad_token_id, 1.0)
    arguments = GRPOConfig(
        output_dir=str(tmp_path / "stock"), per_device_train_batch_size=4, num_generations=2, loss_type=loss_type,
        max_completion_length=longest, beta=0.0, report_to=[], use_cpu=True, bf16=False,
    )
    stock = GRPOTrainer(model, [lambda **_: []], arguments, ours.train_dataset, processing_class=tokenizer)
    stock.beta, stock.current_gradient_accumulation_steps = beta, 1
    given = {key: inputs[key] for key in ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask")}
    given["advantages"] = torch.tensor([row.advantage for row in single])
    given["num_items_in_batch"] = inputs["completion_mask"].sum()
    given["ref_per_token_logps"] = ours._reference(inputs)
    stock.model.zero_grad()
    loss = stock._compute_loss(stock.model, given)
    loss.backward()
    theirs = loss.item(), torch.cat([p.grad.flatten() for p in stock.model.parameters() if p.requires_grad])
    same(gradient(ours, [single]), theirs)


def test_what_is_no_ones_completion_is_read_and_not_learned(model, tokenizer, rows, tmp_path):
    """In a merged row the tokens between two completions matter as context only."""
    (row, *_) = merged(rows[:3])
    inputs = collate([row], tokenizer.pad_token_id, 1.0)
    assert inputs["completion_mask"].sum() == len(row.ids) - 5 and (inputs["tool_mask"] > 0).sum() == 9
    assert torch.equal(inputs["tool_mask"] > 0, inputs["trained"])


def test_minibatches_each_take_the_place_of_the_whole(model, tokenizer, rows, tmp_path):
    """While the weights stay, their mean gradient is that of one update."""
    single = rows[:2] + rows[3:5]
    for row in single:
        row.logprobs = [0.0] * len(row.ids)  # whoever drew them was sure of them: below, the ratio is the probability itself
    parts = {"grpo": GRPOSettings(minibatches=2)}
    halves = gradient(trainer(model, tokenizer, tmp_path, settings=SETTINGS.model_copy(update=parts)), [single[:2], single[2:]])
    twice = {"grpo": GRPOSettings(epochs=2)}
    whole = gradient(trainer(model, tokenizer, tmp_path, settings=SETTINGS.model_copy(update=twice)), [single, single])
    same((halves[0] / 2, halves[1] / 2), (whole[0] / 2, whole[1] / 2))
    once = gradient(trainer(model, tokenizer, tmp_path), [single])
    assert abs(whole[1] / 2).max() < 1e-2 * abs(once[1]).max()  # a first update alone compares with the policy as it is


def test_figures_of_a_step_do_not_depend_on_how_its_rows_are_cut(model, tokenizer, rows, tmp_path):
    """Padding, which has no tokens to learn, does not enter them either."""
    figures = []
    for per_batch, batches in ((6, 1), (2, 3), (1, 8), (2, 5)):
        made = trainer(model, tokenizer, tmp_path, batches)
        gradient(made, cut(rows, per_batch, batches))
        assert all(len(values) == 1 for values in made._metrics["train"].values())
        figures.append(made._metrics["train"])
    assert figures[0]["entropy"][0] > 0.1
    for other in figures[1:]:
        assert other["entropy"] == pytest.approx(figures[0]["entropy"], rel=1e-5)


def test_token_means_weigh_by_tokens_and_keep_extremes():
    parts = [(3.0, {"a": 1.0, "b_max": 5.0, "c_min": 2.0}), (1.0, {"a": 2.0, "b_max": 7.0, "c_min": 1.0}), (0.0, {"a": 99.0})]
    assert token_means(parts) == {"a": 1.25, "b_max": 7.0, "c_min": 1.0}
    assert token_means([(0.0, {"a": 1.0})]) == {}


def test_a_sampler_with_other_weights_stops_the_run(model, tokenizer, rows, tmp_path):
    """The guard takes the true log-probabilities, and refuses those of an adapter from before."""
    made = trainer(model, tokenizer, tmp_path)
    inputs = collate(rows, tokenizer.pad_token_id, 1.0)
    ids, mask = (torch.cat([inputs[f"prompt_{x}"], inputs[f"completion_{x}"]], 1) for x in ("ids", "mask"))
    sampled = made._get_per_token_logps_and_entropies(made.model, ids, mask, inputs["completion_ids"].size(1))[0].detach()
    inputs["sampled_logps"] = inputs["logps"] = sampled
    made._check_sampler(inputs)
    assert made._metrics["train"]["sampler_gap/mean"] == [0.0]
    with torch.no_grad():
        for name, weight in made.model.named_parameters():
            if "lora_B" in name:
                weight.mul_(-6)
    inputs["logps"], *_ = made._get_per_token_logps_and_entropies(made.model, ids, mask, inputs["completion_ids"].size(1))
    with pytest.raises(UserError, match="step 0: sampler and trainer differ by .* training.grpo.max_logprob_gap allows 0.1"):
        made._check_sampler(inputs)


def test_tokens_that_encoding_the_text_anew_would_change_are_counted(model, tokenizer, tmp_path):
    """The same word as one token, and as its letters: a model may draw either."""
    word = next(word for word in tokenizer.get_vocab() if word.isalpha() and len(word) > 3)
    spelled = tokenizer.convert_tokens_to_ids(list(word))
    (whole,) = tokenizer(word, add_special_tokens=False)["input_ids"]

    def turn(ids):
        drawn = [*ids, tokenizer.eos_token_id]
        return Turn([1], drawn, [-1.0] * len(drawn), tokenizer.decode(ids), "stop", "write", "write/p0/0")

    made = trainer(model, tokenizer, tmp_path)
    assert made._drifted([turn([whole]), turn(spelled), turn([whole])]) == 1
    assert made._drifted([]) == 0
