"""What all checks share: the record under test, found the way core finds it, and a count of the checks themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import pytest

if TYPE_CHECKING:
    from rivet_core.plugins import Registry


class Conformance:
    """Base of every kind. `CHECKS` is how many checks the kind has; a subclass can add some, but not lose one unnoticed."""

    CHECKS: ClassVar[int] = 0
    HOOK: ClassVar[str] = ""
    name: ClassVar[str] = ""
    """The name of the record under test."""

    @pytest.fixture
    def registry(self) -> Registry:
        """The plugins installed in this environment, as core admits them."""
        from rivet_core.plugins import load_plugins

        return load_plugins(environ={})

    @pytest.fixture
    def record(self, registry: Registry) -> Any:
        """The record under test. Override it to test one that is not installed."""
        from rivet_core.plugins import Status

        usable = [plugin for plugin in registry.plugins if plugin.status is Status.OK]
        found = [record for plugin in usable for record in plugin.hooks.get(self.HOOK, ()) if record.name == self.name]
        offered = sorted(record.name for plugin in usable for record in plugin.hooks.get(self.HOOK, ()))
        assert found, f"no usable plugin offers {self.name!r} through {self.HOOK}; offered: {', '.join(offered) or 'nothing'}"
        return found[0]

    def test_every_check_of_the_kit_runs(self) -> None:
        """A check that a subclass hides by a method of the same name proves nothing."""
        kit = {
            check: method
            for owner in reversed(type(self).__mro__)
            if owner.__module__.startswith("rivet_core.testing.conformance")
            for check, method in vars(owner).items()
            if check.startswith("test_")
        }
        hidden = [check for check, method in kit.items() if getattr(type(self), check) is not method]
        assert not hidden, f"hidden by methods of the same name: {', '.join(hidden)}"
        assert len(kit) == self.CHECKS, f"the kit has {len(kit)} checks for this kind, {self.CHECKS} are announced"


def fault_of(error: BaseException) -> str:
    """Return everything a user could get to see of an error, its causes included."""
    seen: list[str] = []
    current: BaseException | None = error
    while current is not None:
        seen += [str(current), repr(current), str(getattr(current, "hint", ""))]
        current = current.__cause__ or current.__context__
    return "\n".join(seen)
