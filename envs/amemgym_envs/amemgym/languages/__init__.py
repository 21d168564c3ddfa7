"""Language packs: all wording of generated scenarios, one folder per language."""

from functools import cache
from pathlib import Path

from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.languages.pack import Wording
from amemgym_envs.amemgym.languages.reading import read_pack
from amemgym_envs.amemgym.languages.variable import DIRECTNESS, PHRASINGS, SPLITS, Variable, phrased

__all__ = ["DIRECTNESS", "FOLDER", "PHRASINGS", "SPLITS", "Variable", "Wording", "languages", "pack_folder", "phrased", "wording"]
FOLDER = Path(__file__).parent


def languages() -> list[str]:
    """The languages that come with the package."""
    return sorted(path.parent.name for path in FOLDER.glob("*/talk.yaml"))


def pack_folder(language: str) -> Path:
    """The folder of a shipped language, or the folder itself where ``language`` is a path (it has a slash in it)."""
    folder = Path(language) if "/" in language else FOLDER / language
    if not (folder / "talk.yaml").is_file():
        expected = f"one of {', '.join(languages())}, or ./a/folder with a talk.yaml"
        where = f" (looked for in {Path.cwd()}: go to the folder that the data was made in, or name an absolute path)"
        raise ScenarioError(f"language is {language!r}, expected {expected}{where if '/' in language else ''}")
    return folder


@cache
def wording(language: str = "en") -> Wording:
    """A language pack, read once per process."""
    return read_pack(pack_folder(language))
