"""What must hold of a vLLM server before an episode is played through it."""

from pathlib import Path
from typing import Any

from amemgym_train.errors import UserError
from amemgym_train.policy.replies import NEEDED, drawn
from amemgym_train.policy.wire import Passing, Refused, Server

TOP = 5  # alternatives per token that are asked for, the most that OpenAI's own interface gives


def identify(server: Server, tries: int) -> dict[str, Any]:
    """The server's card of its base model, its name kept in ``server.base``.

    UserError when it does not serve the model that it should; Passing when it cannot be reached.
    """
    try:
        cards = server.get("/v1/models", tries).get("data")
    except Refused as refused:
        raise UserError(f"policy.server {server.url}: no OpenAI-compatible server, GET /v1/models gave {refused}") from refused
    found = [card for card in cards if isinstance(card, dict) and not card.get("parent")] if isinstance(cards, list) else []
    if not found or not isinstance(found[0].get("id"), str):
        raise UserError(f"policy.server {server.url}: /v1/models lists no model, {NEEDED}")
    for card in found:
        served = {str(card.get("id")), str(card.get("root") or card.get("id"))}
        if server.model in served or Path(server.model).name in {Path(name).name for name in served}:
            server.base, most = str(card["id"]), card.get("max_model_len")
            server.max_model_len = most if isinstance(most, int) else None
            return card
    raise UserError(
        f"policy.server {server.url}: serves {' and '.join(str(card.get('root') or card.get('id')) for card in found)}, but "
        f"policy.model is {server.model}. Start it with: {server.start_command()}"
    )


def check_window(server: Server) -> None:
    """UserError when prompt and reply together may be longer than the server takes; one that names no limit passes."""
    most = server.max_model_len
    if most is not None and most < server.window:
        raise UserError(
            f"policy.server {server.url}: its --max-model-len is {most}, prompts and replies need up to {server.window} tokens. "
            f"Start it with: {server.start_command()}"
        )


def check_logprobs(server: Server, prompt: list[int], tries: int) -> None:
    """UserError when a completion lacks token ids or log-probabilities, or these are not those at the sampling temperature.

    Two tokens are asked for, at temperature 1 and 0.5: halving the temperature doubles the distances between log-probabilities.
    """
    start = f"Start it with: {server.start_command()}"
    spreads = []
    for temperature in (1.0, 0.5):
        body = {"model": server.base, "prompt": prompt, "max_tokens": 1, "temperature": temperature, "seed": 0, "logprobs": TOP}
        sampling = {"top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}
        try:
            reply = server.post_for_object("/v1/completions", body | sampling | {"return_token_ids": True}, tries)
        except Refused as refused:
            raise UserError(f"policy.server {server.url}: refuses a completion ({refused}), {NEEDED}. {start}") from refused
        values = _alternatives(server, reply)
        if max(values) > 1e-3:
            raise UserError(
                f"policy.server {server.url}: gives logits (such as {max(values):.1f}) where log-probabilities belong. {start}"
            )
        spreads.append(values[0] - values[-1])
    if spreads[1] < 1.5 * spreads[0]:
        raise UserError(
            f"policy.server {server.url}: its log-probabilities are those before the temperature (vLLM's default, "
            f"--logprobs-mode raw_logprobs), expected those of what it draws from. {start}"
        )


def _alternatives(server: Server, reply: dict[str, Any]) -> list[float]:
    """The log-probabilities of the first token's likeliest alternatives, falling."""
    drawn(server, reply, limit=1)
    top = reply["choices"][0]["logprobs"].get("top_logprobs")
    first = top[0] if isinstance(top, list) and top else None
    values = [float(value) for value in first.values() if isinstance(value, int | float)] if isinstance(first, dict) else []
    if len(values) < 2:
        raise UserError(f"policy.server {server.url}: gives no top_logprobs, {NEEDED}")
    return sorted(values, reverse=True)[:TOP]


def unreachable(server: Server, passing: Passing) -> UserError:
    """What to say when ``server`` could not be reached before anything is played."""
    return UserError(
        f"policy.server {server.url}: does not answer ({passing}). Run the same command again once it has started; start it "
        f"with: {server.start_command()}"
    )
