"""A store that throttles, loses answers and hangs up: nothing is read again for it, and nothing is left behind."""

from __future__ import annotations

import json
import signal
import time
from datetime import UTC, datetime, timedelta

import pytest

from rivet_core.running import RunEvent
from rivet_core.running.gc import find_garbage, remove
from rivet_core.running.validate import validate
from tests.system.places import BLOBS, BLOBS_SQL, Shop, parts, s3_options


@pytest.fixture
def lake(tmp_path, s3, s3_proxy, monkeypatch):
    """The same shop, and a store that fails when it is told to."""
    monkeypatch.setenv("RIVET_TEST_SECRET", s3.secret_key)
    monkeypatch.setattr("tenacity.sleep_using_event", lambda event: lambda seconds: None)
    made = Shop(tmp_path / "project", s3_options(s3, s3_proxy.url))
    made.sql(BLOBS_SQL)
    made.config({**BLOBS, "tuning": {"max_retries": 0}})
    return made


def rows(shop: Shop) -> int:
    dataset = shop.dataset("blobs")
    current, _ = dataset.read()
    return sum(part.rows for _, part in dataset.parts(current))


def test_o04_a_piece_that_fails(lake, s3, s3_proxy):
    s3_proxy.fail("UploadPart", "internal_error", times=99, number=2)
    s3_proxy.fail("AbortMultipartUpload", "slow_down")
    outcome = lake.apply()
    assert outcome.exit_code == 1
    assert "s3://" in str(outcome.exports[0].error)
    assert s3.uploads() == []
    assert parts(s3.keys()) == []
    s3_proxy.faults.clear()
    assert lake.apply(resume=True).exit_code == 0
    assert rows(lake) == 40


@pytest.mark.parametrize("answer", ["slow_down", "lose"])
def test_o05_completing_an_upload_reads_nothing_again(lake, s3, s3_proxy, answer):
    """Throttled eight times, or done and never answered: the rows are not read again, and the file is there once."""
    s3_proxy.fail("CompleteMultipartUpload", answer, times=8 if answer == "slow_down" else 1)
    outcome = lake.apply()
    assert (outcome.exit_code, outcome.exports[0].retries) == (0, 0), outcome.exports[0].error
    assert s3_proxy.requests.count("CreateMultipartUpload") == 1
    assert rows(lake) == 40
    assert s3.uploads() == []
    assert len(parts(s3.keys())) == 1
    assert validate(lake.dataset("blobs"), "full") == []


@pytest.mark.parametrize("answer", ["slow_down", "internal_error", "lose", "reset"])
@pytest.mark.parametrize(("operation", "number"), [("CreateMultipartUpload", None), ("UploadPart", 2), ("UploadPart", 3)])
def test_o05_a_piece_is_sent_again_without_reading_again(lake, s3, s3_proxy, operation, number, answer):
    """The first, a full and the last piece: throttled three times, or done or undone without an answer."""
    s3_proxy.fail(operation, answer, times=1 if answer in ("lose", "reset") else 3, number=number)
    told: list[RunEvent] = []
    outcome = lake.apply(told.append)
    assert (outcome.exit_code, outcome.exports[0].retries) == (0, 0), outcome.exports[0].error
    assert [fault.times for fault in s3_proxy.faults] == [0]
    assert not [event for event in told if event.kind == "retry"]
    again = 1 if answer in ("lose", "reset") else 3
    assert s3_proxy.requests.count("UploadPart") == 3 + (again if number else 0)
    assert rows(lake) == 40
    assert validate(lake.dataset("blobs"), "full") == []
    assert s3.uploads() == []


def test_o04_an_upload_begun_twice_by_a_lost_answer_is_aborted_with_the_other(lake, s3, s3_proxy):
    s3_proxy.fail("CreateMultipartUpload", "lose")
    s3_proxy.fail("UploadPart", "internal_error", times=99, number=2)
    outcome = lake.apply()
    assert outcome.exit_code == 1
    assert s3_proxy.requests.count("CreateMultipartUpload") == 2
    assert s3.uploads() == []
    assert parts(s3.keys()) == []


def test_o04_sigterm_does_not_wait_for_a_store_that_throttles(lake, s3, s3_proxy):
    s3_proxy.fail("UploadPart", "slow_down", times=999)
    process = lake.project.start("run", "--json")
    until = time.monotonic() + 60
    while s3_proxy.requests.count("UploadPart") < 5 and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    asked = s3_proxy.requests.count("UploadPart")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 143, out + err
    assert json.loads(out)["exports"][0]["error"]["code"] == "interrupted"
    assert s3_proxy.requests.count("UploadPart") <= asked + 1
    assert s3.uploads() == []


@pytest.mark.parametrize("operation", ["UploadPart", "CompleteMultipartUpload", "PutObject"])
def test_rights_lost_while_writing_end_the_run_at_once_and_change_nothing(lake, s3, s3_proxy, operation):
    """Permanent, so nobody asks again; the dataset and the cursor of before stand."""
    lake.config({**BLOBS, "mode": "incremental", "cursor_column": "id"})
    lake.sql("CREATE TABLE aside AS SELECT * FROM blobs WHERE id > 2; DELETE FROM blobs WHERE id > 2;")
    assert lake.apply().exit_code == 0
    lake.sql("INSERT INTO blobs SELECT * FROM aside")
    before = lake.dataset("blobs").read()
    s3_proxy.requests.clear()
    s3_proxy.fail(operation, "denied", times=99)
    outcome = lake.apply()
    assert (outcome.exit_code, outcome.exports[0].retries) == (1, 0)
    error = outcome.exports[0].error
    assert error["error_class"] == "permission"
    assert "permission denied" in error["message"]
    assert "s3://" in error["message"]
    assert error["hint"]
    assert s3_proxy.requests.count(operation) == 1
    assert lake.dataset("blobs").read() == before
    assert s3.uploads() == []
    s3_proxy.faults.clear()
    assert lake.apply(resume=True).exit_code == 0
    assert rows(lake) == 40


@pytest.mark.parametrize("answer", ["lose", "reset", "slow_down"])
@pytest.mark.parametrize("ending", ["current.json", "manifest.json"])
def test_the_answer_to_the_commit_gets_lost(lake, s3_proxy, ending, answer):
    """What was replaced although nobody said so is read back; a conflict with oneself is none."""
    lake.sql("DELETE FROM blobs WHERE id > 2")
    assert lake.apply().exit_code == 0
    s3_proxy.fail("PutObject", answer, ending=ending)
    outcome = lake.apply()
    assert outcome.exit_code == 0, outcome.exports[0].error
    assert [fault.times for fault in s3_proxy.faults] == [0]
    dataset = lake.dataset("blobs")
    current, _ = dataset.read()
    assert (current.generation, current.run_id, current.rows) == (2, outcome.exports[0].run_id, 2)


def test_gc_aborts_what_a_killed_process_left(lake, s3, monkeypatch):
    killed = lake.project.run("run", environ={"RIVET_FAULT": "part_written"})
    assert killed.exit_code == -signal.SIGKILL, str(killed)
    assert len(s3.uploads()) == 1
    dataset = lake.dataset("blobs")
    later = datetime.now(UTC) + timedelta(days=2)
    (live,) = {part.key.split("run=")[1].split("/")[0] for part in dataset.store.uploads("blobs")}
    spared = find_garbage(dataset, live={live}, known=lambda run: True, keep_runs=1, now=later)
    assert spared.uploads == ()
    assert find_garbage(dataset, live=set(), known=lambda run: True, keep_runs=1).uploads == (), "younger than a day"
    remove(dataset, find_garbage(dataset, live=set(), known=lambda run: True, keep_runs=1, now=later))
    assert s3.uploads() == []
