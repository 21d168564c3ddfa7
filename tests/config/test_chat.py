import pytest
from pydantic import ValidationError

from amemgym_train.config.chat import ChatConfig
from amemgym_train.config.check import check
from amemgym_train.config.load import load_recipe
from amemgym_train.config.recipe import Recipe
from amemgym_train.errors import UserError

CHAT = {"base_url": "http://127.0.0.1:8000/v1", "model": "strong"}


def problems(policy, **sections):
    return dict(check(Recipe.model_validate({"name": "x", "agent": {"local_length": 0}, "policy": policy} | sections)))


@pytest.mark.parametrize("ending", ["", "/", "/chat/completions"])
def test_an_address_is_kept_as_the_endpoint_wants_it(ending):
    config = ChatConfig(base_url=f"https://host/v1{ending}", model="strong")
    assert config.base_url == "https://host/v1"
    assert config.endpoint().url == "https://host/v1/chat/completions"


@pytest.mark.parametrize("url", ["", "host:8000", "ftp://host", "http://", "http://host:99999", "http://a b", "http://host?x=1"])
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ValidationError, match="expected an address like https://api.openai.com/v1"):
        ChatConfig(base_url=url, model="strong")


def test_a_key_never_stands_in_a_recipe():
    with pytest.raises(ValidationError, match="name the variable with the key in api_key_env"):
        ChatConfig(base_url="http://me:s3cret@host", model="strong")
    with pytest.raises(ValidationError, match="api_key_env"):
        ChatConfig(**CHAT, api_key_env="sk-123")


@pytest.mark.parametrize(
    ("key", "value"),
    [("timeout_s", 0), ("retries", -1), ("concurrency", 0), ("requests_per_minute", 0), ("cache", ""), ("model", "")]
    + [("omit", ["top_k"]), ("max_tokens_key", "max_new_tokens")],
)
def test_senseless_settings_are_refused_by_name(key, value):
    with pytest.raises(ValidationError, match=key):
        ChatConfig(**CHAT | {key: value})


def test_a_cost_has_two_prices():
    assert ChatConfig(**CHAT, price_in=1, price_out=2).endpoint().price_out == 2
    with pytest.raises(ValidationError, match="set the other one too"):
        ChatConfig(**CHAT, price_in=1)


def test_every_setting_reaches_the_endpoint():
    keys = {"timeout_s": 9, "retries": 1, "concurrency": 3, "requests_per_minute": 50, "price_in": 1, "price_out": 2}
    endpoint = ChatConfig(**CHAT, api_key_env="MY_KEY", **keys).endpoint(0.1)
    found = {key: getattr(endpoint, {"retries": "max_retries"}.get(key, key)) for key in keys}
    assert found == keys and (endpoint.model, endpoint.api_key_env, endpoint.backoff_s) == ("strong", "MY_KEY", 0.1)


def test_a_greedy_request_has_no_seed():
    config = ChatConfig(**CHAT)
    assert config.sampling(9, 0.0, 0.5, 7) == {"max_tokens": 9, "temperature": 0.0}
    assert config.sampling(9, 0.5, 1.0, 7) == {"max_tokens": 9, "temperature": 0.5, "seed": 7}
    bare = ChatConfig(**CHAT, omit=["max_tokens", "temperature", "top_p", "seed"])
    assert bare.sampling(9, 0.5, 0.5, 7) == {}


def test_one_policy_answers():
    assert problems({"chat": CHAT}) == {}
    assert set(problems({"chat": CHAT, "server": {"urls": ["http://a"]}})) == {"policy.server"}
    assert set(problems({"chat": CHAT, "adapter": "somewhere"})) == {"policy.adapter"}
    assert "set it to 0" in problems({"chat": CHAT}, sampling={"top_k": 9})["sampling.top_k"]
    assert problems({}, sampling={"top_k": 9}) == {}


def test_a_recipe_names_its_chat_models(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text(
        "name: x\nagent: {local_length: 0}\npolicy:\n  chat: {base_url: http://a/v1/, model: m, omit: [temperature]}\n"
        "scenarios:\n  user:\n    chat: {base_url: http://b, model: n}\n    history: 4\n"
    )
    recipe = load_recipe(path)
    assert (recipe.policy.chat.base_url, recipe.policy.chat.omit) == ("http://a/v1", ("temperature",))
    user = recipe.scenarios.user
    assert (user.chat.model, user.history, user.tries) == ("n", 4, 3)
    assert Recipe.model_validate(recipe.model_dump(mode="json")) == recipe
    assert hash(user) == hash(load_recipe(path).scenarios.user) != hash(recipe.policy.chat)
    assert load_recipe(path, ["policy.chat=null", "scenarios.user=null"]).scenarios.user is None
    with pytest.raises(UserError, match=rf"scenarios.user.history \({path}:8\): got 0, expected at least 1"):
        path.write_text(path.read_text().replace("history: 4", "history: 0"))
        load_recipe(path)
    with pytest.raises(UserError, match=r"scenarios.user.chat.model \(.*\): got nothing, expected a value"):
        load_recipe(path, ["scenarios.user={chat: {base_url: http://b}}"])
