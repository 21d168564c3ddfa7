"""Templates of challenging questions: nested queries, HAVING, set operations, window functions, missing values."""

from amemgym_envs.bird.moderate import joined
from amemgym_envs.bird.scene import Draft, Scene


def at_least(s: Scene) -> Draft:
    link = s.named("pick")
    child, parent = link.child, link.parent
    f, title, k = s.filter(child), parent.title, s.pick((2, 3, 4, 5, 6, 8))
    wordings = (
        f"Which {parent.plural} have at least {k} {link.rows} {f.text}? Give the {title.label} and the number of those "
        f"{link.rows}.",
        f"List {title.label} and number of {link.rows} {f.text} for every {parent.noun} that has {k} or more of them.",
    )
    head, group = f"SELECT T2.{title.name}, COUNT(*) {joined(link)}", f"GROUP BY T2.{parent.key} HAVING COUNT(*)"
    where = f"WHERE {f.on('T1')}"
    wrong = [f"{head} {group} >= {k}", f"{head} {where} {group} > {k}"]
    return Draft(wordings, f"{head} {where} {group} >= {k}", wrong, [f.hint])


def without(s: Scene) -> Draft:
    link = s.named("pick")
    child, parent = link.child, link.parent
    f, g, title = s.filter(child), s.filter(parent), parent.title
    wordings = (
        f"Which {parent.plural} {g.text} have no {link.rows} {f.text}? Give the {title.label}.",
        f"Give the {title.label} of each {parent.noun} {g.text} for which there are no {link.rows} {f.text}.",
    )
    select = f"SELECT {title.name} FROM {parent.name} WHERE {g.on()}"
    inner = f"SELECT {link.column.name} FROM {child.name} WHERE {f.on()} AND {link.column.name} IS NOT NULL"
    return Draft(
        wordings,
        f"{select} AND {parent.key} NOT IN ({inner})",
        [select, f"{select} AND {parent.key} IN ({inner})"],
        [f.hint, g.hint],
    )


def above_average(s: Scene) -> Draft:
    t = s.table("pick", s.pick(("int", "real")))
    n, c = s.column(t, "int", "real"), s.column(t, "pick", full=True)
    f, title = s.filter(t, but=[n.name, c.name]), t.title
    wordings = (
        f"Give the {title.label} of each {t.noun} {f.text} and whose {n.label} is above the average {n.label} of all {t.plural} "
        f"with the same {c.label}.",
        f"Which {t.plural} {f.text} exceed, in {n.label}, the average of all {t.plural} that share their {c.label}? Return the "
        f"{title.label}.",
    )
    base = f"SELECT T1.{title.name} FROM {t.name} AS T1 WHERE {f.on('T1')} AND T1.{n.name} >"
    average = f"SELECT AVG(T2.{n.name}) FROM {t.name} AS T2"
    return Draft(wordings, f"{base} ({average} WHERE T2.{c.name} = T1.{c.name})", [f"{base} ({average})"], [f.hint])


def both(s: Scene) -> Draft:
    link = s.named("pick")
    child, parent, title = link.child, link.parent, link.parent.title
    f, g = s.filter(child, "pick"), s.filter(child, "pick")
    select = f"SELECT T2.{title.name} {joined(link)} WHERE"
    if s.rng.random() < 0.5:
        word, operation = "and also", "INTERSECT"
        wordings = (
            f"Which {parent.plural} have {link.rows} {f.text} and also have {link.rows} {g.text}? Give the {title.label}.",
        )
    else:
        word, operation = "but none", "EXCEPT"
        wordings = (f"Which {parent.plural} have {link.rows} {f.text}, but none {g.text}? Give the {title.label}.",)
    sql = f"{select} {f.on('T1')} {operation} {select} {g.on('T1')}"
    wrong = [f"{select} {f.on('T1')}", f"{select} {f.on('T1')} AND {g.on('T1')}"]
    return Draft(wordings, sql, wrong, [f.hint, g.hint, f'"{word}" speaks of different {link.rows}'])


def best_of_each(s: Scene) -> Draft:
    t = s.table("pick", s.pick(("int", "real")))
    n, c = s.column(t, "int", "real"), s.column(t, "pick", full=True)
    f, title = s.filter(t, but=[n.name, c.name]), t.title
    word, order, other = s.pick((("highest", "DESC", "ASC"), ("lowest", "ASC", "DESC")))
    wordings = (
        f"For each {c.label}, which {t.noun} {f.text} has the {word} {n.label}? Give the {c.label}, the {title.label} and the "
        f"{n.label}; where several "
        "are equal, give all of them.",
        f"Among the {t.plural} {f.text}, find those with the {word} {n.label} of their {c.label} (all, if several share it). "
        f"Return {c.label}, "
        f"{title.label} and {n.label}.",
    )

    def ranked(where: str, order: str) -> str:
        rank = f"RANK() OVER (PARTITION BY {c.name} ORDER BY {n.name} {order}) AS place"
        inner = f"SELECT {c.name}, {title.name}, {n.name}, {rank} FROM {t.name} WHERE {n.name} IS NOT NULL{where}"
        return f"SELECT {c.name}, {title.name}, {n.name} FROM ({inner}) WHERE place = 1"

    where = f" AND {f.on()}"
    return Draft(wordings, ranked(where, order), [ranked("", order), ranked(where, other)], [f.hint])


def second(s: Scene) -> Draft:
    t = s.table(s.pick(("int", "real")))
    n = s.column(t, "int", "real")
    f, title = s.filter(t, but=[n.name]), t.title
    k, word = s.pick(((2, "second"), (3, "third")))
    direction, order, other = s.pick((("highest", "DESC", "ASC"), ("lowest", "ASC", "DESC")))
    wordings = (
        f"Among the {t.plural} {f.text}, take the different values of {n.label}. Give the {title.label} of each of these "
        f"{t.plural} that has the "
        f"{word} {direction} value, and that value.",
        f"Which of the {t.plural} {f.text} have the {word} {direction} {n.label} (equal values count once)? Return "
        f"{title.label} and {n.label}.",
    )

    def placed(order: str, k: int) -> str:
        rank = f"DENSE_RANK() OVER (ORDER BY {n.name} {order}) AS place"
        inner = f"SELECT {title.name}, {n.name}, {rank} FROM {t.name} WHERE {f.on()} AND {n.name} IS NOT NULL"
        return f"SELECT {title.name}, {n.name} FROM ({inner}) WHERE place = {k}"

    return Draft(wordings, placed(order, k), [placed(other, k), placed(order, 1)], [f.hint])


def running(s: Scene) -> Draft:
    t = s.table("date", s.pick(("int", "real")), key=False)
    d, n = s.column(t, "date"), s.column(t, "int", "real")
    year, f = s.value(t, d.name)[:4], s.filter(t, "pick")
    wordings = (
        f"For the {t.plural} {f.text}, give every month of {year} (YYYY-MM, by {d.label}) that has any, with the total "
        f"{n.label} from the start of "
        f"{year} up to the end of that month, rounded to two decimals.",
        f"What is the running total of {n.label} over the months of {year} (by {d.label}) for {t.plural} {f.text}? Return month "
        "(YYYY-MM) and running "
        "total, rounded to two decimals, for months that have such rows.",
    )
    month, where = f"strftime('%Y-%m', {d.name})", f"strftime('%Y', {d.name}) = '{year}' AND {f.on()}"
    inner = f"SELECT {month} AS month, SUM({n.name}) AS amount FROM {t.name} WHERE {where} GROUP BY {month}"
    sql = f"SELECT month, ROUND(SUM(amount) OVER (ORDER BY month), 2) FROM ({inner})"
    return Draft(wordings, sql, [f"SELECT month, ROUND(amount, 2) FROM ({inner})"], [f.hint])


def biggest_rise(s: Scene) -> Draft:
    t = s.table("date", key=False)
    d, f = s.column(t, "date"), s.filter(t, "pick")
    wordings = (
        f"Count the {t.plural} {f.text} by month of the {d.label}, leaving out months without any. In which month (YYYY-MM) did "
        "the number rise most over "
        "the month listed before it, and by how much?",
        f"Take the monthly numbers of {t.plural} {f.text} (month of {d.label}, only months that have some). Return the month "
        "(YYYY-MM) with the largest "
        "increase from the previous one in that list, and the increase.",
    )
    month = f"strftime('%Y-%m', {d.name})"

    def rises(where: str) -> str:
        rows = f"FROM {t.name} WHERE {d.name} IS NOT NULL{where}"
        counts = f"SELECT {month} AS month, COUNT(*) AS amount {rows} GROUP BY {month}"
        change = f"SELECT month, amount - LAG(amount) OVER (ORDER BY month) AS rise FROM ({counts})"
        return f"SELECT month, rise FROM ({change}) WHERE rise IS NOT NULL ORDER BY rise DESC"

    where = f" AND {f.on()}"
    return Draft(wordings, f"{rises(where)} LIMIT 1", [f"{rises('')} LIMIT 1"], [f.hint], (rises(where), 1))


def shares(s: Scene) -> Draft:
    t = s.table("pick", s.pick(("int", "real")), key=False)
    n, c = s.column(t, "int", "real"), s.column(t, "pick", full=True)
    f = s.filter(t, but=[n.name, c.name])
    wordings = (
        f"Which percentage of the total {n.label} of all {t.plural} {f.text} falls to each {c.label}? Give {c.label} and "
        "percentage, rounded to one "
        "decimal.",
        f"For {t.plural} {f.text}, split the total {n.label} by {c.label}: return each {c.label} and its percentage of that "
        "total, to one decimal.",
    )
    select, whole = f"SELECT {c.name}, ROUND(100.0 * SUM({n.name}) /", f"(SELECT SUM({n.name}) FROM {t.name}"
    rows = f"FROM {t.name} WHERE {f.on()} GROUP BY {c.name}"
    sql = f"{select} {whole} WHERE {f.on()}), 1) {rows}"
    return Draft(
        wordings, sql, [f"{select} {whole}), 1) {rows}", f"{select} {whole}), 1) FROM {t.name} GROUP BY {c.name}"], [f.hint]
    )


def best_average(s: Scene) -> Draft:
    link = s.named(s.pick(("int", "real")))
    child, parent, title = link.child, link.parent, link.parent.title
    n, k = s.column(child, "int", "real"), s.pick((3, 4, 5, 6, 8))
    word, order = s.pick((("highest", "DESC"), ("lowest", "ASC")))
    wordings = (
        f"Of the {parent.plural} with at least {k} {link.rows}, which has the {word} average {n.label} of these? Give the "
        f"{title.label} and the average, "
        "rounded to two decimals.",
        f"Find the {parent.noun} whose {link.rows} have the {word} average {n.label}, looking only at {parent.plural} with {k} "
        f"or more {link.rows}. Return "
        f"{title.label} and average (two decimals).",
    )
    head = f"SELECT T2.{title.name}, ROUND(AVG(T1.{n.name}), 2) {joined(link)} GROUP BY T2.{parent.key}"
    tail = f"ORDER BY AVG(T1.{n.name}) {order}"
    full = f"{head} HAVING COUNT(*) >= {k} AND AVG(T1.{n.name}) IS NOT NULL {tail}"
    return Draft(wordings, f"{full} LIMIT 1", [f"{head} HAVING AVG(T1.{n.name}) IS NOT NULL {tail} LIMIT 1"], [], (full, 1))


def latest(s: Scene) -> Draft:
    link = s.named("date", "key")
    child, parent, title = link.child, link.parent, link.parent.title
    d, c, f = s.column(child, "date"), s.column(child, "pick", "int", "real", full=True), s.filter(parent)
    wordings = (
        f"For every {parent.noun} {f.text} that has {link.rows}, take the latest of these by {d.label} (of several on that "
        "date, the one with the highest "
        f"{child.key}). Give the {title.label}, the {d.label} and the {c.label}.",
        f"What are the {d.label} and the {c.label} of the most recent of the {link.rows} of each {parent.noun} {f.text}? Judge "
        f"by {d.label}, then by the "
        f"higher {child.key}. Return {title.label}, {d.label} and {c.label}.",
    )

    def numbered(order: str, where: str) -> str:
        window = f"ROW_NUMBER() OVER (PARTITION BY T2.{parent.key} ORDER BY T1.{d.name} {order}, T1.{child.key} {order}) AS place"
        columns = f"T2.{title.name} AS title, T1.{d.name} AS day, T1.{c.name} AS detail"
        inner = f"SELECT {columns}, {window} {joined(link)} WHERE T1.{d.name} IS NOT NULL{where}"
        return f"SELECT title, day, detail FROM ({inner}) WHERE place = 1"

    where = f" AND {f.on('T2')}"
    return Draft(wordings, numbered("DESC", where), [numbered("ASC", where), numbered("DESC", "")], [f.hint])


def incomplete(s: Scene) -> Draft:
    gaps = [table for table in s.schema.tables if any(column.null for column in table.columns)]
    t = s.pick(table for table in gaps if table.of_kind("pick", full=True))
    m, c = s.pick(column for column in t.columns if column.null), s.column(t, "pick", full=True)
    f = s.filter(t, but=[m.name, c.name])
    wordings = (
        f"Look at the {t.plural} {f.text}. For which {c.label} is the share of rows without any {m.label} larger than the share "
        f"over all these {t.plural}? Give "
        f"the {c.label} and its share in percent, rounded to one decimal.",
    )
    share = f"AVG(CASE WHEN {m.name} IS NULL THEN 1.0 ELSE 0.0 END)"
    select, rows = f"SELECT {c.name}, ROUND(100 * {share}, 1)", f"FROM {t.name} WHERE {f.on()}"
    sql = f"{select} {rows} GROUP BY {c.name} HAVING {share} > (SELECT {share} {rows})"
    hints = [f.hint, f'"without any {m.label}" means {m.name} IS NULL']
    return Draft(wordings, sql, [f"{select} {rows} GROUP BY {c.name}"], hints)


def pairs(s: Scene) -> Draft:
    t = s.table("pick")
    f = s.filter(t, "int", "real", "date", "pick")
    same = s.pick([column for column in t.of_kind("pick", "ref") if column.name != f.column.name])
    what = same.label.removesuffix(" id") if same.kind == "ref" else same.label
    wordings = (
        f"How many pairs of different {t.plural} {f.text} have the same {what}? Count each pair once.",
        f"Among the {t.plural} {f.text}, count the unordered pairs of two that share their {what}.",
    )
    join = f"SELECT COUNT(*) FROM {t.name} AS T1 INNER JOIN {t.name} AS T2 ON T1.{same.name} = T2.{same.name}"
    where = f"{f.on('T1')} AND {f.on('T2')}"
    wrong = [f"{join} AND T1.{t.key} <> T2.{t.key} WHERE {where}", f"{join} AND T1.{t.key} < T2.{t.key}"]
    return Draft(wordings, f"{join} AND T1.{t.key} < T2.{t.key} WHERE {where}", wrong, [f.hint])


def longest_gap(s: Scene) -> Draft:
    link = s.named("date")
    child, parent, title = link.child, link.parent, link.parent.title
    d, name = s.column(child, "date"), s.value(parent, title.name)
    wordings = (
        f"What is the largest number of days between two consecutive {link.rows} of the {parent.noun} {name}, ordered by "
        f"{d.label}?",
        f"Order the {link.rows} of the {parent.noun} {name} by {d.label}: how many days is the longest gap between one and the "
        "next?",
    )
    days = f"julianday(T1.{d.name})"
    inner = f"SELECT {days} - LAG({days}) OVER (ORDER BY T1.{d.name}) AS gap {joined(link)} WHERE T2.{title.name} = '{name}'"
    span = f"SELECT MAX({days}) - MIN({days}) {joined(link)} WHERE T2.{title.name} = '{name}'"
    return Draft(
        wordings,
        f"SELECT CAST(MAX(gap) AS INTEGER) FROM ({inner})",
        [span],
        ["days between two dates: the difference of their julianday()"],
    )


def every_value(s: Scene) -> Draft:
    link = s.named("pick")
    child, parent, title = link.child, link.parent, link.parent.title
    c = s.column(child, "pick")
    wordings = (
        f"Which {parent.plural} have {link.rows} with every {c.label} that occurs among the {child.plural}? Give the "
        f"{title.label}.",
        f"Give the {title.label} of each {parent.noun} whose {link.rows} cover all values of {c.label} found in the database.",
    )
    counts = f"COUNT(DISTINCT T1.{c.name})"
    head = f"SELECT T2.{title.name} {joined(link)} GROUP BY T2.{parent.key} HAVING"
    return Draft(wordings, f"{head} {counts} = (SELECT COUNT(DISTINCT {c.name}) FROM {child.name})", [f"{head} {counts} >= 1"])


TEMPLATES = (
    at_least, without, above_average, both, best_of_each, second, running, biggest_rise, shares, best_average, latest, incomplete,
    pairs, longest_gap, every_value,
)  # fmt: skip
