"""How often the loop turns, how its stages are started, and when a new adapter is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from amemgym_train.config.base import Section
from amemgym_train.config.curriculum import CurriculumConfig

if TYPE_CHECKING:
    from amemgym_train.config.recipe import Recipe

OURS = ("--config_file", "--machine_rank", "--main_process_port")  # options of accelerate launch that the launcher gives itself


class GateConfig(Section):
    """An iteration's adapter and prompts stand when its validation users beat the best so far.

    The mean difference of their ``metric``, user by user, must be at least ``min_delta``, and so must a share ``confidence`` of
    the means of a paired bootstrap. ``patience``: rejections in a row after which the run stops (None: it never does).
    """

    metric: Literal["memory_score"] = "memory_score"
    min_delta: float = 0.0
    confidence: float = Field(0.5, ge=0, lt=1)
    patience: int | None = Field(None, ge=1)


class LaunchConfig(Section):
    """How ``launcher: accelerate`` starts the processes of a stage.

    ``file``: launch file, as in ``accelerate_configs`` (None: accelerate's own default). ``arguments``: further options of
    ``accelerate launch``, which win over the file. ``port``: of the first machine, where processes meet (None: a free one, which
    serves one machine only). ``grace_s``: how long processes may take to end after a signal, or after one of them has failed.
    """

    file: str | None = Field(None, min_length=1)
    arguments: list[str] = []
    port: int | None = Field(None, ge=1, lt=65536)
    grace_s: float = Field(30, gt=0)


class EvolutionConfig(Section):
    """``launcher``: all stages run in the process (or processes) that the run was started as (inline), or each that computes is
    started by ``accelerate launch`` as ``launch`` says (accelerate).

    ``start_from``: every iteration trains on from the best adapter so far, or anew from what the run started with.
    ``curriculum``: how long the episodes of training are in each iteration. ``keep_last``: iterations whose episodes and adapter
    stay on disk, besides the best one's (None: all).
    """

    iterations: int = Field(3, ge=1)
    launcher: Literal["inline", "accelerate"] = "inline"
    launch: LaunchConfig = LaunchConfig()
    gate: GateConfig = GateConfig()
    start_from: Literal["best", "base"] = "best"
    curriculum: CurriculumConfig = CurriculumConfig()
    keep_last: int | None = Field(None, ge=1)


def problems(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """Keys of the launch that say nothing, or what the launcher says itself."""
    evolution = recipe.evolution
    if evolution.launcher == "inline":
        if evolution.launch != LaunchConfig():
            yield "evolution.launch", "is of launcher accelerate, evolution.launcher is inline; remove it, or set the launcher"
        return
    taken = sorted({word.partition("=")[0] for word in evolution.launch.arguments} & set(OURS))
    if taken:
        instead = "evolution.launch.file, evolution.launch.port and --machine-rank say that"
        yield "evolution.launch.arguments", f"{', '.join(taken)} cannot be given here; {instead}"
