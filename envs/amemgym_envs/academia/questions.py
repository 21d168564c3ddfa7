"""Questions about papers and their authors: what is asked, the one right answer, and the calls by which it is found."""

from random import Random

from amemgym_envs.academia.world import Literature, Paper
from amemgym_envs.toolkit import Call
from amemgym_envs.toolkit.questions import Question, Questions

QUESTIONS: Questions[Literature] = Questions()
PAPERS = Call("loadPaperNet", {})
AUTHORS = Call("loadAuthorNet", {})


def paper_node(title: str) -> Call:
    return Call("paperNodeCheck", {"node": title})


def author_node(name: str) -> Call:
    return Call("authorNodeCheck", {"node": name})


def linked_papers(title: str) -> Call:
    return Call("neighbourCheck", {"graph": "PaperNet", "node": title})


def coauthors(name: str) -> Call:
    return Call("neighbourCheck", {"graph": "AuthorNet", "node": name})


def edge(first: str, second: str) -> Call:
    return Call("authorEdgeCheck", {"node1": first, "node2": second})


def a_paper(graph: Literature, rng: Random) -> Paper:
    return rng.choice(list(graph.papers.values()))


def an_author(graph: Literature, rng: Random) -> str:
    return rng.choice(list(graph.authors))


def a_pair(graph: Literature, rng: Random) -> tuple[str, str]:
    """Two who have written together, in the order of their names: a pair is asked about one way round only."""
    first = an_author(graph, rng)
    first, second = sorted((first, rng.choice(graph.coauthors(first))))
    return first, second


def only(values: dict[str, int], best: int) -> str | None:
    """Whose value is ``best``, if it is one alone."""
    found = [name for name, value in values.items() if value == best]
    return found[0] if len(found) == 1 else None


# One hop.


@QUESTIONS.kind("1 hop")
def about_paper(graph: Literature, rng: Random) -> Question:
    paper = a_paper(graph, rng)
    one = f"the paper '{paper.title}'"
    ask, answer = rng.choice((
        (f"In which year did {one} appear?", paper.year),
        (f"At which venue did {one} appear?", paper.venue),
        (f"How many authors does {one} have?", len(paper.authors)),
        (f"Who wrote {one}? Answer with a list of names.", list(paper.authors)),
        (f"Which keywords does {one} have? Answer with a list.", list(paper.keywords)),
        (f"On which pages of its volume does {one} stand? Answer as first-last.", paper.pages),
    ))
    return Question(ask, answer, [PAPERS, paper_node(paper.title)])


@QUESTIONS.kind("1 hop")
def about_author(graph: Literature, rng: Random) -> Question:
    author = graph.authors[an_author(graph, rng)]
    ask, answer = rng.choice((
        (f"Which organization does {author.name} belong to?", author.organization),
        (f"What are the interests of {author.name}? Answer with a list.", list(author.interests)),
        (f"How many papers has {author.name} written?", len(graph.written[author.name])),
    ))
    return Question(ask, answer, [AUTHORS, author_node(author.name)])


@QUESTIONS.kind("1 hop")
def about_coauthors(graph: Literature, rng: Random) -> Question:
    name = an_author(graph, rng)
    others = graph.coauthors(name)
    if rng.random() < 0.5:
        return Question(f"How many co-authors does {name} have?", len(others), [AUTHORS, coauthors(name)])
    return Question(f"Who are the co-authors of {name}? Answer with a list of names.", others, [AUTHORS, coauthors(name)])


@QUESTIONS.kind("1 hop")
def about_pair(graph: Literature, rng: Random) -> Question:
    first, second = a_pair(graph, rng)
    papers = graph.joint(first, second)
    calls = [AUTHORS, edge(first, second)]
    if rng.random() < 0.5:
        return Question(f"How many papers have {first} and {second} written together?", len(papers), calls)
    return Question(f"Which papers have {first} and {second} written together? Answer with a list of titles.", papers, calls)


@QUESTIONS.kind("1 hop")
def link_count(graph: Literature, rng: Random) -> Question:
    title = a_paper(graph, rng).title
    ask = f"With how many papers of the paper net is '{title}' linked by a citation, in either direction?"
    return Question(ask, len(graph.linked(title)), [PAPERS, linked_papers(title)])


# Two hops.


@QUESTIONS.kind("2 hops")
def home_of_author(graph: Literature, rng: Random) -> Question:
    paper = a_paper(graph, rng)
    place, name = rng.choice((("first", paper.authors[0]), ("last", paper.authors[-1])))
    ask = f"Which organization does the {place} author of the paper '{paper.title}' belong to?"
    return Question(ask, graph.authors[name].organization, [PAPERS, paper_node(paper.title), AUTHORS, author_node(name)])


@QUESTIONS.kind("2 hops")
def shared_coauthors(graph: Literature, rng: Random) -> Question | None:
    first, second = sorted((an_author(graph, rng), an_author(graph, rng)))
    both = [name for name in graph.coauthors(first) if name in graph.coauthors(second)]
    if first == second or not both:
        return None
    calls = [AUTHORS, coauthors(first), coauthors(second)]
    if rng.random() < 0.5:
        return Question(f"How many co-authors do {first} and {second} have in common?", len(both), calls)
    return Question(f"Which co-authors do {first} and {second} have in common? Answer with a list of names.", both, calls)


@QUESTIONS.kind("2 hops")
def shared_links(graph: Literature, rng: Random) -> Question | None:
    first = a_paper(graph, rng).title
    between = graph.linked(rng.choice(graph.linked(first)))
    first, second = sorted((first, rng.choice(between)))
    both = [title for title in graph.linked(first) if title in graph.linked(second)]
    if first == second:
        return None
    ask = f"Which papers are linked by a citation both with '{first}' and with '{second}'? Answer with a list of titles."
    return Question(ask, both, [PAPERS, linked_papers(first), linked_papers(second)])


@QUESTIONS.kind("2 hops")
def joint_of_authors(graph: Literature, rng: Random) -> Question:
    paper = a_paper(graph, rng)
    first, last = paper.authors[0], paper.authors[-1]
    ask = f"How many papers have the first and the last author of '{paper.title}' written together, this one included?"
    return Question(ask, len(graph.joint(first, last)), [PAPERS, paper_node(paper.title), AUTHORS, edge(first, last)])


@QUESTIONS.kind("2 hops")
def coauthors_of_author(graph: Literature, rng: Random) -> Question:
    paper = a_paper(graph, rng)
    place, name = rng.choice((("first", paper.authors[0]), ("last", paper.authors[-1])))
    ask = f"How many co-authors does the {place} author of the paper '{paper.title}' have?"
    return Question(ask, len(graph.coauthors(name)), [PAPERS, paper_node(paper.title), AUTHORS, coauthors(name)])


@QUESTIONS.kind("2 hops")
def year_of_joint(graph: Literature, rng: Random) -> Question | None:
    first, second = a_pair(graph, rng)
    papers = graph.joint(first, second)
    if len(papers) != 1:
        return None
    paper = graph.papers[papers[0]]
    ask, answer = rng.choice((("In which year did", paper.year), ("At which venue did", paper.venue)))
    return Question(f"{ask} the only paper appear that {first} and {second} have written together?", answer, [
        AUTHORS, edge(first, second), PAPERS, paper_node(paper.title)])


# Three hops and more: neighbours are found, each is looked up, and they are compared.


@QUESTIONS.kind("3 hops")
def extreme_link(graph: Literature, rng: Random) -> Question | None:
    title = a_paper(graph, rng).title
    years = {other: graph.papers[other].year for other in graph.linked(title)}
    word, best = rng.choice((("earliest", min(years.values())), ("latest", max(years.values()))))
    answer = only(years, best)
    if answer is None or not 2 <= len(years) <= 7:
        return None
    ask = f"Which of the papers that are linked by a citation with '{title}' appeared {word}? Answer with its title."
    return Question(ask, answer, [PAPERS, linked_papers(title), *map(paper_node, years)])


@QUESTIONS.kind("3 hops")
def links_at_venue(graph: Literature, rng: Random) -> Question | None:
    title = a_paper(graph, rng).title
    others = graph.linked(title)
    venue = graph.papers[rng.choice(others)].venue
    if not 2 <= len(others) <= 7:
        return None
    answer = sum(graph.papers[other].venue == venue for other in others)
    ask = f"How many of the papers that are linked by a citation with '{title}' appeared at the {venue}?"
    return Question(ask, answer, [PAPERS, linked_papers(title), *map(paper_node, others)])


@QUESTIONS.kind("3 hops")
def closest_coauthor(graph: Literature, rng: Random) -> Question | None:
    name = an_author(graph, rng)
    counts = {other: len(graph.joint(name, other)) for other in graph.coauthors(name)}
    answer = only(counts, max(counts.values()))
    if answer is None or not 2 <= len(counts) <= 7:
        return None
    ask = f"With whom has {name} written the most papers?"
    return Question(ask, answer, [AUTHORS, coauthors(name), *(edge(name, other) for other in counts)])


@QUESTIONS.kind("3 hops")
def busiest_author(graph: Literature, rng: Random) -> Question | None:
    paper = a_paper(graph, rng)
    counts = {name: len(graph.written[name]) for name in paper.authors}
    answer = only(counts, max(counts.values()))
    if answer is None:
        return None
    ask = f"Which author of the paper '{paper.title}' has written the most papers?"
    return Question(ask, answer, [PAPERS, paper_node(paper.title), AUTHORS, *map(author_node, counts)])


@QUESTIONS.kind("3 hops")
def home_of_earliest(graph: Literature, rng: Random) -> Question | None:
    first, second = a_pair(graph, rng)
    years = {title: graph.papers[title].year for title in graph.joint(first, second)}
    answer = only(years, min(years.values()))
    if answer is None or len(years) < 2:
        return None
    name = graph.papers[answer].authors[0]
    ask = (f"Take the earliest paper that {first} and {second} have written together: which organization does its first "
           "author belong to?")
    calls = [AUTHORS, edge(first, second), PAPERS, *map(paper_node, years), author_node(name)]
    return Question(ask, graph.authors[name].organization, calls)
