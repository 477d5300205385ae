"""A typer application whose commands have stdout for their data alone."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import typer

from rivet_core.cli.output import data_apart

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class Application(typer.Typer):
    """As typer's, but what anything else prints while a command runs goes to stderr."""

    def command(self, *names: Any, **settings: Any) -> Callable[[FunctionT], FunctionT]:
        """Add a command."""
        return _registering(super().command(*names, **settings))

    def callback(self, *names: Any, **settings: Any) -> Callable[[FunctionT], FunctionT]:
        """Set what runs before the commands, or without one."""
        return _registering(super().callback(*names, **settings))


def _registering(register: Callable[[Any], Any]) -> Callable[[FunctionT], FunctionT]:
    def take(function: FunctionT) -> FunctionT:
        @functools.wraps(function)
        def run(*arguments: Any, **named: Any) -> Any:
            with data_apart():
                return function(*arguments, **named)

        register(run)
        return function

    return take
