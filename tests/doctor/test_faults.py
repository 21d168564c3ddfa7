"""One planted fault each: the doctor names it, and nothing else."""

import json
import re
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from amemgym_train.doctor import checks
from amemgym_train.doctor.devices import visible
from amemgym_train.doctor.finding import Finding
from amemgym_train.doctor.template import REMEDY
from amemgym_train.doctor.versions import Package, compared

FILES = Path(__file__).resolve().parents[2] / "accelerate_configs"
SECRET = "DOCTOR_TEST_KEY"


def test_nothing_is_wrong_with_the_sound_recipe(diagnosed):
    found = diagnosed()
    del found["packages"]  # which may be other ones than the tested
    assert {finding.level for one in found.values() for finding in one} == {"green"}


def test_a_red_finding_needs_a_remedy():
    with pytest.raises(ValueError, match="needs a remedy"):
        Finding("disk", "red", "full")


def test_a_package_of_a_version_that_does_not_work(only, tmp_path, monkeypatch):
    info = tmp_path / "trl-0.9.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: trl\nVersion: 0.9.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = only("packages")
    assert found.message == "trl 0.9.0, expected >=1.16,<2"
    assert found.remedy == "pip install 'trl>=1.16,<2'"


def test_a_package_that_is_missing():
    [found] = compared([Package("no-such-package", ">=1", "1.2"), Package("nor-this", ">=1", "1", "extra")])
    assert (found.level, found.message) == ("red", "no-such-package is not installed")
    assert found.remedy == "pip install 'no-such-package>=1'"


LAUNCHED = ("evolution.launcher=accelerate", f"evolution.launch.file={FILES}/")


def test_more_processes_than_devices(only):
    more = 'evolution.launch.arguments=[--num_processes, "64"]'
    found = only("launch", LAUNCHED[0], f"{LAUNCHED[1]}multi_gpu.yaml", more, *users(64))
    assert "starts 64 processes here, one for each GPU, and" in found.message


def users(count):
    return [f"scenarios.train.num_users={count}", "rollout.group_size=1", "training.keep_per_slot=1"]


def test_more_cpu_processes_than_cores(only, monkeypatch):
    monkeypatch.setattr("amemgym_train.doctor.devices.cores", lambda: 1)
    found = only("launch", LAUNCHED[0], f"{LAUNCHED[1]}cpu_ddp.yaml", level="yellow")
    assert "starts 2 CPU processes here, and there are 1 cores" in found.message


def test_a_launch_file_that_is_missing(only):
    assert "nowhere.yaml cannot be read" in only("launch", LAUNCHED[0], f"{LAUNCHED[1]}nowhere.yaml").message


def test_a_number_of_processes_that_is_none(only):
    assert "invalid literal" in only("launch", LAUNCHED[0], "evolution.launch.arguments=[--num_processes, two]").message


def test_the_launch_without_a_file_is_that_of_accelerate(diagnosed, tmp_path, monkeypatch):
    monkeypatch.setattr("accelerate.commands.config.config_args.default_config_file", str(tmp_path / "default.yaml"))
    assert f"accelerate's default starts {visible() or 1} process" in diagnosed(LAUNCHED[0])["launch"][0].message
    shutil.copy(FILES / "cpu_ddp.yaml", tmp_path / "default.yaml")
    assert "accelerate's default starts 2 CPU processes here" in diagnosed(LAUNCHED[0])["launch"][0].message


def test_episodes_that_do_not_deal_out_evenly(diagnosed):
    launch = [LAUNCHED[0], f"{LAUNCHED[1]}cpu_ddp.yaml", "evolution.launch.arguments=[--num_processes=4]", *users(6)]
    [found] = diagnosed(*launch)["batch"]
    assert found.level == "yellow" and "6 episodes do not deal out evenly: 2 play 2, the others 1 and wait" in found.message
    [mended] = diagnosed(*launch, found.remedy)["batch"]
    assert mended.level == "green" and "each with 2 of the 8 episodes" in mended.message


def test_a_model_folder_that_is_missing(only):
    found = only("recipe", "policy.model=/no/such/folder")
    assert found.message.startswith("policy.model (override policy.model=/no/such/folder): no folder")
    assert found.remedy == "change policy.model (override policy.model=/no/such/folder)"


@pytest.fixture
def copy(untrained, tmp_path):
    """A copy of the tiny model to damage, and the override that names it."""
    folder = shutil.copytree(untrained, tmp_path / "copy")
    return folder, f"policy.model={folder}"


def test_a_model_folder_without_tokenizer(only, copy):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (copy[0] / name).unlink()
    assert "cannot load" in only("model", copy[1]).message


def test_a_model_folder_without_weights(only, copy):
    (copy[0] / "model.safetensors").unlink()
    assert "the weights are missing" in only("model", copy[1]).message


def test_a_hub_model_that_is_not_here_while_the_hub_is_off(only, monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    found = only("model", "policy.model=nobody/nothing")
    assert found.remedy == "env -u HF_HUB_OFFLINE hf download nobody/nothing"


def test_an_adapter_that_is_none(only, tmp_path):
    assert "no file adapter_config.json" in only("adapter", f"policy.adapter={tmp_path}").message


def test_an_adapter_on_layers_that_the_model_lacks(only):
    found = only("adapter", "policy.lora.target_modules=[nope]")
    assert "'nope'" in found.message and found.remedy == "policy.lora.target_modules=all-linear"


TEMPLATES = {
    "no beginning": (
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}now{% endif %}",
        "the prompt is no beginning of the conversation with its reply",
    ),
    "system refused": (
        "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
        "<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
        "refuses messages of the roles system, user (System role not supported)",
    ),
    "system left out": (
        "{% for m in messages %}{% if m.role != 'system' %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}",
        "leaves out what a system message says",
    ),
}


def templated(folder, text):
    for path in folder.glob("chat_template*"):
        path.unlink()
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(config | {"chat_template": text}))


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_chat_template_that_breaks_prompts(only, copy, name):
    templated(copy[0], TEMPLATES[name][0])
    assert TEMPLATES[name][1] in only("template", copy[1]).message


def test_a_chat_template_that_rewrites_the_past(diagnosed, copy):
    text = (
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% if not loop.last %} (past){% endif %}<|end|>{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )
    templated(copy[0], text)
    [found] = diagnosed(copy[1])["template"]
    assert (found.level, found.remedy) == ("red", REMEDY)
    past = "{% if m.role == 'assistant' and not loop.last %} (past){% endif %}"
    templated(copy[0], text.replace("{% if not loop.last %} (past){% endif %}", past))
    [found] = diagnosed(copy[1])["template"]
    assert found.level == "yellow" and "shown otherwise once another message follows" in found.message


def chat(url, user=False):
    key = "scenarios.user.chat" if user else "policy.chat"
    return [f"{key}={{base_url: '{url}', model: some, api_key_env: {SECRET}}}", *([] if user else ["training.method=none"])]


@pytest.mark.parametrize("user", [False, True])
def test_a_chat_endpoint_whose_key_is_not_set(diagnosed, monkeypatch, user):
    monkeypatch.delenv(SECRET, raising=False)
    [found] = diagnosed(*chat("https://example.invalid/v1", user))["chat"]
    assert (found.level, found.remedy) == ("red", f"export {SECRET}=KEY")


def test_a_chat_endpoint_that_refuses(diagnosed, chat_server):
    server = chat_server(lambda messages: "OK")
    assert diagnosed(*chat(server.url, True))["chat"][0].level == "green"
    assert len(server.requests) == 1
    server.faults.append((401, {}, b'{"error": {"message": "bad key"}}'))
    [found] = diagnosed(*chat(server.url, True))["chat"]
    assert found.level == "red" and "401" in found.message


def test_wandb_online_without_login(only, monkeypatch, tmp_path):
    for name in ("WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE", "WANDB_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    found = only("tracking", "tracking.wandb=online")
    assert (found.message, found.remedy) == ("tracking.wandb is online, and no key for api.wandb.ai is here", "wandb login")


def test_wandb_online_with_the_key_that_a_login_leaves(diagnosed, monkeypatch, tmp_path):
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    (tmp_path / "netrc").write_text("machine api.wandb.ai\n  login user\n  password 0123456789\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    assert diagnosed("tracking.wandb=online")["tracking"][0].level == "green"


def test_a_disk_that_is_too_small(only, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("amemgym_train.evolution.disk.shutil.disk_usage", lambda folder: usage(10_000, 0, 10_000))
    assert "10 KB are free" in only("disk").message


SCHEMES = {
    "raises": ("raise KeyError('score')", "failed on episode .* with KeyError: 'score'"),
    "nan": ("return {index: float('nan') for index in range(1, 2)}", "gave turn 1 .* nan"),
    "too_many": ("return {len(episode.turns): 1.0}", "gave a reward to turn .* expected an index from 0 to"),
    "a_list": ("return [0.0] * (len(episode.turns) - 1)", "returned a list of episode .* expected a dict"),
}


@pytest.mark.parametrize("name", SCHEMES)
def test_a_reward_function_that_misbehaves(only, tmp_path, monkeypatch, name):
    body, message = SCHEMES[name]
    (tmp_path / f"scheme_{name}.py").write_text(f"def reward(episode, diagnosis, config):\n    {body}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = only("recipe", f"credit.scheme=scheme_{name}:reward")
    assert re.search(message, found.message), found.message
    assert found.remedy.startswith("change credit.scheme")


def test_a_reward_function_that_never_pays(only, tmp_path, monkeypatch):
    (tmp_path / "scheme_idle.py").write_text("def reward(episode, diagnosis, config):\n    return {}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "pays no call" in only("rewards", "credit.scheme=scheme_idle:reward").message


HOLD = """
import sys
from pathlib import Path
from amemgym_train.evolution.folder import claimed
with claimed(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_run_folder_that_another_process_holds(only, tmp_path, amemgym_train):
    words = [sys.executable, "-c", HOLD, str(tmp_path / "runs" / "sound")]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=amemgym_train.env)
    try:
        assert process.stdout.readline() == "held\n"
        assert f"process {process.pid} on" in only("run folder").message
    finally:
        process.communicate("")


def test_a_run_folder_that_cannot_be_made(only, tmp_path):
    (tmp_path / "taken").write_text("a file")
    assert "cannot be written" in only("run folder", f"output={tmp_path / 'taken'}").message


def test_a_run_of_another_recipe(only, sound, tmp_path):
    from amemgym_train.config.load import load_recipe
    from amemgym_train.evolution.folder import adopt

    run = tmp_path / "runs" / "sound"
    (run / "iterations" / "000").mkdir(parents=True)
    adopt(load_recipe(sound), run)
    (run / "iterations" / "000" / "manifest.json").write_text("{}")
    found = only("run folder", "seed=7")
    assert "it differs in seed" in found.message and "--fork" in found.remedy


def test_a_data_file_that_is_broken(only, tmp_path):
    (tmp_path / "data.json").write_text("[{]")
    assert "scenarios.train" in only("users", f"scenarios.train={{data: {tmp_path / 'data.json'}}}").message


def test_a_check_that_breaks_is_a_finding(only, monkeypatch):
    def broken(recipe):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("amemgym_train.doctor.tracking.tracking", broken)
    found = only("tracking")
    assert "the check itself broke with ZeroDivisionError: by zero (test_faults.py:" in found.message


def test_every_check_needs_only_what_comes_before_it():
    seen = {"python", "packages", "recipe"}
    for check in checks.CHECKS:
        assert set(check.needs) <= seen
        seen.add(check.name)
