"""Templates of moderate questions: tables joined, rows grouped, dates and shares."""

from amemgym_envs.bird.scene import Draft, Scene
from amemgym_envs.bird.schema import Link


def joined(link: Link, kind: str = "INNER", order: bool = True) -> str:
    """FROM with the child as T1 and the parent as T2; not ``order``: the parent first."""
    left, right = (f"{link.child.name} AS T1", f"{link.parent.name} AS T2")
    left, right = (left, right) if order else (right, left)
    return f"FROM {left} {kind} JOIN {right} ON T1.{link.column.name} = T2.{link.parent.key}"


def per_value(s: Scene) -> Draft:
    t = s.table("pick", key=False)
    c = s.column(t, "pick", full=True)
    f = s.filter(t, but=[c.name])
    wordings = (
        f"For each {c.label}, how many {t.plural} {f.text} are there? Give the {c.label} and the number.",
        f"Count the {t.plural} {f.text} by {c.label}. Return {c.label} and count, only where there is at least one.",
    )
    select, group = f"SELECT {c.name}, COUNT(*) FROM {t.name}", f"GROUP BY {c.name}"
    return Draft(wordings, f"{select} WHERE {f.on()} {group}", [f"{select} {group}"], [f.hint])


def through(s: Scene) -> Draft:
    link = s.link(parent=["pick"])
    child, parent = link.child, link.parent
    f = s.filter(parent)
    wordings = (
        f"How many {child.plural} {link.column.of} {parent.plural} {f.text} are there?",
        f"Count the {child.plural} {link.column.of} {parent.plural} {f.text}.",
    )
    return Draft(wordings, f"SELECT COUNT(*) {joined(link)} WHERE {f.on('T2')}", [f"SELECT COUNT(*) {joined(link)}"], [f.hint])


def averages(s: Scene) -> Draft:
    link = s.link(child=[s.pick(("int", "real"))], parent=["pick"])
    child, parent = link.child, link.parent
    n, c = s.column(child, "int", "real"), s.column(parent, "pick", full=True)
    f = s.filter(child, but=[n.name])
    wordings = (
        f"What is the average {n.label} of the {child.plural} {f.text}, for each {c.label} of the {parent.noun} they belong to "
        f"({child.plural} "
        f"{link.column.of} {parent.plural})? Give the {c.label} and the average, rounded to two decimals.",
        f"Group the {child.plural} {f.text} by the {c.label} of their {parent.noun} ({child.plural} {link.column.of} "
        f"{parent.plural}). Return "
        f"each {c.label} with the average {n.label}, rounded to two decimals.",
    )
    select, group = f"SELECT T2.{c.name}, ROUND(AVG(T1.{n.name}), 2) {joined(link)}", f"GROUP BY T2.{c.name}"
    return Draft(wordings, f"{select} WHERE {f.on('T1')} {group}", [f"{select} {group}"], [f.hint])


def busiest(s: Scene) -> Draft:
    link = s.named("pick")
    child, parent = link.child, link.parent
    f, title = s.filter(child), parent.title
    wordings = (
        f"Which {parent.noun} has the most {link.rows} {f.text}? Give the {title.label} and the number of those {link.rows}.",
        f"Find the {parent.noun} with the largest number of {link.rows} {f.text}. Return {title.label} and number.",
    )
    head, tail = f"SELECT T2.{title.name}, COUNT(*) {joined(link)}", f"GROUP BY T2.{parent.key} ORDER BY COUNT(*) DESC"
    return Draft(
        wordings,
        f"{head} WHERE {f.on('T1')} {tail} LIMIT 1",
        [f"{head} {tail} LIMIT 1"],
        [f.hint],
        (f"{head} WHERE {f.on('T1')} {tail}", 1),
    )


def monthly(s: Scene) -> Draft:
    t = s.table("date", "pick", key=False)
    d = s.column(t, "date")
    year, f = s.value(t, d.name)[:4], s.filter(t, "pick")
    wordings = (
        f"How many {t.plural} {f.text} are there in each month of {year}, by {d.label}? Give the month as YYYY-MM and the "
        "number, leaving out months "
        "without any.",
        f"For {year}, count the {t.plural} {f.text} by month of the {d.label}. Return the month (YYYY-MM) and the count where "
        "it is not zero.",
    )
    month = f"strftime('%Y-%m', {d.name})"
    select, group = f"SELECT {month}, COUNT(*) FROM {t.name} WHERE", f"GROUP BY {month}"
    dated = f"strftime('%Y', {d.name}) = '{year}'"
    return Draft(
        wordings, f"{select} {dated} AND {f.on()} {group}", [f"{select} {dated} {group}", f"{select} {f.on()} {group}"], [f.hint]
    )


def across(s: Scene) -> Draft:
    first = s.named()
    others = [link for link in s.schema.links if link.child is first.child and link.column != first.column]
    second = s.pick(link for link in others if link.parent.of_kind("pick"))
    child, near, far = first.child, first.parent, second.parent
    f, title = s.filter(far), near.title
    wordings = (
        f"Give the {title.label} of each {near.noun} that has {first.rows} {second.column.of} {far.plural} {f.text}. Each once.",
        f"Which {near.plural} have at least one of the {first.rows} {second.column.of} {far.plural} {f.text}? List the "
        f"{title.label}, each once.",
    )
    base = f"SELECT DISTINCT T2.{title.name} {joined(first)}"
    sql = f"{base} INNER JOIN {far.name} AS T3 ON T1.{second.column.name} = T3.{far.key} WHERE {f.on('T3')}"
    return Draft(wordings, sql, [base], [f.hint, f"{child.name} links {near.name} and {far.name}"])


def total(s: Scene) -> Draft:
    link = s.named(s.pick(("int", "real")))
    child, parent = link.child, link.parent
    n, title = s.column(child, "int", "real"), parent.title
    name = s.value(parent, title.name)
    word, function = s.pick((("total", "ROUND(SUM(T1.{}), 2)"), ("average", "ROUND(AVG(T1.{}), 2)"), ("highest", "MAX(T1.{})")))
    note = "" if word == "highest" else " Round to two decimals."
    wordings = (
        f"What is the {word} {n.label} of the {child.plural} {link.column.of} the {parent.noun} {name}?{note}",
        f"Give the {word} {n.label} over all {child.plural} {link.column.of} the {parent.noun} {name}.{note}",
    )
    select = f"SELECT {function.format(n.name)} {joined(link)}"
    return Draft(wordings, f"{select} WHERE T2.{title.name} = '{name}'", [select], [f"{name} is a {title.name} in {parent.name}"])


def owners(s: Scene) -> Draft:
    link = s.link(child=["pick"], parent=["pick"])
    child, parent = link.child, link.parent
    f, g = s.filter(child), s.filter(parent)
    wordings = (
        f"How many different {parent.plural} {g.text} have at least one of the {link.rows} {f.text}?",
        f"Count the {parent.plural} {g.text} that have one or more {link.rows} {f.text}.",
    )
    rows = f"{joined(link)} WHERE {f.on('T1')} AND {g.on('T2')}"
    return Draft(wordings, f"SELECT COUNT(DISTINCT T2.{parent.key}) {rows}", [f"SELECT COUNT(*) {rows}"], [f.hint, g.hint])


def percentage(s: Scene) -> Draft:
    t = s.table("pick", key=False)
    f = s.filter(t, "pick")
    g = s.filter(t, but=[f.column.name])
    wordings = (
        f"What percentage of the {t.plural} {g.text} are {t.plural} {f.text}? Round to one decimal.",
        f"Of all {t.plural} {g.text}, how many percent are {t.plural} {f.text}? Give it rounded to one decimal.",
    )
    share = f"SELECT ROUND(100.0 * SUM(CASE WHEN {f.on()} THEN 1 ELSE 0 END) / COUNT(*), 1) FROM {t.name}"
    return Draft(
        wordings, f"{share} WHERE {g.on()}", [share], [f.hint, g.hint, "percentage = 100 * matching rows / all those rows"]
    )


def waiting(s: Scene) -> Draft:
    t = s.table("after", "pick", key=False)
    end = s.column(t, "after")
    start = next(column for column in t.columns if column.name == end.how[0])
    f = s.filter(t, "pick")
    wordings = (
        f"How many days pass on average from the {start.label} to the {end.label} of {t.plural} {f.text}? Leave out those "
        "without either date, and "
        "round to one decimal.",
        f"For {t.plural} {f.text} that have both dates, what is the average number of days between {start.label} and "
        f"{end.label}, rounded to one "
        "decimal?",
    )
    select = f"SELECT ROUND(AVG(julianday({end.name}) - julianday({start.name})), 1) FROM {t.name}"
    return Draft(
        wordings, f"{select} WHERE {f.on()}", [select], [f.hint, "days between two dates: the difference of their julianday()"]
    )


def with_none(s: Scene) -> Draft:
    link = s.named("pick")
    child, parent = link.child, link.parent
    g, f, title = s.filter(parent), s.filter(child), parent.title
    wordings = (
        f"For every {parent.noun} {g.text}, give the {title.label} and the number of {link.rows} {f.text}; write 0 where there "
        "are none.",
        f"List each {parent.noun} {g.text} by {title.label} with its number of {link.rows} {f.text}, including those with zero.",
    )
    select, group = f"SELECT T2.{title.name}, COUNT(T1.{link.column.name})", f"GROUP BY T2.{parent.key}"
    left = joined(link, "LEFT", order=False)
    wrong = [
        f"{select} {joined(link)} WHERE {f.on('T1')} AND {g.on('T2')} {group}",
        f"{select} {left} WHERE {g.on('T2')} {group}",
    ]
    return Draft(wordings, f"{select} {left} AND {f.on('T1')} WHERE {g.on('T2')} {group}", wrong, [f.hint, g.hint])


TEMPLATES = (per_value, through, averages, busiest, monthly, across, total, owners, percentage, waiting, with_none)
