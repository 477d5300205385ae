"""The loader: statuses, refusals, attribution, and that no plugin can hurt another."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake import install, rule

from rivet_core.errors import ConfigError, PluginError
from rivet_core.hookspecs import HOOK_RECORDS
from rivet_core.plugins import PluginInfo, Registry, Status, load_plugins


def loaded(name: str, **arguments: object) -> PluginInfo:
    registry = load_plugins(environ={}, **arguments)  # type: ignore[arg-type]
    return next(plugin for plugin in registry.plugins if plugin.name == name)


def test_core_offers_its_own_sources_destinations_rules_and_policies_through_the_same_hooks() -> None:
    core = loaded("core")
    assert core.status is Status.OK
    assert core.dist == "rivet-core"
    offered = {hook: {record.name for record in records} for hook, records in core.hooks.items()}
    assert "sqlite" in offered["rivet_sources"]
    assert "local" in offered["rivet_destinations"]
    assert {"waves", "longest-first"} <= offered["rivet_scheduling_policies"]
    assert offered["rivet_scoring_rules"]
    assert offered["rivet_cursor_classifiers"]


def test_a_good_plugin_is_ok_and_its_records_know_their_owner(site: Path) -> None:
    install(site, "acme", rule())
    registry = load_plugins(environ={})
    owned = next(owned for owned in registry.rules if owned.record.name == "audit")
    assert owned.plugin.lock() == {"name": "acme", "dist": "rivet-acme", "version": "1.2.3", "api": 1}
    registry.require_usable()


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("raise RuntimeError('no luck')", "RuntimeError: no luck"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("import not_there_at_all", "ModuleNotFoundError"),
        ("x = 1", "implements no hook"),
        (
            "from rivet_core.api import hookimpl\n@hookimpl\ndef rivet_scoring_rule():\n    return []",
            "did you mean rivet_scoring_rules?",
        ),
        ("from rivet_core.api import hookimpl\n@hookimpl\ndef rivet_sources(config):\n    return []", "takes arguments"),
        ("from rivet_core.api import hookimpl\n@hookimpl\ndef rivet_sources():\n    return None", "NoneType, not a sequence"),
        ("from rivet_core.api import hookimpl\n@hookimpl\ndef rivet_sources():\n    yield 1", "generator, not a sequence"),
        ("from rivet_core.api import hookimpl\n@hookimpl\ndef rivet_sources():\n    return ['x']", "a str where SourceSpec"),
        ("from rivet_core.api import hookimpl\n@hookimpl\ndef rivet_sources():\n    1 / 0", "ZeroDivisionError"),
        ("def rivet_sources():\n    return []", "not marked with hookimpl"),
        (
            "import pluggy\n@pluggy.HookimplMarker('rivet')(tryfirst=True)\ndef rivet_sources():\n    return []",
            "asks for tryfirst",
        ),
        (
            "import pluggy\n@pluggy.HookimplMarker('rivet')(wrapper=True)\ndef rivet_sources():\n    yield",
            "asks for wrapper",
        ),
        (rule(code="RV101"), "not of the form X-<vendor>-nnn"),
        (rule(name="bad name!"), "not a usable name"),
    ],
)
def test_a_bad_plugin_is_broken_in_words_and_stops_planning_but_not_the_others(site: Path, code: str, why: str) -> None:
    install(site, "bad", code)
    install(site, "good", rule())
    registry = load_plugins(environ={})
    bad = next(plugin for plugin in registry.plugins if plugin.name == "bad")
    assert bad.status is Status.BROKEN
    assert why in bad.detail
    assert any(owned.record.name == "audit" for owned in registry.rules)
    with pytest.raises(PluginError, match="bad") as caught:
        registry.require_usable()
    assert caught.value.exit_code == 3
    assert "RIVET_PLUGINS_BLOCK=bad" in caught.value.hint


def test_blocking_by_config_variable_or_allow_list(site: Path) -> None:
    install(site, "bad", "raise RuntimeError('x')")
    for registry in (
        load_plugins(block=["bad"], environ={}),
        load_plugins(environ={"RIVET_PLUGINS_BLOCK": " bad , other"}),
        load_plugins(block=["rivet-bad"], environ={}),
        load_plugins(allow=["rivet-other"], environ={}),
    ):
        assert next(plugin for plugin in registry.plugins if plugin.name == "bad").status is Status.BLOCKED
        assert next(plugin for plugin in registry.plugins if plugin.name == "core").status is Status.OK
        registry.require_usable()


def test_core_cannot_be_blocked() -> None:
    with pytest.raises(ConfigError):
        load_plugins(block=["core"], environ={})


@pytest.mark.parametrize(("group", "upgrade"), [("rivet.v0", "rivet-other"), ("rivet.v2", "rivet-core")])
def test_another_api_is_incompatible_and_never_imported(site: Path, group: str, upgrade: str) -> None:
    install(site, "other", "raise AssertionError('imported')", group=group)
    plugin = loaded("other")
    assert plugin.status is Status.INCOMPATIBLE
    assert plugin.hint.endswith(upgrade)
    with pytest.raises(PluginError):
        load_plugins(environ={}).require_usable()


def test_two_plugins_with_one_record_name_are_both_broken_and_both_named(site: Path) -> None:
    install(site, "one", rule("same"))
    install(site, "two", rule("same"))
    for name in ("one", "two"):
        plugin = loaded(name)
        assert plugin.status is Status.BROKEN
        assert "one (rivet-one) and two (rivet-two)" in plugin.detail


def test_a_plugin_cannot_take_a_name_of_core(site: Path) -> None:
    code = """
        from rivet_core.api import hookimpl, DestinationSpec
        @hookimpl
        def rivet_destinations():
            return [DestinationSpec(name="local", summary="mine", options="a:b", open="a:b")]
    """
    install(site, "thief", code)
    assert loaded("thief").status is Status.BROKEN
    assert load_plugins(environ={}).destinations["local"].plugin.name == "core"


def test_two_distributions_with_one_plugin_name_are_broken(site: Path) -> None:
    install(site, "twin", rule("a"), dist="twin-a")
    install(site, "twin", rule("b"), dist="twin-b")
    plugins = [plugin for plugin in load_plugins(environ={}).plugins if plugin.name == "twin"]
    assert {plugin.status for plugin in plugins} == {Status.BROKEN}
    assert all("twin-a and twin-b" in plugin.detail for plugin in plugins)


def test_what_a_plugin_prints_at_load_stays_off_stdout(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(site, "loud", "print('noise')" + rule())
    loaded("loud")
    assert capsys.readouterr().out == ""


def test_order_of_installation_cannot_matter(site: Path) -> None:
    install(site, "zeta", rule("z"))
    install(site, "alpha", rule("a"))
    names = [owned.record.name for owned in load_plugins(environ={}).rules if owned.plugin.name in ("zeta", "alpha")]
    assert names == ["a", "z"]


def test_unknown_types_say_what_to_install() -> None:
    registry = Registry([])
    with pytest.raises(PluginError) as caught:
        registry.source("postgres")
    assert caught.value.hint == "pip install rivet-postgres"
    with pytest.raises(PluginError) as caught:
        registry.destination("azure")
    assert "pip install" not in caught.value.hint
    assert "type: fsspec" in caught.value.hint


def test_a_reference_that_leads_nowhere_is_a_plugin_error() -> None:
    with pytest.raises(PluginError):
        Registry([]).resolve("no_such_module_here:thing")
    with pytest.raises(PluginError):
        Registry([]).resolve("json:nothing")


@pytest.mark.parametrize("hook", sorted(HOOK_RECORDS))
def test_every_hook_is_called_and_typed(site: Path, hook: str) -> None:
    record = HOOK_RECORDS[hook].__name__
    install(site, "probe", f"from rivet_core.api import hookimpl\n@hookimpl\ndef {hook}():\n    return ()")
    assert loaded("probe").hooks == {hook: ()}
    install(site, "wrong", f"from rivet_core.api import hookimpl\n@hookimpl\ndef {hook}():\n    return [object()]")
    assert f"where {record} is due" in loaded("wrong").detail


def test_only_named_plugins_take_part_whatever_else_their_distribution_offers(site: Path) -> None:
    install(site, "acme", rule())
    install(site, "broken", "raise RuntimeError")
    install(site, "other", rule(name="other"))
    registry = load_plugins(environ={}, names=["acme"])
    registry.require_usable()
    assert {plugin.name for plugin in registry.plugins if plugin.status is Status.OK} == {"core", "acme"}
    assert next(plugin.detail for plugin in registry.plugins if plugin.name == "other") == "the plan does not name it"
