"""Where the recipe sends its metrics: packages and the login of W&B."""

import netrc
import os
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from amemgym_train.config.recipe import Recipe
from amemgym_train.doctor.finding import Finding, green, red

NAME = "tracking"
WANDB_URL = "https://api.wandb.ai"


def tracking(recipe: Recipe) -> list[Finding]:
    """The boards that the recipe asks for are installed, and W&B has a key where it is to be online. W&B is not asked."""
    config = recipe.tracking
    found = [
        red(NAME, f"tracking.report_to: {board} is not installed", f"pip install {board}")
        for board in config.report_to
        if find_spec(board) is None
    ]
    if config.wandb == "off":
        return found or [green(NAME, "W&B is off; metrics.jsonl is always written")]
    if find_spec("wandb") is None:
        missing = f"tracking.wandb is {config.wandb}, and wandb is not installed"
        return [*found, red(NAME, missing, "pip install 'amemgym-train[wandb]'")]
    if config.wandb == "online" and not logged_in():
        return [*found, red(NAME, f"tracking.wandb is online, and no key for {_host()} is here", "wandb login")]
    sent = f"sent to {_host()}, project {config.project}"
    where = "kept in the run's folder for wandb sync" if config.wandb == "offline" else sent
    return found or [green(NAME, f"W&B is {config.wandb}: {where}")]


def logged_in() -> bool:
    """Whether wandb would find a key: in the environment, or in the netrc file that ``wandb login`` writes."""
    if os.environ.get("WANDB_API_KEY") or os.environ.get("WANDB_IDENTITY_TOKEN_FILE"):
        return True
    named = os.environ.get("NETRC")
    for path in [Path(named)] if named else [Path.home() / ".netrc", Path.home() / "_netrc"]:
        try:
            if netrc.netrc(path).authenticators(_host()):
                return True
        except (OSError, netrc.NetrcParseError):
            continue
    return False


def _host() -> str:
    return urlsplit(os.environ.get("WANDB_BASE_URL") or WANDB_URL).hostname or ""
