from __future__ import annotations

import pytest

from rivet_core.testing import Outcome


def outcome(exit_code=0, stdout="", stderr=""):
    return Outcome(("rivet", "plan"), exit_code, stdout, stderr, 0.1)


def test_it_runs_the_real_command_line(rivet):
    shown = rivet.run("--version").assert_done()
    assert "0.1.0" in shown.stdout


def test_a_config_is_written_without_its_indentation(rivet):
    path = rivet.config("""
        exports:
          - name: orders
    """)
    assert path.read_text() == "exports:\n  - name: orders\n"
    assert [str(name) for name in rivet.files()] == ["rivet.yaml"]


def test_the_environment_is_clean_but_for_what_is_given(rivet, monkeypatch):
    monkeypatch.setenv("RIVET_PLUGINS_BLOCK", "core")
    rivet.run("plugins", "list").assert_done()
    rivet.run("plugins", "list", environ={"RIVET_PLUGINS_BLOCK": "core"}).assert_failed(2, "core cannot be blocked")


def test_json_is_the_whole_of_standard_output():
    assert outcome(stdout='{"a": 1}\n').json() == {"a": 1}
    with pytest.raises(AssertionError, match="not one JSON document"):
        outcome(stdout='note\n{"a": 1}').json()


def test_the_assertions_fail_when_they_should():
    outcome().assert_done().assert_hides("secret")
    outcome(2, stderr="error: No Such File\nhint: look").assert_failed(2, "no such file")
    with pytest.raises(AssertionError, match="exit 1"):
        outcome(1).assert_done()
    with pytest.raises(AssertionError, match="expected exit 2"):
        outcome(1).assert_failed(2)
    with pytest.raises(AssertionError, match="'hint:' is not in the output"):
        outcome(2, stderr="error: x").assert_failed(2, "hint:")
    with pytest.raises(AssertionError, match="a secret was printed"):
        outcome(stderr="p4ss").assert_hides("p4ss")
    with pytest.raises(AssertionError):
        outcome(1, stderr="Traceback (most recent call last):").assert_failed(1)
