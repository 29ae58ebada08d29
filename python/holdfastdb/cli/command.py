"""What commands are made of beyond Typer's: numbers as other programs write them, keys below zero, and errors in one
line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from ..schema.columns import BadCell, whole

_BELOW_ZERO = re.compile(r"-(?:0[xX][0-9a-fA-F]+|[\d._]+)")
NUMBER = "NUMBER"
"""In the help, in place of a name for what `number` parses."""


def number(least: int | None = None, most: int | None = None) -> Callable[[str], int]:
    """The parser of an option: a whole number within limits. Python's takes 1_0 and digits of other alphabets too."""

    def parse(text: str) -> int:
        try:
            value = whole(str(text))
        except BadCell as error:
            raise typer.BadParameter(str(error)) from None
        if (least is not None and value < least) or (most is not None and value > most):
            limits = f"{least} or more" if most is None else f"{least} to {most}"
            raise typer.BadParameter(f"{value} is out of range: give {limits}")
        return value

    return parse


_UsageError: Any = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")
"""Typer's name for it depends on its version."""


@contextmanager
def _usage_in_one_line() -> Iterator[None]:
    """Shows what was given wrongly as every other error is shown; Typer draws a box around it."""
    try:
        yield
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            raise
        said = " ".join(error.format_message().split()).rstrip(".")
        path = getattr(getattr(error, "ctx", None), "command_path", None) or "holdfast"
        typer.echo(f"holdfast: {said[:1].lower()}{said[1:]}; see {path} --help", err=True)
        raise typer.Exit(2) from None


class Commands(TyperGroup):
    """All of them: an error in what was given, for any of them, is one line."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _usage_in_one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with _usage_in_one_line():
            return super().invoke(ctx)


class KeyCommand(TyperCommand):
    """A command whose arguments are keys and values: -5 is one. Others with a dash in front go behind `--`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        names = {name for param in self.get_params(ctx) for name in (*param.opts, *param.secondary_opts)}
        dashed = [one for one in takewhile(lambda one: one != "--", args) if one.startswith("-") and one != "-"]
        unknown = [one for one in dashed if one.partition("=")[0] not in names]
        if others := [one for one in unknown if not _BELOW_ZERO.fullmatch(one)]:
            ctx.fail(f"No such option: {others[0]}. Put -- before keys and values that begin with a dash.")
        ctx.ignore_unknown_options = bool(unknown)
        return super().parse_args(ctx, args)
