"""An invented continent: its countries, towns, rivers, people, firms, works and events, with facts that agree with each other."""

from collections import defaultdict
from dataclasses import dataclass, field

from amemgym_envs.searchqa.names import LANDS, PEAKS, PLACES, WATERS, Dice, Names

SEED = 20_240_229
TODAY = 2020
COUNTS = {
    "country": 8, "mountain": 56, "river": 64, "town": 120, "person": 460, "university": 24, "company": 80, "building": 80,
    "novel": 90, "painting": 60, "opera": 40, "film": 60, "festival": 40, "expedition": 36, "prize": 24, "newspaper": 32,
}  # fmt: skip
MONTHS = "January February March April May June July August September October November December".split()
SEAS = ("the Sea of Glass", "the Northern Ocean", "the Gulf of Herons", "the Amber Sea", "Lake Mirrow")
CRAFTS = "glass lace clocks cheese bells kites paper saddles honey pottery carpets knives candles salt cider rope".split()
PRODUCTS = (
    "bicycles lamps tractors umbrellas pianos telescopes matches biscuits toys typewriters stoves boats soap ink locks "
    "tents"
).split()
FIRMS = ("Works", "Brothers", "Trading Company", "Manufactory", "Mills")
LANGUAGES = "Orvish Keltic-Orvish Marnish Sallic Tovian Dunnish Perran Ulvic".split()
COINS = "crown florin taler mark denar gulden penning ducat".split()
WORKS = {"novelist": "novel", "painter": "painting", "composer": "opera", "film director": "film"}
BIRTHS = {"politician": (1945, 1985), "film director": (1905, 1980), "actor": (1905, 1985)}
WITH_ARTICLE = ("river", "building", "university", "festival", "expedition", "prize", "company", "newspaper")
TRADES = (*WORKS, "architect", "explorer", "merchant", "scholar", "politician", "politician", "actor")


@dataclass(eq=False)
class Thing:
    """Whatever a fact is about or leads to. A year or a length is a thing without facts of its own."""

    kind: str
    name: str
    also: tuple[str, ...] = ()  # other names that are right answers
    number: int = 0  # what comparisons look at
    facts: dict[str, "Thing"] = field(default_factory=dict, repr=False)
    traits: dict[str, str] = field(default_factory=dict)  # what its article says beside the facts

    @property
    def mention(self) -> str:
        """The thing inside a sentence."""
        return f"the {self.kind} {self.label}" if self.kind in WORKS.values() else self.label

    @property
    def label(self) -> str:
        """The name as it is written in a text."""
        if self.kind in WORKS.values():
            return f'"{self.name}"'
        return f"the {self.name}" if self.kind in WITH_ARTICLE else self.name


def year(number: int) -> Thing:
    return Thing("year", str(number), number=number)


def word(text: str) -> Thing:
    return Thing("word", text)


def measure(number: int, short: str, long: str) -> Thing:
    return Thing("measure", f"{number:,} {short}", (f"{number:,}", f"{number:,} {long}", f"{number:,}{short}"), number)


def date(dice: Dice, year: int) -> Thing:
    month, day = dice.between(1, 12), dice.between(1, 28)
    name = MONTHS[month - 1]
    other = (f"{name} {day}, {year}", f"{year}-{month:02}-{day:02}", f"{day:02}.{month:02}.{year}")
    return Thing("date", f"{day} {name} {year}", other, year * 10_000 + month * 100 + day)


class World:
    """``of[kind]``: all things of a kind. The same seed gives the same world."""

    def __init__(self, seed: int = SEED) -> None:
        self._dice, self.of = Dice(seed), defaultdict(list)
        self._names = Names(self._dice)
        self._lands()
        self._people()
        self._offices()
        self._foundations()
        self._works()
        self._undertakings()

    @property
    def things(self) -> list[Thing]:
        return [thing for things in self.of.values() for thing in things]

    def _add(self, kind: str, name: str, also: tuple[str, ...] = (), number: int = 0) -> Thing:
        self.of[kind].append(thing := Thing(kind, name, also, number))
        return thing

    def _lands(self) -> None:
        dice, names = self._dice, self._names
        for place in range(COUNTS["country"]):
            self._add("country", names.word(LANDS)).facts.update(
                founded=year(dice.between(1210, 1690)), currency=word(COINS[place]), language=word(LANGUAGES[place])
            )
        for place in range(COUNTS["mountain"]):
            stem, country = names.word(PEAKS), self.of["country"][place % len(self.of["country"])]
            self._add("mountain", f"Mount {stem}", (stem,)).facts.update(
                country=country, height=measure(dice.between(800, 5900), "m", "metres")
            )
        for place in range(COUNTS["river"]):
            stem, source = names.word(WATERS), self.of["mountain"][place % len(self.of["mountain"])]
            into = dice.pick(self.of["river"]) if place > 12 and dice.chance(0.7) else Thing("sea", dice.pick(SEAS))
            self._add("river", f"River {stem}", (stem, f"{stem} River")).facts.update(
                country=source.facts["country"],
                source=source,
                mouth=into,
                length=measure(dice.between(31, 1790), "km", "kilometres"),
            )
        for country in self.of["country"]:
            for key, kind, number in (("longest", "river", "length"), ("highest", "mountain", "height")):
                there = [thing for thing in self.of[kind] if thing.facts["country"] is country]
                country.facts[key] = max(there, key=lambda thing: thing.facts[number].number)
        for place in range(COUNTS["town"]):
            country = self.of["country"][place % len(self.of["country"])]
            town = self._add("town", names.word(PLACES))
            number = dice.between(2_100, 890_000)
            town.facts.update(
                country=country,
                founded=year(country.facts["founded"].number + dice.between(5, 150)),
                population=Thing("number", f"{number:,}", number=number),
                craft=word(dice.pick(CRAFTS)),
            )
            if dice.chance(0.7):
                town.facts["river"] = dice.pick([river for river in self.of["river"] if river.facts["country"] is country])
            country.facts.setdefault("capital", town)
        towns = dice.shuffled(self.of["town"])
        for one, other in zip(towns[::2], towns[1::2], strict=True):
            if one.facts["country"] is not other.facts["country"]:
                one.facts["twin"], other.facts["twin"] = other, one

    def _people(self) -> None:
        dice = self._dice
        for place in range(COUNTS["person"]):
            woman, trade = dice.chance(0.5), TRADES[place % len(TRADES)]
            born = dice.between(*BIRTHS.get(trade, (1760, 1975)))
            death = born + dice.between(60, 92)
            person = self._add("person", self._names.person(woman))
            person.number = min(death, TODAY)  # the last year in which it can do anything
            was = "was" if death < TODAY else "is"
            person.traits = {"trade": trade, "it": "She" if woman else "He", "his": "Her" if woman else "His", "was": was}
            person.facts.update(born=date(dice, born), birthplace=dice.pick(self.of["town"]))
            if was == "was":
                person.facts["died"] = dice.pick(self.of["town"])
        for person in self.of["person"]:
            self._ties(person)

    def _ties(self, person: Thing) -> None:
        """A teacher, who is older and not dead too early, and a spouse of about the same age."""
        dice, born = self._dice, self.born
        later = {other: born(person) - born(other) for other in self.of["person"] if other is not person}
        elders = [other for other, years in later.items() if 15 < years < 45 and other.number > born(person) + 17]
        if elders and dice.chance(0.6):
            person.facts["teacher"] = dice.pick(elders)
        free = [other for other, years in later.items() if abs(years) < 9 and "spouse" not in other.facts]
        if free and "spouse" not in person.facts and dice.chance(0.5):
            person.facts["spouse"] = other = dice.pick(free)
            other.facts["spouse"] = person

    @staticmethod
    def born(person: Thing) -> int:
        return person.facts["born"].number // 10_000

    def _with(self, *trades: str) -> list[Thing]:
        return [person for person in self.of["person"] if person.traits["trade"] in trades]

    def _living(self, *trades: str) -> list[Thing]:
        return [person for person in self._with(*trades) if person.traits["was"] == "is"]

    def _during(self, person: Thing) -> int:
        """A year in which ``person`` is grown up and alive."""
        return self._dice.between(self.born(person) + 24, person.number - 2)

    def _offices(self) -> None:
        politicians, dice = iter(self._dice.shuffled(self._living("politician"))), self._dice
        for country in self.of["country"]:
            country.facts["president"] = next(politicians)
        for town in dice.shuffled(self.of["town"]):
            if mayor := next(politicians, None):
                town.facts["mayor"] = mayor
        for mountain in self.of["mountain"]:
            climber = dice.pick(self._with("explorer"))
            mountain.facts.update(climber=climber, climbed=year(self._during(climber)))

    def _founded(self, thing: Thing, *trades: str) -> None:
        founder = self._dice.pick(self._with(*trades))
        thing.facts.update(founder=founder, founded=year(self._during(founder)))

    def _foundations(self) -> None:
        dice = self._dice
        living = self._living("scholar", "merchant", "actor", "novelist")
        for town in dice.shuffled(self.of["town"])[: COUNTS["university"]]:
            university = self._add("university", f"University of {town.name}", (f"{town.name} University",))
            self._founded(university, "merchant", "scholar")
            university.facts.update(town=town, rector=dice.pick(living))
        for person in self.of["person"]:
            past = [one for one in self.of["university"] if one.facts["founded"].number < self.born(person) + 17]
            if past and dice.chance(0.7):
                person.facts["school"] = dice.pick(past)
        for place in range(COUNTS["company"]):
            stem = self._names.word(PLACES)
            name, product = ("Press", "books") if place % 4 == 0 else (dice.pick(FIRMS), dice.pick(PRODUCTS))
            company = self._add("company", f"{stem} {name}")
            self._founded(company, "merchant")
            company.facts.update(product=word(product), seat=dice.pick(self.of["town"]), chief=dice.pick(living))
        for place in range(COUNTS["building"]):
            sort = ("museum", "theatre", "library", "lighthouse")[place % 4]
            building = self._add("building", f"{self._names.word(PLACES)} {sort.title()}")
            architect = dice.pick(self._with("architect"))
            building.traits["sort"] = sort
            building.facts.update(town=dice.pick(self.of["town"]), architect=architect, opened=year(self._during(architect)))

    def _works(self) -> None:
        dice, towns = self._dice, self.of["town"]
        houses = [company for company in self.of["company"] if company.facts["product"].name == "books"]
        halls = {sort: [hall for hall in self.of["building"] if hall.traits["sort"] == sort] for sort in ("museum", "theatre")}
        for trade, kind in WORKS.items():
            makers = dice.shuffled(self._with(trade))
            for place in range(COUNTS[kind]):
                maker, work = makers[place % len(makers)], self._add(kind, self._names.title())
                work.facts["year"] = made = year(self._during(maker))
                maker.facts.setdefault("known", work)
                if kind == "novel":
                    work.facts.update(author=maker, setting=dice.pick(towns))
                    self._some(work, "publisher", [house for house in houses if house.facts["founded"].number <= made.number])
                elif kind == "painting":
                    work.facts.update(painter=maker, museum=dice.pick(halls["museum"]), shows=dice.pick(self.of["mountain"]))
                elif kind == "opera":
                    work.facts["composer"] = maker
                    self._some(work, "theatre", [hall for hall in halls["theatre"] if hall.facts["opened"].number <= made.number])
                    self._some(work, "source", [novel for novel in self.of["novel"] if novel.facts["year"].number < made.number])
                else:
                    work.facts.update(director=maker, shot=dice.pick(towns))
                    actors = self._with("actor")
                    self._some(work, "actor", [one for one in actors if self.born(one) + 15 < made.number < one.number])

    def _some(self, thing: Thing, key: str, choice: list[Thing]) -> None:
        """A fact that is left out where nothing fits it."""
        if choice:
            thing.facts[key] = self._dice.pick(choice)

    def _undertakings(self) -> None:
        dice, names = self._dice, self._names
        living = self._living("scholar", "merchant", "novelist")
        for _ in range(COUNTS["festival"]):
            festival = self._add("festival", f"{names.word(PLACES)} Festival")
            self._founded(festival, "actor", "composer", "merchant")
            festival.facts.update(month=word(dice.pick(MONTHS)), town=dice.pick(self.of["town"]))
        for _ in range(COUNTS["expedition"]):
            expedition, leader = self._add("expedition", f"{names.word(WATERS)} Expedition"), dice.pick(self._with("explorer"))
            expedition.facts.update(year=year(self._during(leader)), leader=leader, goal=dice.pick(self.of["river"]))
            now = expedition.facts["year"].number
            self._some(expedition, "sponsor", [firm for firm in self.of["company"] if firm.facts["founded"].number <= now])
        for _ in range(COUNTS["prize"]):
            prize, winner = self._add("prize", f"{names.word(PEAKS)} Prize"), dice.pick(self._with("scholar", *WORKS))
            prize.facts.update(year=year(self._during(winner)), winner=winner)
            now = prize.facts["year"].number
            self._some(prize, "giver", [one for one in self.of["university"] if one.facts["founded"].number <= now])
        for _ in range(COUNTS["newspaper"]):
            newspaper = self._add("newspaper", f"{names.word(PLACES)} {dice.pick(('Courier', 'Gazette', 'Herald', 'Observer'))}")
            self._founded(newspaper, "merchant", "novelist")
            newspaper.facts.update(town=dice.pick(self.of["town"]), editor=dice.pick(living))
