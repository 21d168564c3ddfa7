"""PPO's updates: the loss by hand, the same gradient however rows are cut, and updates that stop or steer as they should."""

from dataclasses import replace

import pytest
import torch

from amemgym_train.config.credit import CreditConfig
from amemgym_train.config.on_policy import PPOSettings
from amemgym_train.config.training import TrainingConfig
from amemgym_train.credit.batch import Credited
from amemgym_train.credit.rows import PADDING, deal, merged
from amemgym_train.credit.scored import Call, Scored, estimate, rows_with
from amemgym_train.errors import UserError
from amemgym_train.training import ppo
from amemgym_train.training.arguments import arguments_of, micro_batches
from amemgym_train.training.critic import HeadState, attach, judging, save_head
from amemgym_train.training.grpo import sequence
from amemgym_train.training.ppo import NOTHING, EpisodePPO

ONCE = {"epochs": 1, "minibatches": 1}


@pytest.fixture
def episodes(tokenizer):
    """Two episodes: one of three calls in a context that grows, one of two calls in contexts of their own."""
    drawn = torch.Generator().manual_seed(2)

    def ids(length):
        return torch.randint(1, len(tokenizer), (length,), generator=drawn).tolist()

    def number(length, low, high):
        return (low + (high - low) * torch.rand(length, generator=drawn)).tolist()

    def call(episode, prompt, length, turns):
        zeros = [0.0] * len(prompt)
        row = Scored(
            [*prompt, *ids(length)], [0] * len(prompt) + [1] * length, [*zeros, *number(length, -3, -2)], "answer",
            f"answer/{len(prompt)}", episode, "g", "v", weight=1 / (turns * length),
            **{name: [*zeros, *number(length, -5.5, -4.5)] for name in ("old", "reference")},
            values=[*zeros, *number(length, -1, 1)],
        )  # fmt: skip
        return Call(row, len(prompt), len(row.ids), 0, float(length) - 3)

    first = call("a", ids(5), 3, 3)
    second = call("a", [*first.row.ids, *ids(4)], 2, 3)
    third = call("a", [*second.row.ids, *ids(2)], 4, 3)
    return [[first, second, third], [call("b", ids(7), 6, 2), call("b", ids(3), 1, 2)]]


def trainer(model, tokenizer, folder, batches=1, **settings):
    training = TrainingConfig(method="ppo", batch_size=2, ppo=PPOSettings(**ONCE | settings))
    with torch.no_grad():
        drawn = torch.Generator().manual_seed(3)
        for weight in attach(model, training.ppo).parameters():
            weight.copy_(0.3 * torch.randn(weight.shape, generator=drawn))
    arguments = arguments_of(training, folder, 0, batches, 8, 1.0, True)
    limits = {"max_prompts": 8, "max_unscorable": 0.1}
    made = EpisodePPO(model, tokenizer, lambda policy, step: [], CreditConfig(), training, arguments, **limits)
    made.current_gradient_accumulation_steps = arguments.gradient_accumulation_steps
    return made


def rows_of(episodes, made):
    for one in episodes:
        estimate(one, made.settings)
    return [row for one in episodes for row in rows_with(one)]


def gradients(model):
    return {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}


def gradient(made, batches):
    """(loss, gradient by name) of one update on the micro-batches."""
    tokens = sum(sum(row.mask) for batch in batches for row in batch)
    made._play = lambda step: Credited(batches, tokens, tokens / 2)
    made.model.zero_grad()
    total = 0.0
    for place in range(len(batches)):
        made._step = place
        loss = made._compute_loss(made.model, made._prepare_inputs({}))
        loss.backward()
        total += loss.item()
    return total, gradients(made.model)


def by_hand(model, rows, settings, beta=0.0):
    """(loss, gradient) of rows one by one, without padding, as the formulas say."""
    model.zero_grad()
    total, mean, unit = 0.0, model.value_head.state.mean, model.value_head.state.unit
    for row in rows:
        ids = torch.tensor([row.ids])
        hidden = model.base_model.model.base_model(ids).last_hidden_state[0]
        logps = model.base_model.model.lm_head(hidden).log_softmax(-1)
        states = hidden.detach() if settings.value_trunk == "detached" else hidden
        if settings.value_trunk == "adapter":
            with judging(model):
                states = model.base_model.model.base_model(ids).last_hidden_state[0]
        values = mean + unit * (states @ model.value_head.weight[0] + model.value_head.bias)
        for i, learned in enumerate(row.mask):
            if not learned:
                continue
            logp, value = logps[i - 1, row.ids[i]], values[i - 1]
            ratio, advantage = (logp - row.old[i]).exp(), row.advantages[i]
            surrogate = torch.min(ratio * advantage, ratio.clamp(1 - settings.epsilon, 1 + settings.epsilon) * advantage)
            loss = -surrogate
            if beta:
                drift = row.reference[i] - logp
                loss = loss + beta * ratio * (drift.exp() - drift - 1)  # TRL's correction, arXiv 2512.02556
            miss = (value - row.returns[i]) ** 2
            if settings.value_clip is not None:
                reach = settings.value_clip * unit
                near = row.values[i] + (value - row.values[i]).clamp(-reach, reach)
                miss = torch.max(miss, (near - row.returns[i]) ** 2)
            miss = miss / unit**2
            total = total + (row.weights[i] * loss + settings.value_coef * row.heads[i] * miss / 2) / 2  # of two episodes
    total.backward()
    return total.item(), gradients(model)


def same(one, other, relative=1e-5):
    assert one[0] == pytest.approx(other[0], rel=relative, abs=1e-6)
    assert one[1].keys() == other[1].keys() and {"value_head.weight", "value_head.bias"} < one[1].keys()
    for mine in ("lora", "value_head"):  # the head's is larger, and must not hide the trunk's
        ours, theirs = (torch.cat([g.flatten() for name, g in found[1].items() if mine in name]) for found in (one, other))
        assert (ours - theirs).norm() <= relative * theirs.norm()
        assert theirs.norm() > 1e-4  # equal because there is something, not because there is nothing


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(
    "settings",
    [{}, {"level": "token"}, {"value_clip": None}, {"kl": "loss", "kl_coef": 0.3}, {"value_trunk": "detached", "epsilon": 0.5},
     {"value_trunk": "adapter", "kl": "loss", "kl_coef": 0.3}],
    ids=lambda settings: "-".join(map(str, settings.values())) or "defaults",
)
def test_the_gradient_is_that_of_the_formulas(model, tokenizer, episodes, tmp_path, settings, shared):
    made = trainer(model, tokenizer, tmp_path, share_prefixes=shared, **settings)
    assert made.shares is shared
    rows = rows_of(episodes, made)
    made.head.state.mean, made.head.state.scale = 0.25, 2.0
    if made.settings.kl == "loss":
        made.beta = made._beta()
    found = gradient(made, [rows])
    same(found, by_hand(model, rows, made.settings, made.beta))
    if settings.get("kl"):
        assert made.beta == 0.3
        made.beta = 0.0
        assert abs(gradient(made, [rows])[0] - found[0]) > 1e-3


def test_batches_order_and_padding_leave_the_gradient(model, tokenizer, episodes, tmp_path):
    made = trainer(model, tokenizer, tmp_path)
    rows = rows_of(episodes, made)
    whole = gradient(made, [rows])
    for per_batch, batches in ((1, 5), (2, 3), (4, 2), (2, 7)):
        (dealt,) = deal(rows, 1, per_batch, batches)
        cut = [[NOTHING if row is PADDING else row for row in batch] for batch in dealt]
        same(gradient(trainer(model, tokenizer, tmp_path, batches), cut), whole)
    same(gradient(trainer(model, tokenizer, tmp_path), [rows[::-1]]), whole)


def test_merged_calls_leave_the_gradient(model, tokenizer, episodes, tmp_path):
    made = trainer(model, tokenizer, tmp_path)
    rows = rows_of(episodes, made)
    (first, second, third), _ = episodes
    plain = merged([row for row in rows if row.episode == "a"])
    assert len(plain) == 1
    one = Scored(**vars(plain[0]))
    for call in (first, second, third):
        for name in Scored.LISTS:
            getattr(one, name)[call.span] = getattr(call.row, name)[call.span]
    same(gradient(made, [[one, *rows[3:]]]), gradient(made, [rows]))


def test_minibatches_sum_to_the_whole_where_the_weights_stay(model, tokenizer, episodes, tmp_path):
    """Each takes the place of the whole: their mean is its gradient."""
    made = trainer(model, tokenizer, tmp_path)
    rows = rows_of(episodes, made)
    whole = gradient(made, [rows])
    halves = trainer(model, tokenizer, tmp_path, minibatches=2)
    loss, summed = gradient(halves, [rows[:2], rows[2:]])
    same((loss / 2, {name: part / 2 for name, part in summed.items()}), whole)


@pytest.mark.parametrize("shared", [True, False])
def test_the_pass_before_sees_what_the_first_update_sees(model, tokenizer, episodes, tmp_path, shared):
    made = trainer(model, tokenizer, tmp_path, share_prefixes=shared, kl="reward", max_logprob_gap=9)
    rows = rows_of(episodes, made)
    made._judge(rows)
    assert made._metrics["train"]["sampler_gap/mean"][0] > 0.1  # the fixture's log-probabilities are invented
    inputs = made._tensors(rows, 1.0)
    made._inputs = inputs
    trained = inputs["trained"]
    logps, *_ = made._get_per_token_logps_and_entropies(made.model, *sequence(inputs))
    assert torch.allclose(logps * trained, inputs["old"], atol=1e-5) and trained.sum() == 16
    assert torch.allclose(made._values * trained, inputs["values"], atol=1e-5) and inputs["values"].abs().sum() > 1
    gap = inputs["old"] - inputs["reference"]
    assert 1e-3 < gap.abs().max() < 1  # the adapter is small, and it is there
    made.settings = made.settings.model_copy(update={"max_logprob_gap": 1e-3})
    with pytest.raises(UserError, match="training.ppo.max_logprob_gap allows 0.001"):
        made._judge(rows)


def test_figures_of_a_step_do_not_depend_on_how_its_rows_are_cut(model, tokenizer, episodes, tmp_path):
    figures = []
    for per_batch, batches in ((5, 1), (2, 3), (1, 8)):
        made = trainer(model, tokenizer, tmp_path, batches)
        (dealt,) = deal(rows_of(episodes, made), 1, per_batch, batches)
        gradient(made, [[NOTHING if row is PADDING else row for row in batch] for batch in dealt])
        assert all(len(values) == 1 for values in made._metrics["train"].values())
        figures.append({name: values[0] for name, values in made._metrics["train"].items()})
    names = ("entropy", "approx_kl", "value_loss", "clip_ratio/region_mean", "updates", "early_stop")
    for other in figures[1:]:
        for name in names:
            assert other[name] == pytest.approx(figures[0][name], rel=1e-4), name
    assert figures[0]["approx_kl"] > 1e-3 and figures[0]["value_loss"] > 1e-3 and figures[0]["clip_ratio/region_mean"] > 0


def test_the_head_learns_at_its_own_rate(model, tokenizer, tmp_path):
    made = trainer(model, tokenizer, tmp_path, value_learning_rate=0.05)
    made.create_optimizer()
    rates = {id(weight): group["lr"] for group in made.optimizer.param_groups for weight in group["params"]}
    for name, weight in model.named_parameters():
        if weight.requires_grad:
            assert rates.pop(id(weight)) == (0.05 if "value_head" in name else 2e-4)
    assert rates == {}


def test_an_update_that_is_left_out_changes_nothing(model, tokenizer, episodes, tmp_path):
    """No weight and no moment, though there is a gradient and a momentum; the next step's update counts again."""
    made = trainer(model, tokenizer, tmp_path)
    made.create_optimizer()
    rows = rows_of(episodes, made)

    def update():
        gradient(made, [rows])
        made.optimizer.step()
        state = [value.clone() for entry in made.optimizer.state_dict()["state"].values() for value in entry.values()]
        return [*state, *(weight.detach().clone() for weight in model.parameters() if weight.requires_grad)]

    first = update()
    made.stopped = True
    second = update()
    made.stopped = False
    third = update()
    assert len(first) > 10 and all(map(torch.equal, first, second))
    assert not any(map(torch.equal, second, third))


@pytest.mark.parametrize(("limit", "stops"), [(1e-3, True), (10.0, False), (None, False)])
def test_a_step_stops_when_the_policy_has_moved_too_far(model, tokenizer, episodes, tmp_path, limit, stops):
    """Before the update at which it is seen, and for the rest of the step, whose rows are not even computed."""
    made = trainer(model, tokenizer, tmp_path, epochs=2, max_kl=limit)
    rows = rows_of(episodes, made)
    still = [replace(row, old=list(row.old)) for row in rows]
    for row in still:  # the first update finds the policy where it was
        row.old = list(row.logprobs)
    made._judge = None
    played = Credited([still, rows], 32, 16.0)
    made._play = lambda step: played
    inputs = []
    for place in range(2):
        made._step = place
        inputs.append(made._prepare_inputs({}))
        if place == 0:  # log-probabilities as they are: no distance
            made._inputs = inputs[0]
            logps = made._get_per_token_logps_and_entropies(made.model, *sequence(inputs[0]))[0].detach()
            inputs[0]["old"] = inputs[0]["old_per_token_logps"] = logps * inputs[0]["trained"]
        made._compute_loss(made.model, inputs[-1])
    assert inputs[1]["trained"].sum() > 0  # it was not known before
    assert made._metrics["train"]["early_stop"] == [float(stops)]
    assert made._metrics["train"]["updates"] == [2.0 - stops]
    assert made.stopped is stops
    assert (made._rows(1) == rows) is not stops and len(made._rows(1)) == len(rows)


@pytest.mark.parametrize(("drift", "factor"), [(0.5, 1.02), (0.21, 1.005), (0.2, 1.0), (0.19, 0.995), (0.0, 0.98), (-1.0, 0.98)])
def test_the_coefficient_is_steered_towards_the_target(model, tokenizer, episodes, tmp_path, drift, factor):
    """Up where the policy is too far from the reference, down where it is too near, by 2 % at most; for the next step."""
    made = trainer(model, tokenizer, tmp_path, kl="reward", kl_coef=0.4, kl_target=0.2)
    for one in episodes:
        estimate(one, made.settings)
        for call in one:
            call.row.reference[call.span] = [old - drift for old in call.row.old[call.span]]
    figures = made._figures([call for one in episodes for call in one])
    assert figures["reference_kl"] == pytest.approx(drift) and figures["kl_coef"] == 0.4
    assert made.head.state.kl_coef == pytest.approx(0.4 * factor)
    made.settings = made.settings.model_copy(update={"kl_target": None})
    assert made._figures([call for one in episodes for call in one])["kl_coef"] == made.head.state.kl_coef


def test_explained_variance_is_of_returns_by_values(model, tokenizer, episodes, tmp_path):
    made = trainer(model, tokenizer, tmp_path)
    flat = [call for one in episodes for call in one]
    rows_of(episodes, made)
    for miss, wanted in ((0.0, 1.0), (None, 0.0)):
        for call in flat:
            i = call.start
            call.row.values[i] = 0.25 if miss is None else call.row.returns[i] + miss
        assert made._figures(flat)["explained_variance"] == pytest.approx(wanted)
    mean = sum(sum(call.row.weights) * call.row.returns[call.start] for call in flat) / 2
    assert made._figures(flat)["returns_mean"] == pytest.approx(mean)


def test_a_new_head_takes_its_unit_from_what_was_earned(model, tokenizer, episodes, tmp_path):
    """Mean and deviation of the returns without a critic; a baseline at once, of which the first pass did not know."""
    made = trainer(model, tokenizer, tmp_path, gamma_turn=0.5, lambda_turn=0.3)
    flat = [call for one in episodes for call in one]
    for call in flat:
        call.row.values = [0.0] * len(call.row.ids)
    made._measure(episodes, 0.0)
    earned = [[0.0 + 0.5 * (-1.0 + 0.5 * 1.0), -1.0 + 0.5 * 1.0, 1.0], [3.0 + 0.5 * -2.0, -2.0]]
    pairs = [(1 / len(one) / 2, r) for one in earned for r in one]
    mean = sum(w * r for w, r in pairs)
    assert made.head.state.mean == pytest.approx(mean)
    assert made.head.state.scale == pytest.approx(sum(w * (r - mean) ** 2 for w, r in pairs) ** 0.5)
    assert all(call.row.values[call.span] == [made.head.state.mean] * (call.stop - call.start) for call in flat)


def test_a_critic_goes_on_from_the_last_checkpoint_or_the_adapter_it_started_from(model, tokenizer, tmp_path, monkeypatch):
    """And begins anew where neither has one."""
    adapter, bare, checkpoints = (tmp_path / name for name in ("adapter", "bare", "checkpoints"))
    whole, torn = checkpoints / "checkpoint-4", checkpoints / "checkpoint-8"
    for number, folder in enumerate((adapter, whole, torn, bare)):
        folder.mkdir(parents=True)
        if folder != bare:
            weights = {"value_head.weight": torch.full((1, 32), float(number)), "value_head.bias": torch.zeros(1)}
            save_head(weights, folder, HeadState(kl_coef=0.1 * number, scale=2.0))
    monkeypatch.setattr(ppo, "train_grpo", lambda *_, **settings: {"kind": settings["kind"]})
    training = TrainingConfig(method="ppo")

    def head(start, folder):
        assert ppo.train_ppo(model, tokenizer, None, CreditConfig(), training, folder, 0, start=start)["kind"] is EpisodePPO
        return model.value_head.weight.mean().item(), model.value_head.state

    fresh = (0.0, HeadState(training.ppo.kl_coef))
    assert head(None, tmp_path / "nothing") == head(bare, tmp_path / "nothing") == fresh
    assert head(adapter, tmp_path / "nothing") == (0.0, HeadState(0.0, scale=2.0))
    (whole / "whole").touch()
    assert head(adapter, checkpoints) == (1.0, HeadState(0.1, scale=2.0))
    (torn / "whole").touch()
    assert head(adapter, checkpoints) == (2.0, HeadState(0.2, scale=2.0))


def test_micro_batches_of_a_minibatch():
    assert [micro_batches(rows, 4, parts) for rows, parts in ((9, 1), (9, 3), (1, 2))] == [3, 3, 1]
    assert [micro_batches(rows, 3, parts) for rows, parts in ((9, 1), (9, 2), (9, 3))] == [4, 3, 4]  # pairs, for TRL
