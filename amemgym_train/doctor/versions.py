"""Python and the packages, against the versions that the tests run with."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from amemgym_train.doctor.finding import Finding, green, red, yellow

if TYPE_CHECKING:  # a recipe needs packages, whose absence is to be told here
    from amemgym_train.config.recipe import Recipe

NAME = "packages"
LEAST = (3, 11)
TESTED = Path(__file__).with_name("tested.txt")


@dataclass(frozen=True)
class Package:
    """``allowed``: a specifier such as ">=1.16,<2"; ``tested``: one version; ``extra``: of this toolkit, "" for none."""

    name: str
    allowed: str
    tested: str
    extra: str = ""

    @property
    def install(self) -> str:
        return f"pip install {quote(self.name + self.allowed)}"


def listed(path: Path = TESTED) -> list[Package]:
    """The packages that the toolkit uses."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Package(*line.split()) for line in lines if line and not line.startswith("#")]


def python(recipe: "Recipe | None") -> list[Finding]:
    """Whether this Python is one that the toolkit runs with."""
    found, least = sys.version.split()[0], ".".join(map(str, LEAST))
    if sys.version_info < LEAST:
        return [red("python", f"version {found}, expected at least {least}", f"python{least} -m venv .venv")]
    return [green("python", f"version {found}")]


def packages(recipe: "Recipe | None") -> list[Finding]:
    """Every required package is there in a version that works; those of extras, too, if they are there at all."""
    return list(compared(listed()))


def compared(wanted: list[Package]) -> Iterator[Finding]:
    """A red finding for each of ``wanted`` that is missing or does not work; else one for all of them."""
    from packaging.specifiers import SpecifierSet

    found = {package: _installed(package.name) for package in wanted}
    others, broken = [], 0
    for package, there in found.items():
        if there is None and not package.extra:
            yield red(NAME, f"{package.name} is not installed", package.install)
        elif there is not None and not SpecifierSet(package.allowed).contains(there, prereleases=True):
            yield red(NAME, f"{package.name} {there}, expected {package.allowed}", package.install)
        else:
            others += [] if there in (None, package.tested) else [f"{package.name} {there} ({package.tested})"]
            continue
        broken += 1
    if others:
        yield yellow(NAME, f"other versions than the tests run with (in brackets): {', '.join(others)}")
    elif not broken:
        yield green(NAME, f"{sum(there is not None for there in found.values())} packages, all as the tests run with")


def _installed(name: str) -> str | None:
    """A package's version without its local tag, such as torch's +cpu."""
    try:
        return version(name).partition("+")[0]
    except PackageNotFoundError:
        return None
