"""`rivet metrics` and `rivet journal`: predictions graded, events kept."""

from __future__ import annotations

import json

import pytest

from tests.cli.shop import Shop


@pytest.fixture
def shop(cli, tmp_path):
    made = Shop(tmp_path)
    for _ in range(2):
        assert cli("run", "-q").code == 0
    return made


def test_metrics_grade_runs_against_their_predictions(cli, shop):
    found = cli("metrics", "--json").data
    assert [run["status"] for run in found["runs"]] == ["succeeded"] * 4
    assert found["runs"][0]["at"] >= found["runs"][-1]["at"]
    assert all(run["predicted"]["p10"] <= run["predicted"]["p50"] <= run["predicted"]["p90"] for run in found["runs"])
    assert found["overall"]["runs"] == 4
    assert set(found["grades"]) == {"orders", "customers"}
    text = cli("metrics", "-e", "customers").out
    assert text.count("customers") == 2
    assert "orders" not in text
    assert "2 graded runs" in text
    assert cli("metrics", "--limit", "1").out.count("succeeded") == 1


def test_the_journal_tells_campaigns_and_ends(cli, shop):
    events = cli("journal", "--json").data["events"]
    assert [event["event"] for event in events].count("campaign_finished") == 2
    (plan,) = {event["plan_id"] for event in events[:4]}
    assert {event["plan_id"] for event in cli("journal", "--plan-id", plan, "--json").data["events"]} == {plan}
    text = cli("journal", "-e", "customers").out
    assert text.count("export finished") == 2
    assert "2 rows in" in text
    assert "exit 0: 2 done" in cli("journal").out


def test_before_the_first_run_both_are_empty_and_write_nothing(cli, tmp_path):
    Shop(tmp_path)
    assert cli("metrics", "--json").data["runs"] == []
    assert cli("journal", "--json").data == {"events": []}
    assert "no run" in cli("metrics").err
    assert not (tmp_path / ".rivet").exists()


def test_the_summary_says_what_was_predicted(cli, tmp_path):
    Shop(tmp_path)
    said = cli("run")
    assert "predicted " in said.out
    assert "of 2 exports within 25 % of their prediction" in said.out
    assert cli("run", "--json").data["predicted_seconds"] > 0


def test_events_are_all_that_stands_on_stdout(cli, tmp_path):
    Shop(tmp_path)
    said = cli("run", "--events")
    kinds = [json.loads(line)["event"] for line in said.out.splitlines()]
    assert (kinds[0], kinds[-1]) == ("campaign_started", "campaign_finished")
    assert "2 done" in said.err
