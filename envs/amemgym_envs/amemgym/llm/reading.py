"""Openings read back by a model: whether what a data file says about them can be found in them."""

from pathlib import Path

from amemgym_envs.amemgym.llm.caller import Caller, together
from amemgym_envs.amemgym.llm.endpoint import Endpoint
from amemgym_envs.amemgym.llm.journal import Journal
from amemgym_envs.amemgym.llm.queries import read_query
from amemgym_envs.amemgym.llm.report import Report
from amemgym_envs.amemgym.llm.schema import Schema

_TRIES = 3  # for a readable reply


async def read_openings(endpoint: Endpoint, journal: Path, openings: list[tuple[str, Schema]]) -> list[dict[str, str | None]]:
    """For each (opening, {info_type: allowed values}) the {info_type: value} that the model takes from it.

    The value is None where the model finds none. Replies are kept in ``journal``, so that reading the same file again costs
    nothing. EndpointError when there is no model.
    """
    replies = Journal(journal)
    caller = Caller(endpoint, replies, Report(endpoint), _TRIES, {})
    try:
        found = await together(read_query(caller, opening, schema) for opening, schema in openings)
    finally:
        replies.close()
        await endpoint.close()
    return [dict.fromkeys(schema) | (read or {}) for (_, schema), read in zip(openings, found, strict=True)]
