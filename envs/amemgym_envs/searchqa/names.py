"""Invented proper names, and a die that rolls the same under every version of Python."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

Item = TypeVar("Item")

STARTS = (
    "Al Ar Bar Bel Bran Cal Cor Dal Dor El Far Fen Gal Gor Hal Har Hol Il Jor Kal Kel Kor Lan Lor Mar Mel Mor Nor Ol Or Per "
    "Pol Quin Ral Ren Ros Sal Sel Sor Tal Tor Ul Val Ver Vol Wel Wil Yar Zel"
).split()
MIDDLES = ("", "", "a", "e", "i", "o", "an", "en", "il", "or", "un", "av", "est", "im")
PLACES = "bury dal den fell ford gard ham holm mere mond mouth rick stad ton vale vik wick worth".split()
WATERS = "ba dra la lune mis na nis ra ris sa ve ya".split()
PEAKS = "dar gath horn kar moth nar rag spire tor zan".split()
SURNAMES = "bek cott dahl der gren kin lund man mark nell quist ric sen ster tov vane well wyn".split()
LANDS = "avia ania eria essia land mark oria uria".split()
WOMEN = (
    "Adela Brisa Celine Dorit Edina Fenna Gisela Hanne Ilva Jorinde Katla Livia Mirel Nadja Odile Petra Quilla Runa Sanna "
    "Tilde Ursa Vilma Willa Ysolde Zora Anneli Berit Corva Dalia Elmira"
).split()
MEN = (
    "Aldo Bertil Casper Doran Emil Falk Gregor Hakon Ivo Jaromir Klaas Leif Matteo Nils Oskar Piet Quirin Rurik Stellan "
    "Tavish Ulrik Valter Wendel Yorick Zoltan Anders Bram Corin Dirk Enzo"
).split()
SHADES = (
    "Amber Bitter Broken Burning Crooked Distant Empty Frozen Gilded Hidden Hollow Iron Ivory Last Lost Narrow Painted Pale "
    "Patient Quiet Restless Salted Scarlet Second Silent Sleeping Stolen Sunken Tall Twelfth Velvet Wandering White Wooden"
).split()
NOUNS = (
    "Anchor Apple Arrow Beacon Bell Bridge Candle Carpet Clock Comet Compass Crown Door Feather Ferry Garden Harvest Island "
    "Key Ladder Lantern Letter Mirror Moth Orchard Oven Parade Pilgrim Raven Road Shepherd Staircase Sparrow Thistle Tide "
    "Visitor"
).split()


class Dice:
    """Draws by ``Random.random`` alone, the one method whose sequence Python promises to keep."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed).random

    def chance(self, share: float) -> bool:
        return self._random() < share

    def between(self, lowest: int, highest: int) -> int:
        return lowest + int(self._random() * (highest - lowest + 1))

    def pick(self, items: Sequence[Item]) -> Item:
        return items[self.between(0, len(items) - 1)]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        keys = [self._random() for _ in items]
        return [items[place] for place in sorted(range(len(items)), key=keys.__getitem__)]


class Names:
    """Names of every sort; none is given twice."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._given: set[str] = set()

    def word(self, ends: Sequence[str]) -> str:
        """A name of one word, such as a town's."""
        return self._new(lambda: self._dice.pick(STARTS) + self._dice.pick(MIDDLES) + self._dice.pick(ends))

    def person(self, woman: bool) -> str:
        first = WOMEN if woman else MEN
        return self._new(lambda: f"{self._dice.pick(first)} {self._dice.pick(STARTS) + self._dice.pick(SURNAMES)}")

    def title(self) -> str:
        """The title of a work."""
        return self._new(lambda: f"The {self._dice.pick(SHADES)} {self._dice.pick(NOUNS)}")

    def _new(self, draw) -> str:
        while (name := draw()) in self._given:
            pass
        self._given.add(name)
        return name
