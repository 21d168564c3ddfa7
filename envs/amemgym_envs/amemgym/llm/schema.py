"""The questions of one user and the info types they require: proposed by the model, near-duplicates merged."""

from dataclasses import dataclass, field
from math import ceil

from amemgym_envs.amemgym.generator.config import GeneratorConfig
from amemgym_envs.amemgym.llm.caller import Caller, GaveUp, together
from amemgym_envs.amemgym.llm.parsing import distinct, part, prose, snake
from amemgym_envs.amemgym.node import Node

Schema = dict[str, list[str]]


@dataclass(frozen=True)
class Asked:
    """A question, and the info types (names of the canonical schema) that its answer depends on."""

    query: str
    required: tuple[str, ...]


@dataclass(frozen=True)
class Proposal:
    """A question as the model proposed it: {name: values} of its info types."""

    query: str
    types: Schema


def listed_types(schema: Schema) -> str:
    return "\n".join(f"- {name}: {', '.join(values)}" for name, values in schema.items())


@dataclass
class QuestionBank:
    """The questions that stand for one user, spare ones behind them.

    A question that no text could be found for is dropped, and a spare or, when there is none, a newly proposed one takes its
    place. More than ``max_resamples`` such replacements and further proposals together are a GaveUp.
    """

    caller: Caller
    config: GeneratorConfig
    max_resamples: int
    schema: Schema = field(default_factory=dict)  # of every type ever proposed, dropped ones included: names keep their meaning
    _standing: list[Asked] = field(default_factory=list)
    _seen: dict[str, str] = field(default_factory=dict)  # every query ever proposed, by its small letters
    _rounds: int = 0
    _resamples: int = 0

    async def take(self) -> list[Asked]:
        """``config.num_questions`` questions; those taken before and not dropped come first."""
        while (missing := self.config.num_questions - len(self._standing)) > 0:
            if self._rounds:
                self._count(1, "propose", f"{missing} questions are still missing")
            await self._propose(missing + ceil(missing / 2))
        return self._standing[: self.config.num_questions]

    def drop(self, questions: list[Asked], stage: str, reason: str) -> None:
        self._standing = [question for question in self._standing if question not in questions]
        self.caller.report.dropped[stage] += len(questions)
        self._count(len(questions), stage, reason)

    def _count(self, number: int, stage: str, reason: str) -> None:
        self._resamples += number
        if self._resamples > self.max_resamples:
            raise GaveUp(stage, f"{reason}; more than {self.max_resamples} resamples would be needed")

    async def _propose(self, count: int) -> None:
        states, values = self.config.num_states_per_question, self.config.num_choices_per_state
        fields: dict[str, str | int] = {"count": count, "states": states, "values": values, "used": self._used()}
        proposals = await self.caller.write("propose", fields, lambda node: _proposals(node, states, values), draw=self._rounds)
        self._rounds += 1
        fresh = list({p.query.casefold(): p for p in proposals if p.query.casefold() not in self._seen}.values())
        self._seen |= {p.query.casefold(): p.query for p in fresh}
        names = await self._canonical_names(fresh)
        for proposal in fresh:
            asked = Asked(proposal.query, tuple(names[name] for name in proposal.types))
            if len(set(asked.required)) == len(asked.required):
                self._standing.append(asked)
            else:
                self.caller.report.dropped["merge"] += 1

    def _used(self) -> str:
        if not self._seen:
            return ""
        topics = "\n".join(f"  - {query}" for query in self._seen.values())
        types = ", ".join(self.schema)
        return f"- There are questions already. Choose other topics than these:\n{topics}\n- and other info types than: {types}\n"

    async def _canonical_names(self, proposals: list[Proposal]) -> dict[str, str]:
        """{proposed name: canonical name}; adds the new canonical types to the schema."""
        variants: dict[str, list[list[str]]] = {}
        for proposal in proposals:
            for name, values in proposal.types.items():
                known = variants.setdefault(name, [])
                if values not in known:
                    known.append(values)
        names = {name: name for name in variants}
        new = [name for name in variants if name not in self.schema]
        if not new:
            return names
        groups = await self._groups(self.schema | {name: _union(variants[name]) for name in new})
        for canonical, members in groups.items():
            old = [name for name in members if name in self.schema]
            names |= {name: old[0] if old else canonical for name in members if name in new}
        wanted = {names[name]: [n for n in new if names[n] == names[name]] for name in new if names[name] not in self.schema}
        unified = await together(
            self._values(canonical, {member: variants[member] for member in members}, proposals)
            for canonical, members in wanted.items()
        )
        self.schema |= dict(zip(wanted, unified, strict=True))
        return names

    async def _groups(self, types: Schema) -> dict[str, list[str]]:
        """Near-duplicates among ``types``: {canonical name: at least two of their names}."""
        if len(types) < 2:
            return {}
        return await self.caller.write("merge", {"types": listed_types(types)}, lambda node: _groups(node, types))

    async def _values(self, name: str, variants: dict[str, list[list[str]]], proposals: list[Proposal]) -> list[str]:
        lists = [(member, values) for member, known in variants.items() for values in known]
        if len(lists) == 1:
            return lists[0][1]
        count = self.config.num_choices_per_state
        fields: dict[str, str | int] = {
            "name": name,
            "values": count,
            "types": "\n".join(f"- {member}: {', '.join(values)}" for member, values in lists),
            "questions": "\n".join(f"- {p.query}" for p in proposals if set(p.types) & set(variants)),
        }
        return await self.caller.write("unify", fields, lambda node: distinct(part(node, "values"), count))


def _union(variants: list[list[str]]) -> list[str]:
    return list(dict.fromkeys(value for values in variants for value in values))


def _proposals(node: Node, states: int, values: int) -> list[Proposal]:
    """The well-formed ones; a complaint when there is none."""
    proposals, problem = [], None
    for entry in part(node, "questions").items(1):
        try:
            types = {
                snake(part(kind, "name")): distinct(part(kind, "values"), values) for kind in part(entry, "info_types").items()
            }
            if len(types) != states:
                part(entry, "info_types").fail(f"a list of {states} different info types")
            proposals.append(Proposal(prose(part(entry, "question")), types))
        except ValueError as error:
            problem = error
    if not proposals and problem:
        raise problem
    return proposals


def _groups(node: Node, types: Schema) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    taken: set[str] = set()
    for entry in part(node, "groups").items():
        members = [snake(name) for name in part(entry, "members").items(2)]
        name = snake(part(entry, "name"))
        if not set(members) <= set(types) - taken or len(set(members)) < 2:
            part(entry, "members").fail("at least two of the info types above, each in one group only")
        if name in groups or name in set(types) - set(members):
            part(entry, "name").fail("a name that no other info type or group has")
        groups[name] = members
        taken |= set(members)
    return groups
