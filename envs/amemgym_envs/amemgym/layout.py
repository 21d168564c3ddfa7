"""The public JSON layout of a scenario, both ways. Keys that the layout does not name are kept, so that nothing is lost."""

from typing import Any

from amemgym_envs.amemgym.node import Node
from amemgym_envs.amemgym.records import Choice, Period, Question, Scenario, Session


def _session(node: Node) -> Session:
    f, extra = node.fields("event", "exposed_states", "query", "messages", "session_time")
    if "off_topic" in extra:  # a key of ours, played by the simulated user
        Node(extra["off_topic"], node.item, f"{node.path}.off_topic").texts()
    return Session(
        event=f["event"].optional_text(),
        exposed_states=f["exposed_states"].assignment(),
        query=f["query"].text(),
        messages=f["messages"].is_a(list, "a list"),
        session_time=f["session_time"].text(),
        extra=extra,
    )


def _update(node: Node) -> dict[str, str | None]:
    f, extra = node.fields("old", "new")
    if extra:
        node.fail("an object with old and new only")
    return {"old": f["old"].optional_text(), "new": f["new"].text()}


def _period(node: Node) -> Period:
    f, extra = node.fields("period_start", "period_end", "period_summary", "sessions", "state", "updates", "update_cnts")
    return Period(
        period_start=f["period_start"].optional_text(),
        period_end=f["period_end"].text(),
        period_summary=f["period_summary"].optional_text(),
        sessions=[_session(s) for s in f["sessions"].items()],
        state=f["state"].assignment(),
        updates={name: _update(u) for name, u in f["updates"].mapping().items()},
        update_cnts={name: n.is_a(int, "a number of updates") for name, n in f["update_cnts"].mapping().items()},
        extra=extra,
    )


def _choice(node: Node) -> Choice:
    f, extra = node.fields("state", "answer", "type")
    return Choice(state=f["state"].texts(1), answer=f["answer"].text(), type=f["type"].text(), extra=extra)


def _question(node: Node) -> Question:
    f, extra = node.fields("query", "required_info", "answer_choices")
    return Question(
        query=f["query"].text(),
        required_info=f["required_info"].texts(1),
        answer_choices=[_choice(c) for c in f["answer_choices"].items(2)],
        extra=extra,
    )


def parse(node: Node) -> Scenario:
    """One item of the file; types and presence of its fields are checked here, what holds between them in ``consistency``."""
    f, extra = node.fields("id", "start_time", "user_profile", "state_schema", "periods", "qas")
    return Scenario(
        id=f["id"].text(),
        start_time=f["start_time"].text(),
        user_profile=f["user_profile"].is_a(dict, "an object"),
        state_schema={name: values.texts(1) for name, values in f["state_schema"].mapping().items()},
        periods=[_period(p) for p in f["periods"].items(1)],
        questions=[_question(q) for q in f["qas"].items(1)],
        extra=extra,
    )


def unparse(record: Any) -> Any:
    """The JSON form of a record: its fields in their order, then the extra keys."""
    if isinstance(record, list):
        return [unparse(entry) for entry in record]
    if not isinstance(record, Scenario | Period | Session | Question | Choice):
        return record
    plain = {("qas" if key == "questions" else key): unparse(value) for key, value in vars(record).items() if key != "extra"}
    return plain | record.extra
