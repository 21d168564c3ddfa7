"""The tiny Llama of all tests, with an adapter to train."""

import pytest
import torch

from amemgym_train.config.policy import LoraConfig
from amemgym_train.training.lora import new_adapter


@pytest.fixture
def model(llama):
    """With an adapter whose every weight has a gradient: a fresh one is zero on one side."""
    adapted = new_adapter(llama, LoraConfig(r=4, alpha=8), 0)
    drawn = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, weight in adapted.named_parameters():
            if "lora_B" in name:
                weight.copy_(0.05 * torch.randn(weight.shape, generator=drawn))
    return adapted
