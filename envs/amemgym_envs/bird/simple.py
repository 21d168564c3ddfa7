"""Templates of simple questions: one table, filtered, counted, ordered."""

from amemgym_envs.bird.scene import Draft, Scene


def counted(s: Scene) -> Draft:
    t = s.table("pick", key=False)
    f = s.filter(t)
    wordings = (
        f"How many {t.plural} {f.text} are there?",
        f"Count the {t.plural} {f.text}.",
        f"What is the number of {t.plural} {f.text}?",
    )
    return Draft(wordings, f"SELECT COUNT(*) FROM {t.name} WHERE {f.on()}", [f"SELECT COUNT(*) FROM {t.name}"], [f.hint])


def listed(s: Scene) -> Draft:
    t = s.table("pick")
    f = s.filter(t, "pick")
    g = s.filter(t, but=[f.column.name])
    title = t.title
    wordings = (
        f"Give the {title.label} of each {t.noun} {f.text} and {g.text}.",
        f"Which {t.plural} {f.text} are there {g.text}? Return the {title.label} of each.",
        f"List every {t.noun} {f.text} and {g.text}, by its {title.label}.",
    )
    select = f"SELECT {title.name} FROM {t.name} WHERE"
    return Draft(wordings, f"{select} {f.on()} AND {g.on()}", [f"{select} {f.on()}", f"{select} {g.on()}"], [f.hint, g.hint])


def measured(s: Scene) -> Draft:
    t = s.table("pick", s.pick(("int", "real")), key=False)
    n = s.column(t, "int", "real")
    f = s.filter(t, but=[n.name])
    rounded = (("average", "ROUND(AVG({}), 2)"), ("total", "ROUND(SUM({}), 2)"))
    word, function = s.pick((("highest", "MAX({})"), ("lowest", "MIN({})"), *rounded))
    note = " Round to two decimals." if "ROUND" in function else ""
    call = function.format(n.name)
    wordings = (
        f"What is the {word} {n.label} of the {t.plural} {f.text}?{note}",
        f"Of all {t.plural} {f.text}, give the {word} {n.label}.{note}",
        f"Find the {word} {n.label} among {t.plural} {f.text}.{note}",
    )
    return Draft(wordings, f"SELECT {call} FROM {t.name} WHERE {f.on()}", [f"SELECT {call} FROM {t.name}"], [f.hint])


def topmost(s: Scene) -> Draft:
    t = s.table(s.pick(("int", "real")))
    n = s.column(t, "int", "real")
    f = s.filter(t, but=[n.name])
    word, order, other = s.pick((("highest", "DESC", "ASC"), ("lowest", "ASC", "DESC")))
    k = s.pick((1, 1, 2, 3, 4))
    rows = f"FROM {t.name} WHERE {f.on()} AND {n.name} IS NOT NULL ORDER BY {n.name}"
    title = t.title
    if k == 1:
        wordings = (
            f"Which {t.noun} {f.text} has the {word} {n.label}? Give its {title.label}.",
            f"Give the {title.label} of the {t.noun} {f.text} that has the {word} {n.label}.",
        )
    else:
        wordings = (
            f"Which {k} {t.plural} {f.text} have the {word} {n.label}? Give the {title.label} and the {n.label} of each.",
            f"List the {title.label} and the {n.label} of the {k} {t.plural} {f.text} with the {word} {n.label}.",
        )
    select = f"SELECT {title.name}" + (f", {n.name}" if k > 1 else "")
    wrong = [
        f"{select} {rows} {other} LIMIT {k}",
        f"{select} FROM {t.name} WHERE {n.name} IS NOT NULL ORDER BY {n.name} {order} LIMIT {k}",
    ]
    return Draft(wordings, f"{select} {rows} {order} LIMIT {k}", wrong, [f.hint], (f"SELECT {t.key}, {n.name} {rows} {order}", k))


def missing(s: Scene) -> Draft:
    t = s.pick(table for table in s.schema.tables if table.key and any(column.null for column in table.columns))
    c = s.pick(column for column in t.columns if column.null)
    f = s.filter(t, but=[c.name])
    title = t.title
    if s.rng.random() < 0.5:
        wordings = (
            f"How many {t.plural} {f.text} have no recorded {c.label}?",
            f"Count the {t.plural} {f.text} without any {c.label}.",
        )
        select = f"SELECT COUNT(*) FROM {t.name} WHERE {f.on()}"
    else:
        wordings = (f"Give the {title.label} of each {t.noun} {f.text} that has no recorded {c.label}.",)
        select = f"SELECT {title.name} FROM {t.name} WHERE {f.on()}"
    hints = [f.hint, f'"no recorded {c.label}" means {c.name} IS NULL']
    return Draft(wordings, f"{select} AND {c.name} IS NULL", [select, f"{select} AND {c.name} IS NOT NULL"], hints)


def different(s: Scene) -> Draft:
    t = s.table("pick", key=False)
    c = s.column(t, "pick")
    f = s.filter(t, but=[c.name])
    rows = f"FROM {t.name} WHERE {f.on()} AND {c.name} IS NOT NULL"
    if s.rng.random() < 0.5:
        wordings = (f"How many different values of {c.label} are recorded for the {t.plural} {f.text}?",)
        sql, wrong = f"SELECT COUNT(DISTINCT {c.name}) {rows}", [f"SELECT COUNT({c.name}) {rows}"]
    else:
        wordings = (f"Which different values of {c.label} are recorded for the {t.plural} {f.text}?",)
        sql, wrong = f"SELECT DISTINCT {c.name} {rows}", [f"SELECT DISTINCT {c.name} FROM {t.name} WHERE {c.name} IS NOT NULL"]
    return Draft(wordings, sql, wrong, [f.hint])


def earliest(s: Scene) -> Draft:
    t = s.table("date", "pick")
    d = s.column(t, "date")
    f = s.filter(t, "pick")
    word, order, other = s.pick((("earliest", "ASC", "DESC"), ("latest", "DESC", "ASC")))
    title, rows = t.title, f"FROM {t.name} WHERE {f.on()} AND {d.name} IS NOT NULL ORDER BY {d.name}"
    wordings = (
        f"Which {t.noun} {f.text} has the {word} {d.label}? Give the {title.label} and that date.",
        f"Give the {title.label} and the {d.label} of the {t.noun} {f.text} whose {d.label} is the {word}.",
    )
    select = f"SELECT {title.name}, {d.name}"
    wrong = [
        f"{select} {rows} {other} LIMIT 1",
        f"{select} FROM {t.name} WHERE {d.name} IS NOT NULL ORDER BY {d.name} {order} LIMIT 1",
    ]
    return Draft(wordings, f"{select} {rows} {order} LIMIT 1", wrong, [f.hint], (f"SELECT {t.key}, {d.name} {rows} {order}", 1))


def initial(s: Scene) -> Draft:
    t = s.pick(table for table in s.schema.tables if table.of_kind("person", "mix"))
    title = t.title
    letter = s.value(t, title.name)[0]
    f = s.filter(t)
    rows = f"FROM {t.name} WHERE {title.name} LIKE '{letter}%'"
    wordings = (
        f"Give the {title.label} of each {t.noun} {f.text} whose {title.label} starts with {letter}.",
        f"List the {title.label} of every {t.noun} {f.text}, where it begins with the letter {letter}.",
    )
    select = f"SELECT {title.name}"
    return Draft(
        wordings, f"{select} {rows} AND {f.on()}", [f"{select} {rows}", f"{select} FROM {t.name} WHERE {f.on()}"], [f.hint]
    )


def either(s: Scene) -> Draft:
    t = s.table("pick", key=False)
    f = s.filter(t, "pick")
    g = s.filter(t, but=[f.column.name])
    wordings = (
        f"Count the {t.plural} for which at least one of these is true: {f.text}; {g.text}.",
        f"How many {t.plural} are there that meet one of these conditions, or both: {f.text}; {g.text}?",
    )
    select = f"SELECT COUNT(*) FROM {t.name} WHERE"
    return Draft(
        wordings, f"{select} {f.on()} OR {g.on()}", [f"{select} {f.on()} AND {g.on()}", f"{select} {f.on()}"], [f.hint, g.hint]
    )


def details(s: Scene) -> Draft:
    t = s.pick(table for table in s.schema.tables if table.of_kind("person", "mix", "list"))
    title = t.title
    c, d = s.rng.sample([column for column in t.columns if column.kind in ("pick", "int", "real", "date")] or [title] * 2, 2)
    name = s.value(t, title.name)
    rows = f"FROM {t.name} WHERE {title.name} = '{name}' AND {c.name} IS NOT NULL AND {d.name} IS NOT NULL"
    wordings = (
        f"What are the {c.label} and the {d.label} of the {t.noun} {name}?",
        f"Give the {c.label} and then the {d.label} of the {t.noun} {name}.",
    )
    return Draft(
        wordings,
        f"SELECT {c.name}, {d.name} {rows}",
        [f"SELECT {d.name}, {c.name} {rows}"],
        [f"{name} is a {title.name} in {t.name}"],
    )


TEMPLATES = (counted, listed, measured, topmost, missing, different, earliest, initial, either, details)
