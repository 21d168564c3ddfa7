"""What every client of a model server reads in the same way from an HTTP reply."""

import time
from email.utils import parsedate_to_datetime

PASSING = (408, 409, 425, 429)  # with every 5xx: statuses that another try may not meet again


def may_pass(status: int) -> bool:
    """Whether another try may fare better."""
    return status in PASSING or status >= 500


def asked_wait_s(header: str) -> float:
    """The seconds that a Retry-After asks for, as a number or a date; anything else asks for nothing."""
    try:
        wait = float(header)
    except ValueError:
        try:
            wait = parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, OverflowError):
            return 0.0
    return max(wait, 0.0) if wait < float("inf") else 0.0  # not for nan either


def one_line(text: str) -> str:
    return " ".join(text.split())
