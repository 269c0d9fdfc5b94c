"""Commands that declare their arguments, and leave the work to a function elsewhere."""

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

import typer


def command(app: typer.Typer, address: str, panel: str | None = None) -> Callable[..., Any]:
    """Make a command of a function that has arguments and a docstring, but no body.

    Args:
        app: Gets the command, under the function's name.
        address: 'module:function' of the package; it gets the arguments in the same order, and is
            imported when the command is called, so that help and completion are quick.
        panel: Heading of the command in the help.
    """
    module, _, name = address.partition(":")

    def declare(declared: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(declared)
        def call(*given: Any, **named: Any) -> None:
            function = getattr(importlib.import_module(f"crossmodal.{module}"), name)
            function(*inspect.signature(declared).bind(*given, **named).args)

        return app.command(declared.__name__.rstrip("_"), rich_help_panel=panel)(call)

    return declare
