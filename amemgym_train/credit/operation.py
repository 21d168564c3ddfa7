"""The scheme ``operation``: each call is paid for what it could cause."""

from amemgym_train.config.credit import CreditConfig
from amemgym_train.credit.records import Reward, Rewards, trained
from amemgym_train.credit.retention import losses
from amemgym_train.diagnosis.operations import Cell, Diagnosis
from amemgym_train.rollout.records import Answer, Episode, Probe, Turn


def operation(episode: Episode, diagnosis: Diagnosis, config: CreditConfig) -> Rewards:
    """The reward r of each trained turn; k(p, q, s), w(s, p) as in ``diagnosis.operations``.

    write turn t of period p:
        r = mean over the states s that it was shown of [every probe of s at p is right] - format_penalty * [reply unreadable]
            - retention_penalty * (number of states that it lost, see ``credit.retention``).
        A state that no probe of p asks for, or that had changed again by p, is left out. No signal for a turn that was shown no
        other state, lost nothing and can be read; with a penalty the mean counts 0. Such a penalty teaches only where at least
        two episodes of the group have a signal at its slot: turns that idled well are in no baseline.
    read turn of (p, q), a probe:
        r = share of right ones among the states with k(w(s, p), q, s) = 1; no signal when there are none.
        At p = w(s, p) that condition is k(p, q, s) itself: a state read right in the period of its write counts as right, one
        read wrong there is left out, as it may never have been written. So a read is blamed in later periods only.
    answer turn of (p, q):
        r = share of the required states with k(p, q, s) = 1 that the choice has right; no signal when there are none. So the
        right choice earns 1, and who knows a part is paid for using it: an answer does not wait for all to be known.
        Where the environment does not say what a choice has right: 1 for the right choice, else 0, when all states are known.
    """
    cells = {(cell.period, cell.question): cell for cell in diagnosis.cells}
    lost = losses(episode)
    given: Rewards = {t: _write(episode.turns[t], known, lost.get(t, []), config) for t, known in diagnosis.known_after.items()}
    for probe in episode.probes:
        if probe.turn is not None:
            given[probe.turn] = _read(probe, cells[probe.period, probe.question])
    for answer in episode.answers:
        if answer.turn is not None:
            given[answer.turn] = _answer(answer, cells[answer.period, answer.question])
    return {index: given.get(index) for index in trained(episode, config)}


def _write(turn: Turn, known_after: dict[str, bool | None], lost: list[str], config: CreditConfig) -> Reward | None:
    known = [state for state, known in known_after.items() if known]
    unknown = [state for state, known in known_after.items() if known is False]
    unreadable = turn.meta.get("parsed") == "failed"
    if not (known or unknown or lost or unreadable):
        return None
    value = len(known) / (len(known) + len(unknown)) if known or unknown else 0.0
    value -= config.format_penalty * unreadable + config.retention_penalty * len(lost)
    reasons = [
        f"{', '.join(known)} known right after it" if known else "",
        f"{', '.join(unknown)} not known right after it" if unknown else "",
        f"{', '.join(lost)} lost" if lost else "",
        "reply could not be read" if unreadable else "",
    ]
    return Reward(value, "; ".join(filter(None, reasons)))


def _read(probe: Probe, cell: Cell) -> Reward | None:
    written = [state for state, known in cell.known_at_write.items() if known]
    if not written:
        return None
    wrong = [state for state in written if not probe.known(state)]
    right = [state for state in written if probe.known(state)]
    reasons = [f"{', '.join(right)} named right" if right else "", f"{', '.join(wrong)} known once, named wrong" if wrong else ""]
    return Reward(len(right) / len(written), "; ".join(filter(None, reasons)))


def _answer(answer: Answer, cell: Cell) -> Reward | None:
    known = [state for state, known in cell.known.items() if known]
    agrees = answer.agrees
    if agrees is None:  # only the whole choice can be judged
        known = known if len(known) == len(cell.known) else []
        agrees = dict.fromkeys(known, answer.correct)
    if not known:
        return None
    used = [state for state in known if agrees[state]]
    unused = [state for state in known if not agrees[state]]
    reasons = [f"{', '.join(used)} used" if used else "", f"{', '.join(unused)} known, not used" if unused else ""]
    return Reward(len(used) / len(known), "; ".join(filter(None, reasons)))
