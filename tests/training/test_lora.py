import json
import shutil

import pytest
import torch

from amemgym_train.config.policy import LoraConfig
from amemgym_train.errors import UserError
from amemgym_train.training.lora import check_adapter, load_adapter, new_adapter, save_adapter

CONFIG = LoraConfig(r=4, alpha=8)


@pytest.fixture
def saved(llama, tmp_path):
    save_adapter(new_adapter(llama, CONFIG, seed=0), tmp_path / "adapter")
    return tmp_path / "adapter"


def weights(model):
    return {name: weight.clone() for name, weight in model.named_parameters() if "lora_" in name}


def test_a_new_adapter_is_fixed_by_its_seed_and_trains_in_float32(make_llama):
    made = [new_adapter(make_llama().bfloat16(), CONFIG, seed) for seed in (0, 0, 1)]
    first, again, other = map(weights, made)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)
    assert {weight.dtype for weight in first.values()} == {torch.float32}
    trained = {name for name, weight in made[0].named_parameters() if weight.requires_grad}
    assert trained == set(first)


def test_layers_that_the_model_lacks_are_told(llama):
    with pytest.raises(UserError, match=r"^policy\.lora: .*nothing"):
        new_adapter(llama, LoraConfig(target_modules=["nothing"]), seed=0)


def test_a_saved_adapter_comes_back_and_may_be_trained(saved, make_llama):
    fresh = weights(new_adapter(make_llama(), CONFIG, seed=0))
    for trainable in (False, True):
        model = load_adapter(make_llama(), saved, trainable)
        assert {name: w.tolist() for name, w in weights(model).items()} == {name: w.tolist() for name, w in fresh.items()}
        assert any(weight.requires_grad for weight in model.parameters()) == trainable


def test_equal_adapters_are_saved_as_equal_bytes(saved, tmp_path, make_llama):
    save_adapter(load_adapter(make_llama(), saved), tmp_path / "again")
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == {
        path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()
    }
    modules = json.loads((saved / "adapter_config.json").read_text())["target_modules"]
    assert modules == sorted(modules) and len(modules) > 1


def cut(folder):
    content = (folder / "adapter_model.safetensors").read_bytes()
    (folder / "adapter_model.safetensors").write_bytes(content[: len(content) // 2])


DAMAGES = {
    "absent": (shutil.rmtree, "no file adapter_config.json"),
    "without weights": (lambda folder: (folder / "adapter_model.safetensors").unlink(), "no file adapter_model.safetensors"),
    "weights cut off": (cut, "cannot be read"),
    "configuration cut off": (lambda folder: (folder / "adapter_config.json").write_text("{"), "does not load onto this model"),
    "configuration empty": (lambda folder: (folder / "adapter_config.json").write_text("{}"), "does not load onto this model"),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_adapter_is_one_clear_message(saved, damage, message, make_llama):
    damage(saved)
    with pytest.raises(UserError, match=rf"^adapter {saved}.*{message}") as told:
        load_adapter(make_llama(), saved)
    assert "\n" not in str(told.value)
    if message.startswith("no file"):
        with pytest.raises(UserError, match=message):
            check_adapter(saved)


@pytest.mark.parametrize("other", [{"hidden_size": 64}, {"intermediate_size": 96}, {"num_hidden_layers": 1}])
def test_an_adapter_of_another_model_does_not_fit(saved, other, make_llama):
    with pytest.raises(UserError, match=rf"^adapter {saved} (does not load onto this model|belongs to another model)"):
        load_adapter(make_llama(**other), saved)
