"""The campaign file is read strictly, and every refusal names its place."""

from __future__ import annotations

import copy
import json

import pytest

from rivet_core.errors import ConfigError
from rivet_core.facts import GroupCapacity
from rivet_core.scheduling.campaign_file import campaign_schema, parse_campaign, read_campaign

GOOD = {
    "workers": 8,
    "groups": {"crm": {"max_connections": 4, "max_heavy": 1}},
    "exports": [
        {
            "name": "orders",
            "group": "crm",
            "predicted_seconds": 61.0,
            "actual_seconds": 70.5,
            "heavy": True,
            "parallel_safe": False,
            "connections": 1,
            "tier": "high",
            "wave": 2,
        },
        {"name": "items", "predicted_seconds": 5, "depends_on": ["orders"], "wave": None},
    ],
}


def changed(path, value):
    campaign = copy.deepcopy(GOOD)
    place = campaign
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return campaign


def test_the_documented_example():
    campaign = parse_campaign(GOOD)
    orders, items = campaign.jobs
    assert campaign.capacities.groups == {"crm": GroupCapacity(max_connections=4, max_heavy=1)}
    assert (campaign.capacities.workers, campaign.actual) == (8, {"orders": 70.5})
    assert (orders.heavy, orders.parallel_safe, orders.serial, orders.tier, orders.wave) == (True, False, False, "high", 2)
    assert (items.wave, items.depends_on, items.position, items.rank) == (None, ("orders",), 1, 1)


def test_defaults():
    campaign = read_campaign('{"groups": {"g": {}}, "exports": [{"name": "a", "predicted_seconds": 1, "group": "g"}]}')
    assert campaign.capacities.workers == 4
    assert campaign.capacities.groups["g"] == GroupCapacity(max_connections=4, max_heavy=1)
    assert campaign.jobs[0].parallel_safe


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("workers",), 0, "workers must be a whole number from 1"),
        (("workers",), True, "workers must be"),
        (("workers",), 2.5, "workers must be"),
        (("wrokers",), 2, "wrokers: unknown key"),
        (("groups",), [], "groups must be an object"),
        (("groups", "crm"), 4, "groups.crm must be an object"),
        (("groups", "crm", "max_heavy"), 0, "groups.crm.max_heavy must be"),
        (("groups", "crm", "max_conections"), 3, "groups.crm.max_conections: unknown key"),
        (("exports",), {}, "exports must be a list"),
        (("exports", 0), "orders", r"exports\[0\] must be an object"),
        (("exports", 0, "name"), "", r"exports\[0\].name must be a text"),
        (("exports", 1, "name"), "orders", r"exports\[1\].name: 'orders' is already the name of exports\[0\]"),
        (("exports", 0, "group"), "crn", r"exports\[0\].group: no group 'crn'"),
        (("exports", 0, "predicted_seconds"), -1, r"exports\[0\].predicted_seconds must be"),
        (("exports", 0, "predicted_seconds"), "61", r"exports\[0\].predicted_seconds must be"),
        (("exports", 0, "predicted_seconds"), None, r"exports\[0\].predicted_seconds must be"),
        (("exports", 0, "predicted_seconds"), True, r"exports\[0\].predicted_seconds must be"),
        (("exports", 0, "predicted_seconds"), float("inf"), r"exports\[0\].predicted_seconds must be"),
        (("exports", 0, "predicted_seconds"), 10**400, r"exports\[0\].predicted_seconds must be"),
        (("exports", 0, "actual_seconds"), -0.5, r"exports\[0\].actual_seconds must be"),
        (("exports", 0, "heavy"), 1, r"exports\[0\].heavy must be true or false"),
        (("exports", 0, "connections"), 0, r"exports\[0\].connections must be"),
        (("exports", 0, "tier"), "urgent", r"exports\[0\].tier: 'urgent' is not a tier"),
        (("exports", 0, "wave"), 1.5, r"exports\[0\].wave must be"),
        (("exports", 1, "depends_on"), "orders", r"exports\[1\].depends_on must be a list"),
        (("exports", 1, "depends_on"), ["ordres"], r"exports\[1\].depends_on: no export 'ordres'"),
        (("exports", 0, "depends_on"), ["items"], "circle"),
    ],
)
def test_what_is_wrong_is_named(path, value, words):
    with pytest.raises(ConfigError, match=words) as caught:
        parse_campaign(changed(path, value))
    assert caught.value.hint


def test_the_nearest_name_is_offered():
    with pytest.raises(ConfigError) as caught:
        parse_campaign(changed(("exports", 0, "group"), "crn"))
    assert caught.value.hint == "did you mean crm?"


def test_a_missing_key_is_named():
    with pytest.raises(ConfigError, match="exports is missing"):
        parse_campaign({"workers": 1})
    with pytest.raises(ConfigError, match=r"exports\[0\].predicted_seconds is missing"):
        parse_campaign({"exports": [{"name": "a"}]})


@pytest.mark.parametrize(
    "text", ["", "[1,", "[]", "null", '{"workers": 1, "workers": 2, "exports": []}', '{"exports": NaN}', "[" * 100000, b"\xff"]
)
def test_a_text_that_is_no_campaign(text):
    with pytest.raises(ConfigError):
        read_campaign(text)


def test_an_empty_campaign_is_fine():
    assert read_campaign('{"exports": []}').jobs == ()


def test_the_schema_knows_every_key_that_the_reader_takes():
    schema = campaign_schema()
    json.dumps(schema)
    assert set(schema["properties"]) == {"workers", "groups", "exports"}
    export = schema["properties"]["exports"]["items"]
    assert set(GOOD["exports"][0]) < set(export["properties"])
    assert export["required"] == ["name", "predicted_seconds"]
