"""Academia: questions about papers and their authors, answered by walking a citation graph and a co-author graph."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from amemgym_envs.academia.questions import QUESTIONS
from amemgym_envs.academia.world import SEED, Literature, literature
from amemgym_envs.core import EnvCard
from amemgym_envs.toolkit import Parameter, Tool, ToolEnv, ToolError, ToolTask, catalogue

COUNTS = {"train": 14, "validation": 3, "test": 3}  # tasks of each kind
PAPER_NET, AUTHOR_NET = "PaperNet", "AuthorNet"


class Desk:
    """The literature, and which of its two graphs are loaded."""

    def __init__(self, graph: Literature) -> None:
        self.graph = graph
        self.loaded: set[str] = set()

    def load(self, net: str) -> str:
        self.loaded.add(net)
        return f"{net} is loaded."

    def nodes(self, net: str) -> Mapping[str, Any]:
        """The papers or authors of ``net``. ToolError: it is not loaded, or there is none of that name."""
        if net not in (PAPER_NET, AUTHOR_NET):
            raise ToolError(f"there is no graph {net[:40]!r}; there are {PAPER_NET} and {AUTHOR_NET}")
        if net not in self.loaded:
            raise ToolError(f"{net} is not loaded; call load{net} first")
        return self.graph.papers if net == PAPER_NET else self.graph.authors

    def node(self, net: str, name: str) -> Any:
        """The paper or author called ``name``, in any case. ToolError: there is none."""
        nodes = self.nodes(net)
        wanted = name.strip().casefold()
        found = nodes.get(name) or next((node for known, node in nodes.items() if known.casefold() == wanted), None)
        if found is None:
            kind = "paper has the title" if net == PAPER_NET else "author has the name"
            raise ToolError(f"no {kind} {name[:120]!r} in {net}; it must be written in full")
        return found


def neighbours(desk: Desk, graph: str, node: str) -> list[str]:
    found = desk.node(graph, node)
    return desk.graph.linked(found.title) if graph == PAPER_NET else desk.graph.coauthors(found.name)


def paper(desk: Desk, node: str) -> dict[str, Any]:
    found = desk.node(PAPER_NET, node)
    return {"title": found.title, "authors": list(found.authors), "year": found.year, "venue": found.venue, "pages": found.pages,
            "keywords": list(found.keywords), "abstract": found.abstract, "references": len(desk.graph.cites[found.title]),
            "citations": len(desk.graph.cited_by[found.title])}


def author(desk: Desk, node: str) -> dict[str, Any]:
    found = desk.node(AUTHOR_NET, node)
    return {"name": found.name, "organization": found.organization, "interests": list(found.interests),
            "papers": len(desk.graph.written[found.name])}


def joint_papers(desk: Desk, node1: str, node2: str) -> dict[str, Any]:
    papers = desk.graph.joint(desk.node(AUTHOR_NET, node1).name, desk.node(AUTHOR_NET, node2).name)
    return {"count": len(papers), "papers": list(papers)}


def some(values: Callable[[], Sequence[str]]) -> Callable[[np.random.Generator], str]:
    """A draw of one of ``values``, which are not made before they are needed."""

    def draw(rng: np.random.Generator) -> str:
        known = values()
        return known[int(rng.integers(len(known)))]

    return draw


def author_parameter(name: str) -> Parameter:
    return Parameter(name, "string", "the full name of the author", draw=some(lambda: list(literature().authors)))


PAPER = Parameter("node", "string", "the full title of the paper", draw=some(lambda: list(literature().papers)))
NET = Parameter("graph", "string", f"{PAPER_NET} or {AUTHOR_NET}", draw=some(lambda: (PAPER_NET, AUTHOR_NET)))
NODE = Parameter("node", "string", "the full title of a paper or the full name of an author",
                 draw=some(lambda: [*literature().papers, *literature().authors]))
TOOLS = catalogue(
    Tool("loadPaperNet", f"Loads {PAPER_NET}: papers, linked where one cites the other.", (), "that it is loaded",
         lambda desk: desk.load(PAPER_NET)),
    Tool("loadAuthorNet", f"Loads {AUTHOR_NET}: authors, linked where they have written a paper together.", (),
         "that it is loaded", lambda desk: desk.load(AUTHOR_NET)),
    Tool("neighbourCheck", "Lists what a node is linked with.", (NET, NODE), "list of titles or of names", neighbours),
    Tool("paperNodeCheck", f"Gives the facts of a paper in {PAPER_NET}.", (PAPER,),
         "title, authors in order, year, venue, pages, keywords, abstract, numbers of papers cited and citing", paper),
    Tool("authorNodeCheck", f"Gives the facts of an author in {AUTHOR_NET}.", (author_parameter("node"),),
         "name, organization, interests, number of papers", author),
    Tool("authorEdgeCheck", f"Tells what two authors in {AUTHOR_NET} have written together.",
         (author_parameter("node1"), author_parameter("node2")), "number and titles of papers", joint_papers),
)


class AcademiaEnv(ToolEnv):
    """``world``: another ``Literature`` than the built-in one, with tasks that hold there."""

    card: ClassVar[EnvCard] = EnvCard(
        id="Academia-v0",
        summary="Answer a question about papers and authors with tools that walk a citation and a co-author graph.",
        tasks="questions of one to three hops about a generated literature",
        splits={split: count * len(QUESTIONS.kinds) for split, count in COUNTS.items()},
        score=(0.0, 1.0),
        success="the answer given to finish is the expected one",
        step_cap=12,
        grammar='tool with Action Input: {"parameter": value}',
    )
    role = (f"You answer questions about papers and their authors by two graphs: {PAPER_NET}, in which papers are linked by "
            f"citations, and {AUTHOR_NET}, in which authors are linked by papers that they have written together.")
    advice = (
        "A graph must be loaded before it is asked. The papers and people are invented, so that nothing about them can be known "
        "from elsewhere. Titles and names are written exactly as the graphs have them, in calls and in answers. An answer that "
        "is a number is given as a number, an answer that is a list as a list of strings."
    )
    tools = TOOLS

    @classmethod
    def make_tasks(cls) -> Mapping[str, Sequence[ToolTask]]:
        return QUESTIONS.deal(literature(), SEED, COUNTS)

    def open(self, task: ToolTask) -> Desk:
        return Desk(literature() if self.world is None else self.world)
