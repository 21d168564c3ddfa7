"""Two graphs over the same literature, drawn from a seed: which paper cites which, and who has written with whom."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from random import Random

from amemgym_envs.academia import words

PAPERS, AUTHORS = 160, 110
FIRST_YEAR, LAST_YEAR = 2004, 2021
MOST_LINKS = 8  # of one paper in the citation graph
MOST_PAPERS = 7  # of one author
SEED = 30


@dataclass(frozen=True)
class Paper:
    title: str
    abstract: str
    keywords: tuple[str, ...]
    year: int
    venue: str
    pages: str  # "12-25"
    authors: tuple[str, ...]  # in the order of the paper


@dataclass(frozen=True)
class Author:
    name: str
    organization: str
    interests: tuple[str, ...]


@dataclass
class Literature:
    """Papers by title, authors by name, and for every paper what it cites. It is what ``AcademiaEnv`` asks; other graphs fit in
    where they give the same mappings."""

    papers: dict[str, Paper] = field(default_factory=dict)
    authors: dict[str, Author] = field(default_factory=dict)
    cites: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cited_by: dict[str, list[str]] = {title: [] for title in self.papers}
        for title, cited in self.cites.items():
            for other in cited:
                self.cited_by[other].append(title)
        self.together: dict[str, dict[str, list[str]]] = {name: {} for name in self.authors}  # co-authors and their joint papers
        self.written: dict[str, list[str]] = {name: [] for name in self.authors}
        for paper in self.papers.values():
            for name in paper.authors:
                self.written[name].append(paper.title)
                for other in paper.authors:
                    if other != name:
                        self.together[name].setdefault(other, []).append(paper.title)

    def linked(self, title: str) -> list[str]:
        """What the paper cites, then what cites it."""
        return [*self.cites[title], *self.cited_by[title]]

    def coauthors(self, name: str) -> list[str]:
        return list(self.together[name])

    def joint(self, first: str, second: str) -> list[str]:
        """The titles of the papers that both have written."""
        return self.together[first].get(second, [])


def authors(rng: Random) -> list[Author]:
    names = rng.sample([f"{first} {last}" for first in words.FIRST for last in words.LAST], AUTHORS)
    return [Author(name, rng.choice(words.ORGANIZATIONS), tuple(rng.sample(words.TASKS, rng.randint(2, 3)))) for name in names]


def team(rng: Random, everybody: list[Author], count: Counter) -> tuple[str, ...]:
    """Two to four authors, mostly of one group, who have written less than the most so far."""
    group = rng.randrange(0, len(everybody), 6)
    size = rng.randint(2, 4)
    near = [author.name for author in everybody[group:group + 6] if count[author.name] < MOST_PAPERS]
    chosen = rng.sample(near, min(len(near), size - rng.randint(0, 1)))
    far = [author.name for author in everybody if author.name not in chosen and count[author.name] < MOST_PAPERS]
    chosen += rng.sample(far, size - len(chosen))
    count.update(chosen)
    return tuple(chosen)


def papers(rng: Random, everybody: list[Author]) -> list[Paper]:
    """In the order of their years."""
    topics = rng.sample([(task, method) for task in words.TASKS for method in words.METHODS], PAPERS)
    years = sorted(rng.randint(FIRST_YEAR, LAST_YEAR) for _ in topics)
    count: Counter = Counter()
    made = []
    for (task, method), year in zip(topics, years, strict=True):
        manner, start = rng.choice(words.MANNERS), rng.randrange(1, 900)
        abstract = f"We study {task} with {method.lower()}. Our method {rng.choice(words.GAINS)}."
        made.append(Paper(f"{manner} {task.title()} with {method}", abstract, (task, method.lower(), manner.lower()), year,
                          rng.choice(words.VENUES), f"{start}-{start + rng.randint(5, 18)}", team(rng, everybody, count)))
    return made


def citations(rng: Random, ordered: list[Paper]) -> dict[str, tuple[str, ...]]:
    """Every paper cites up to four of earlier years, rather those on its task or with its method."""
    links: Counter = Counter()
    cites: dict[str, tuple[str, ...]] = {}
    for paper in ordered:
        earlier = [other for other in ordered if other.year < paper.year and links[other.title] < MOST_LINKS]
        near = [other for other in earlier if set(other.keywords[:2]) & set(paper.keywords[:2])]
        wanted = rng.randint(1, 4)
        chosen = rng.sample(near, min(len(near), wanted))
        rest = [other for other in earlier if other not in chosen]
        chosen += rng.sample(rest, min(len(rest), wanted - len(chosen)))
        cites[paper.title] = tuple(other.title for other in chosen)
        links.update(cites[paper.title])
        links[paper.title] += len(chosen)
    return cites


@cache
def literature(seed: int = SEED) -> Literature:
    """The literature of ``seed``; the same object at every call."""
    rng = Random(seed)
    everybody = authors(rng)
    ordered = papers(rng, everybody)
    writing = {name for paper in ordered for name in paper.authors}
    return Literature({paper.title: paper for paper in ordered},
                      {author.name: author for author in everybody if author.name in writing}, citations(rng, ordered))
