"""What a run cost."""

import pytest

from amemgym_envs.amemgym.llm import Endpoint, Reply, Report, WriterFailure


def test_cost_is_tokens_times_price_per_million():
    report = Report(Endpoint("http://127.0.0.1:1/v1", "strong", price_in=2.5, price_out=10.0))
    for reply in (Reply("a", 1000, 200), Reply("b", 3000, 300), Reply("c")):
        report.count(reply)
    assert (report.calls, report.tokens_in, report.tokens_out, report.uncounted) == (3, 4000, 500, 1)
    assert report.cost == pytest.approx(0.015)
    assert "cost: 0.0150 at 2.5 / 10 per million tokens in / out" in report.lines()
    assert "tokens: 4,000 in, 500 out (at least: 1 replies came without a count)" in report.lines()
    assert report.to_dict()["cost"] == pytest.approx(0.015)


def test_without_prices_there_is_no_cost():
    report = Report(Endpoint("http://127.0.0.1:1/v1", "strong", price_in=2.5))
    report.count(Reply("a", 1000, 200))
    assert report.cost is None and not any("cost" in line for line in report.lines())


def test_the_report_counts_what_the_server_saw(run, endpoint, server, tmp_path):
    server.faults.append((503, {}, b""))
    _, writer = run(endpoint(price_in=1.0, price_out=1.0), tmp_path, max_tries=4)
    report = writer.report.to_dict()
    assert report["calls"] == len(server.requests) - 1 and report["retries"] == 1
    words = sum(len(m["content"].split()) for request in server.requests[1:] for m in request["messages"])
    assert report["tokens_in"] == words and report["cost"] == pytest.approx((words + report["tokens_out"]) / 1e6)
    assert report["written"] == 1 and report["model"] == "strong" and report["dropped"] == {"merge": 1, "answers": 1}
    assert "retries_before" not in report


def test_retries_before_the_run_are_not_its_own():
    endpoint = Endpoint("http://127.0.0.1:1/v1", "strong")
    endpoint.retries = 5
    report = Report(endpoint)
    endpoint.retries = 7
    report.failures.append(WriterFailure(3, "query", "no words"))
    assert report.retries == 2 and report.lines()[-1] == "user 3 failed at stage query: no words"
