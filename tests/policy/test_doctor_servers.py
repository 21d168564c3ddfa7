"""What the doctor says of vLLM servers; here because the server that the tests start is."""

import pytest

from amemgym_train.config.load import load_recipe
from amemgym_train.doctor.servers import servers

USERS = "{num_users: 2, num_variables: 3, num_questions: 3, num_periods: 1, num_changes_per_period: 1}"
WINDOW = 4096


@pytest.fixture
def found(base_folder, tmp_path):
    """What is found of one server, with changes to the recipe."""

    def examine(url, *overrides):
        keys = [f"scenarios.{role}={USERS}" for role in ("train", "validation", "test")]
        keys += [f"policy.model={base_folder}", f"output={tmp_path}", f"policy.server.urls=['{url}']", "agent.respond=fixed"]
        [finding] = servers(load_recipe(None, [*keys, "policy.lora.r=8", "agent.flush=period", *overrides]))
        return finding

    return examine


def test_a_server_that_can_do_all(found, vllm):
    finding = found(vllm(window=WINDOW).url)
    assert finding.level == "green" and "takes adapters of rank 8" in finding.message


def test_a_server_that_is_down(found, vllm):
    server = vllm()
    server.stop()
    finding = found(server.url)
    assert finding.level == "red" and "does not answer" in finding.message
    assert "vllm serve" in finding.remedy and f"--port {server.port}" in finding.remedy and "--max-lora-rank 8" in finding.remedy


def test_a_server_of_another_model(found, vllm):
    assert "serves someone/else, but policy.model is" in found(vllm("someone/else").url).message


def test_a_window_that_is_too_short(found, vllm, tokenizer):
    finding = found(vllm(window=64).url)
    assert finding.level == "red" and "its --max-model-len is 64, prompts and replies need up to" in finding.message
    needed = int(finding.message.split("up to ")[1].split()[0])
    assert f"--max-model-len {needed} " in finding.remedy
    assert found(vllm(window=needed).url).level == "green"
    assert found(vllm(window=needed - 1).url).level == "red"


def test_an_agent_that_leaves_out_what_is_oldest_takes_any_window(found, vllm):
    finding = found(vllm(window=128).url, "agent.name=native", "agent.flush=never", "credit.operations=[answer]")
    assert finding.level == "yellow" and "the oldest messages are left out" in finding.message


def test_adapters_of_a_rank_that_the_server_does_not_take(found, vllm):
    finding = found(vllm(window=WINDOW, max_rank=4).url)
    assert finding.level == "red" and "adapter of rank 8 (policy.lora.r), but its --max-lora-rank is 4" in finding.message
    assert finding.remedy.endswith("--enable-lora --max-lora-rank 8")


WITHOUT = [({"max_rank": 0}, "runs without LoRA"), ({"updating": False}, "does not load adapters")]


@pytest.mark.parametrize("settings, message", WITHOUT)
def test_adapters_where_the_server_takes_none(found, vllm, settings, message):
    server = vllm(window=WINDOW, **settings)
    assert message in found(server.url).message
    prompts = ("reflection.prompts.cadence=iteration", "reflection.reflector={kind: scripted}")
    assert found(server.url, "training.method=none", *prompts, "scenarios.validation.num_users=12").level == "green"


def test_log_probabilities_of_another_kind(found, vllm):
    assert "--logprobs-mode raw_logprobs" in found(vllm(window=WINDOW, mode="raw_logprobs").url).message


def test_a_key_that_is_not_set(found, vllm, monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    finding = found(vllm().url, "policy.server.api_key_env=NO_SUCH_KEY")
    assert (finding.level, finding.remedy) == ("red", "export NO_SUCH_KEY=KEY")
