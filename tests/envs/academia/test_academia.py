"""The two graphs fit together, must be loaded, and the answers are what they say when they are asked another way."""

import re

import pytest

from amemgym_envs import make
from amemgym_envs.academia.environment import AcademiaEnv, Desk
from amemgym_envs.academia.world import MOST_LINKS, MOST_PAPERS, Literature, Paper, literature
from amemgym_envs.toolkit import ToolError

GRAPH = literature()


@pytest.fixture
def desk():
    return Desk(GRAPH)


@pytest.fixture
def use(desk):
    """Calls a tool at a desk where both graphs are loaded."""
    desk.load("PaperNet")
    desk.load("AuthorNet")
    return lambda tool, **arguments: AcademiaEnv.tools[tool].method(desk, **arguments)


def test_a_seed_draws_one_literature():
    first, again, other = ((made.papers, made.authors, made.cites) for made in map(literature.__wrapped__, (4, 4, 5)))
    assert first == again != other


def test_papers_cite_earlier_papers_only():
    for title, cited in GRAPH.cites.items():
        assert len(set(cited)) == len(cited)
        assert all(GRAPH.papers[other].year < GRAPH.papers[title].year for other in cited)


def test_links_go_both_ways_and_are_few_enough_to_be_walked():
    for title in GRAPH.papers:
        links = GRAPH.linked(title)
        assert 1 <= len(links) == len(set(links)) <= MOST_LINKS and all(title in GRAPH.linked(other) for other in links)
    for name in GRAPH.authors:
        assert name not in GRAPH.coauthors(name) and len(GRAPH.written[name]) <= MOST_PAPERS
        for other in GRAPH.coauthors(name):
            assert GRAPH.joint(name, other) == GRAPH.joint(other, name) != []


def test_what_nodes_say_is_what_the_edges_say(use):
    for title in GRAPH.papers:
        facts = use("paperNodeCheck", node=title)
        assert facts["references"] + facts["citations"] == len(use("neighbourCheck", graph="PaperNet", node=title))
        for name in facts["authors"]:
            rest = set(facts["authors"]) - {name}
            assert rest <= set(use("neighbourCheck", graph="AuthorNet", node=name))
            assert all(title in use("authorEdgeCheck", node1=name, node2=other)["papers"] for other in rest)
    for name in GRAPH.authors:
        assert use("authorNodeCheck", node=name)["papers"] == sum(name in paper.authors for paper in GRAPH.papers.values())


def test_a_graph_must_be_loaded_first(desk):
    tools = AcademiaEnv.tools
    with pytest.raises(ToolError, match="call loadPaperNet first"):
        tools["paperNodeCheck"].method(desk, node=next(iter(GRAPH.papers)))
    tools["loadPaperNet"].method(desk)
    assert tools["paperNodeCheck"].method(desk, node=next(iter(GRAPH.papers)))
    with pytest.raises(ToolError, match="call loadAuthorNet first"):
        tools["neighbourCheck"].method(desk, graph="AuthorNet", node=next(iter(GRAPH.authors)))


def test_every_episode_begins_with_nothing_loaded():
    env = make("Academia")
    for _ in range(2):
        env.reset(options={"task": "train-0"})
        assert env.session.loaded == set()
        env.step("loadPaperNet with Action Input: {}")
        assert env.session.loaded == {"PaperNet"}


def test_names_in_another_case_are_found_and_unknown_ones_explained(use):
    title, name = next(iter(GRAPH.papers)), next(iter(GRAPH.authors))
    assert use("paperNodeCheck", node=f" {title.upper()} ")["title"] == title
    assert use("authorNodeCheck", node=name.lower())["name"] == name
    with pytest.raises(ToolError, match="no paper has the title"):
        use("paperNodeCheck", node=name)
    with pytest.raises(ToolError, match="there is no graph 'papers'; there are PaperNet and AuthorNet"):
        use("neighbourCheck", graph="papers", node=title)


def test_two_who_have_written_nothing_together_share_no_papers(use):
    name = next(iter(GRAPH.authors))
    other = next(other for other in GRAPH.authors if other != name and other not in GRAPH.coauthors(name))
    assert use("authorEdgeCheck", node1=name, node2=other) == {"count": 0, "papers": []}


def test_another_literature_can_be_given(tmp_path):
    one = GRAPH.authors[next(iter(GRAPH.authors))]
    mine = Literature({"A": Paper("A", "", (), 2000, "V", "1-2", (one.name,))}, {one.name: one}, {"A": ()})
    path = tmp_path / "tasks.jsonl"
    path.write_text('{"goal": "g", "subgoals": [2000], "additional_info": {"answer": 2000}}\n')
    env = make("Academia", tasks=path, world=mine)
    env.reset(options={"task": "0"})
    env.step("loadPaperNet with Action Input: {}")
    env.step('paperNodeCheck with Action Input: {"node": "A"}')
    assert env.results[-1]["year"] == 2000


def year(title):
    return GRAPH.papers[title].year


def linked(title):
    return {other for other in GRAPH.papers if other in GRAPH.cites[title] or title in GRAPH.cites[other]}


def together(first, second):
    return [paper for paper in GRAPH.papers.values() if {first, second} <= set(paper.authors)]


CHECKS = {
    r"How many co-authors does (?!the )(.+) have\?": lambda name: len(
        {other for paper in GRAPH.papers.values() if name in paper.authors for other in paper.authors} - {name}),
    r"How many papers have (?!the )(.+) and (.+) written together\?": lambda first, second: len(together(first, second)),
    r"With how many papers of the paper net is '(.+)' linked .*": lambda title: len(linked(title)),
    r"Which of the papers that are linked by a citation with '(.+)' appeared earliest\? .*": lambda title: min(
        linked(title), key=year),
    r"How many of the papers that are linked by a citation with '(.+)' appeared at the (.+)\?": lambda title, venue: sum(
        GRAPH.papers[other].venue == venue for other in linked(title)),
    r"With whom has (.+) written the most papers\?": lambda name: max(
        (other for other in GRAPH.authors if other != name), key=lambda other: len(together(name, other))),
    r"Take the earliest paper that (.+) and (.+) have written together: .*": lambda first, second: GRAPH.authors[
        min(together(first, second), key=lambda paper: paper.year).authors[0]].organization,
    r"Which author of the paper '(.+)' has written the most papers\?": lambda title: max(
        GRAPH.papers[title].authors, key=lambda name: sum(name in paper.authors for paper in GRAPH.papers.values())),
}


@pytest.mark.parametrize("pattern", CHECKS)
def test_answers_are_those_of_the_graphs(pattern):
    env = make("Academia")
    tasks = [task for task in map(env.task_of, env.tasks) if re.fullmatch(pattern, task.goal)]
    assert tasks
    for task in tasks:
        assert CHECKS[pattern](*re.fullmatch(pattern, task.goal).groups()) == task.answer


def test_the_tasks_stay_what_they_are():
    first, last = (make("Academia").task_of(task) for task in ("train-0", "test-47"))
    assert first.goal == "In which year did the paper 'Incremental Map Routing with Attention Networks' appear?"
    assert last.goal.startswith("Take the earliest paper that Dorota Winter and Ilya Zeller have written together: ")
    assert (first.answer, last.answer) == (2010, "Institute of Technology Cedarton")
