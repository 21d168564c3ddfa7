import pytest
from pydantic import ValidationError

from amemgym_train.config.check import check
from amemgym_train.config.load import load_recipe
from amemgym_train.config.recipe import Recipe
from amemgym_train.config.server import ServerConfig
from amemgym_train.errors import UserError

SERVER = {"policy": {"server": {"urls": ["http://127.0.0.1:8000"]}}}


def problems(**sections):
    return dict(check(Recipe.model_validate({"name": "x", "agent": {"local_length": 0}} | sections)))


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/"])
def test_an_address_is_kept_without_its_ending(ending):
    assert ServerConfig(urls=[f"https://gpu7:8000{ending}"]).urls == ["https://gpu7:8000"]
    assert ServerConfig(urls=[f"http://gpu7/proxy{ending}"]).urls == ["http://gpu7/proxy"]


@pytest.mark.parametrize(
    "url",
    ["", "gpu7:8000", "ftp://gpu7", "http://", "http://gpu7:99999", "http://a b", "http://[", "http://gpu7?x=1", "http://a\n"],
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ValidationError, match="expected an address like http://127.0.0.1:8000"):
        ServerConfig(urls=[url])


def test_each_server_stands_there_once():
    assert len(ServerConfig(urls=["http://a", "http://b/v1"]).urls) == 2
    with pytest.raises(ValidationError, match="names http://a twice"):
        ServerConfig(urls=["http://a", "http://b", "http://a/v1/"])
    with pytest.raises(ValidationError, match="at least 1"):
        ServerConfig(urls=[])


def test_a_key_never_stands_in_a_recipe():
    with pytest.raises(ValidationError, match="name the variable with the key in api_key_env") as told:
        ServerConfig(urls=["http://me:s3cret@gpu7"])
    assert "s3cret" not in str(told.value.errors()[0]["ctx"]["error"])
    assert ServerConfig(urls=["http://a"], api_key_env="MY_KEY").api_key_env == "MY_KEY"
    for wrong in ("", "sk-123", "A KEY"):
        with pytest.raises(ValidationError, match="api_key_env"):
            ServerConfig(urls=["http://a"], api_key_env=wrong)


@pytest.mark.parametrize("key", ["timeout_s", "max_requests"])
def test_numbers_have_a_least(key):
    with pytest.raises(ValidationError, match=key):
        ServerConfig(urls=["http://a"], **{key: 0})


def test_on_policy_training_needs_log_probabilities_before_any_cut():
    cut = {"sampling": {"top_k": 20, "top_p": 0.9}}
    found = problems(training={"method": "grpo"}, **SERVER, **cut)
    assert set(found) == {"sampling.top_k", "sampling.top_p"} and "set it to 0" in found["sampling.top_k"]
    assert problems(training={"method": "grpo"}, **SERVER) == {}
    assert problems(training={"method": "grpo"}, **cut) == {}
    assert problems(**SERVER, **cut) == {}


def test_a_recipe_names_its_servers(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text("name: x\nagent: {local_length: 0}\npolicy:\n  server:\n    urls: [http://a/v1]\n    retries: 2\n")
    server = load_recipe(path).policy.server
    assert (server.urls, server.retries, server.max_requests) == (["http://a"], 2, 128)
    assert load_recipe(path, ["policy.server=null"]).policy.server is None
    with pytest.raises(UserError, match=rf"policy.server.retries \({path}:6\): got -1, expected at least 0"):
        path.write_text(path.read_text().replace("2", "-1"))
        load_recipe(path)
    with pytest.raises(UserError, match=r"policy.server.url \(override .*\): no such key; did you mean policy.server.urls\?"):
        load_recipe(path, ["policy.server.retries=1", "policy.server.url=http://a"])
