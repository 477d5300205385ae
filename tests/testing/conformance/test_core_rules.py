"""Core's rules and emitters under the kit, as any third party's."""

from __future__ import annotations

import pytest

from rivet_core.builtin.emitters import builtin_emitters
from rivet_core.builtin.rules import builtin_rules
from rivet_core.testing import EmitterConformance, RuleConformance


class TestRules(RuleConformance):
    @pytest.fixture(params=builtin_rules(), ids=lambda rule: rule.name)
    def record(self, request):
        return request.param


class TestEmitters(EmitterConformance):
    @pytest.fixture(params=builtin_emitters(), ids=lambda emitter: emitter.name)
    def record(self, request):
        return request.param
