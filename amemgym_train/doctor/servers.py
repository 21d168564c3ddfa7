"""The vLLM servers of the recipe."""

from typing import TYPE_CHECKING

from amemgym_train.config.recipe import Recipe
from amemgym_train.doctor.finding import Finding, green, red, yellow
from amemgym_train.errors import UserError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from amemgym_train.policy.wire import Server

NAME = "server"
PATIENCE_S = 30  # how long a server may take for one reply
HELLO = [{"role": "user", "content": "Hello!"}]


def servers(recipe: Recipe) -> list[Finding]:
    """Each server answers, serves the recipe's model with a window for its longest call, and takes its adapters."""
    if recipe.policy.server is None:
        return [green(NAME, "none: episodes are played in the processes of the run")]
    from amemgym_train.doctor.calls import longest_call, right_calls
    from amemgym_train.policy.references import at_hand, load_tokenizer
    from amemgym_train.policy.wire import Server

    try:
        model = at_hand(recipe.policy.model)
        tokenizer = load_tokenizer(recipe.policy.model) if model else None
    except UserError:  # which is the model check's to say
        model = tokenizer = None
    config = recipe.policy.server
    config = config.model_copy(update={"timeout_s": min(config.timeout_s, PATIENCE_S)})
    window = longest_call(recipe, right_calls(recipe), tokenizer) if tokenizer else 0
    rank, found = _rank(recipe), []
    for url in config.urls:
        server = Server(url, model or recipe.policy.model, config, backoff_s=0)
        server.window, server.rank = window, rank
        found.append(_examined(server, recipe, tokenizer))
    return found


def _rank(recipe: Recipe) -> int:
    """Of the adapters that the servers are given; 0: none."""
    if recipe.policy.adapter is not None:
        from amemgym_train.policy.adapters import adapter_of

        try:
            return adapter_of("asked", recipe.policy.adapter).rank
        except UserError:  # which is the adapter check's to say
            pass
    return 0 if recipe.training.method == "none" else recipe.policy.lora.r


def _examined(server: "Server", recipe: Recipe, tokenizer: "PreTrainedTokenizerBase | None") -> Finding:
    from amemgym_train.policy import adapters, server_check
    from amemgym_train.policy.encoding import encode
    from amemgym_train.policy.wire import Passing

    try:
        server_check.identify(server, tries=1)
        shortens = recipe.agent.name == "native"  # leaves the oldest messages out where a prompt is too long
        if not shortens:
            server_check.check_window(server)
        if tokenizer is not None:
            server_check.check_logprobs(server, encode(tokenizer, HELLO), tries=1)
        if server.rank:
            folder = recipe.run_dir if recipe.run_dir.is_dir() else None
            adapters.check_lora(server, folder, tries=1)
    except Passing as passing:
        return red(NAME, *_told(server_check.unreachable(server, passing), server))
    except UserError as error:
        return red(NAME, *_told(error, server))
    if tokenizer is None:
        unchecked = "its window and log-probabilities were not checked without the model's tokenizer"
        return yellow(NAME, f"{server.url} serves {server.base}; {unchecked}")
    room = f"window {server.max_model_len}, calls of {server.window} tokens"
    if shortens and (server.max_model_len or server.window) < server.window:
        cut = f"{server.url} serves {server.base}, {room}: the oldest messages are left out"
        return yellow(NAME, cut, server.start_command())
    loads = f", takes adapters of rank {server.rank}" if server.rank else ""
    return green(NAME, f"{server.url} serves {server.base}, {room}{loads}")


def _told(error: UserError, server: "Server") -> tuple[str, str]:
    """What is wrong, and the command that mends it, which the error ends with."""
    text, command = str(error), server.start_command()
    if "api_key_env" in text:
        return text, f"export {server.config.api_key_env}=KEY"
    if text.endswith(command):
        text = text.removesuffix(command).rpartition(". ")[0]
    return text, command
