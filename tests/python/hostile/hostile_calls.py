"""Every public call of the package, found by its signature, with arguments that it takes: a parameter that has none in
hostile_arguments.py, or a class without an object in hostile_world.py, ends the campaign. Then each parameter is given
each hostile value in turn.
"""

from __future__ import annotations

import inspect
import itertools
import typing
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import GeneratorType
from typing import Any

import hostile_children
import hostile_values
import hostile_world
from hostile_arguments import (
    ARGUMENTS,
    CALLBACKS,
    DUNDERS,
    NEEDED,
    NOT_CALLED,
    NOT_MADE,
    OF_CALLS,
    OPTIONS,
    REFUSED,
    SLOW,
    Arguments,
)
from hostile_world import MAKE, PLAIN_SUBJECTS, VARIANTS, World, hfd, hft, torch

import holdfastdb as hf
from holdfastdb import kmers, opening

MANY = 1 << 10
"""Elements of an iterator that a call gives are read up to here."""


# PyTorch takes a number for a type of elements, and reads behind its table of types for those that it does not have.
_FEW = 6
"""One of so many values."""


@dataclass(frozen=True)
class Call:
    """A public call on one subject, or on none."""

    name: str
    subject: str | None
    run: Callable[..., Any]
    """Called with the subject, if there is one, and the arguments by name."""
    positional: tuple[str, ...]
    """Parameters that have no name for the caller."""
    parameters: tuple[str, ...]
    given: Arguments
    """What it takes."""
    gpu_option: bool = False

    def arguments(self, world: World) -> dict[str, Any]:
        return {name: make(world) for name, make in self.given.items()}

    def call(self, world: World, arguments: dict[str, Any]) -> None:
        """Runs it, and reads what it gives as far as a user would."""
        subject = [] if self.subject is None else [world.get(self.subject)]
        placed = [arguments.pop(name) for name in self.positional if name in arguments]
        result = self.run(*subject, *placed, **arguments)
        if isinstance(result, GeneratorType):
            for _ in itertools.islice(result, MANY):
                pass
        if isinstance(result, hf.Table | hf.Pool | hf.Checkpoint):
            result.close()
        if isinstance(result, hf.SaveTicket):
            result.wait()


def _option_names(name: str, annotation: Any) -> list[str]:
    if name in OPTIONS:
        found = OPTIONS[name]
    elif typing.get_origin(annotation) is typing.Unpack:
        (found,) = typing.get_args(annotation)
    else:
        return []
    return list(getattr(found, "__annotations__", found)) + (
        [] if name != "Table.open" else list(opening.WorkOptions.__annotations__)
    )


def _call(name: str, subject: str | None, run: Callable[..., Any], described: Any, skip: int) -> Call:
    """Its parameters, the first `skip` of them aside."""
    owner = f"{name.rpartition('.')[0]}"
    found = list(inspect.signature(described).parameters.values())[skip:]
    hints = typing.get_type_hints(described, include_extras=True) if "holdfastdb" in described.__module__ else {}
    names: list[str] = []
    positional: list[str] = []
    defaults: dict[str, bool] = {}
    """Whether the call takes one by itself that is as good as ours."""
    for one in found:
        if one.kind is one.VAR_KEYWORD:
            options_of = _option_names(name, hints.get(one.name, one.annotation))
            more = [extra for extra in dict.fromkeys(options_of) if extra not in names]
            names += more
            defaults |= dict.fromkeys(more, True)
            continue
        names.append(one.name)
        if one.kind in (one.VAR_POSITIONAL, one.POSITIONAL_ONLY):
            positional.append(one.name)
        defaults[one.name] = one.default is not one.empty or one.kind is one.VAR_POSITIONAL
        if one.name in NEEDED and one.default in (None, *SLOW.get(one.name, ())):
            defaults[one.name] = False
    given: Arguments = {}
    short = name.rpartition(".")[2]
    for parameter in names:
        chosen: Any = ARGUMENTS.get(parameter)
        if defaults[parameter]:
            chosen = None
        for key in (owner, subject, name, f"{subject}.{short}"):
            if key in OF_CALLS and parameter in OF_CALLS[key]:
                chosen = OF_CALLS[key][parameter]
        if chosen is not None:
            given[parameter] = chosen
        elif not defaults[parameter] and parameter not in NEEDED:
            raise LookupError(f"{name} has a parameter {parameter}, and hostile_arguments.py no argument for it")
    return Call(name, subject, run, tuple(positional), tuple(names), given)


def _bound(name: str) -> Callable[..., Any]:
    return lambda on, /, *placed, **named: getattr(on, name)(*placed, **named)


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    for name, member in inspect.getmembers_static(kind):
        where = getattr(getattr(member, "__func__", member), "__module__", "") or ""
        if isinstance(member, property):
            where = member.fget.__module__ if member.fget else ""
        if not where.startswith("holdfastdb") or (name.startswith("_") and name not in DUNDERS):
            continue
        if kind.__name__ not in NOT_CALLED.get(name, ()):
            yield name, member


def _of_class(kind: type) -> Iterator[Call]:
    plain = kind.__name__
    if plain not in NOT_MADE and not issubclass(kind, tuple | BaseException) and kind.__init__ is not object.__init__:
        yield _call(f"{plain}.__init__", None, kind, kind.__init__, 1)
    if plain in NOT_MADE and plain not in MAKE:
        return
    if issubclass(kind, tuple | BaseException):
        return
    for name, member in _methods(kind):
        full = f"{plain}.{name}"
        if isinstance(member, classmethod | staticmethod):
            skip = 1 if isinstance(member, classmethod) else 0
            yield _call(full, None, getattr(kind, name), member.__func__, skip)
            continue
        if plain not in MAKE:
            if plain in ("Constant", "Uniform", "Normal", "Gpu"):
                continue
            raise LookupError(f"the public class {plain} has methods, and hostile_world.py no object of it")
        for subject in VARIANTS.get(plain, (plain,)):
            if isinstance(member, property):
                yield Call(full, subject, lambda on, name=name: getattr(on, name), (), (), {})
                if member.fset:
                    given = OF_CALLS.get(f"{full}=", {}).get("value", ARGUMENTS["step"])
                    yield Call(f"{full}=", subject, lambda on, value, name=name: setattr(on, name, value), (),
                               ("value",), {"value": given})  # fmt: skip
            elif callable(member):
                yield _call(full, subject, _bound(name), member, 1)


def _of_gpu() -> Iterator[Call]:
    """What the options of `Gpu` are used for."""

    def open_with(**fields: Any) -> hf.Table:
        return hf.Table.open(fields.pop("path"), "cpu", gpu=hf.Gpu(**fields))

    fields = tuple(inspect.signature(hf.Gpu).parameters)
    yield Call("Gpu", None, open_with, (), fields, {"path": lambda world: world.file("table.hold")})


def _of_operators() -> Iterator[Call]:
    """PyTorch's operators, by their schemas."""
    for name in ("find", "embed", "find_or_insert", "insert_or_assign", "accumulate"):
        operator = getattr(torch.ops.holdfastdb, name, None)
        if operator is None:
            continue
        schema = operator.default._schema
        names = tuple(argument.name for argument in schema.arguments)
        known: Arguments = {
            "anchor": lambda _: torch.zeros(1), "handle": lambda world: hft.handle(world.get("Table")),
            "keys": lambda _: torch.arange(4), "rows": lambda _: torch.zeros(4, 2), "columns": lambda _: 2,
            "stored": lambda _: torch.float32, "dtype": lambda _: torch.float32,
        }  # fmt: skip
        given = {one: known[one] for one in names if one in known}
        lacking = [one.name for one in schema.arguments if one.name not in given and not one.has_default_value()]
        if not lacking:
            yield Call(f"ops.{name}", None, operator, (), names, given)


def every_call() -> list[Call]:
    """Of all modules that users import."""
    modules = [hf, hf.initial, kmers] + ([hft, hfd] if torch is not None else [])
    found: dict[int, Any] = {}
    for module in modules:
        shown = getattr(module, "__all__", None)
        for name in shown or [name for name in vars(module) if not name.startswith("_")]:
            member = getattr(module, name)
            where = getattr(member, "__module__", None) or ""
            if callable(member) and (where.startswith("holdfastdb") if shown else where == module.__name__):
                found[id(member)] = member
    calls: list[Call] = []
    for member in found.values():
        if isinstance(member, type):
            if member.__name__ != "Gpu":
                calls += _of_class(member)
        elif member.__module__ != "holdfastdb.initial":
            calls.append(_call(member.__name__, None, member, member, 0))
    calls += _of_gpu()
    if torch is not None:
        calls += _of_operators()
    return calls


@dataclass(frozen=True)
class Case:
    """One call with one hostile argument; none: as it is meant."""

    call: Call
    parameter: str | None = None
    value: str | None = None

    def __str__(self) -> str:
        subject = f" ({self.call.subject})" if self.call.subject not in (None, self.call.name.split(".")[0]) else ""
        return f"{self.call.name}{subject} {self.parameter}={self.value}"

    def run(self, folder: Path) -> str:
        """Runs it; the word for what came of it."""
        world = World(hostile_world.TEMPLATE, folder)
        with ExitStack() as ends:
            ends.callback(world.unharmed)
            arguments: dict[str, Any] = {}
            try:
                arguments = self.call.arguments(world)
                if self.parameter is not None and self.value is not None:
                    if self.parameter == "init":  # instead of values
                        arguments.pop("values", None)
                        arguments["dtype"] = "f4"
                    arguments[self.parameter] = hostile_values.VALUES[self.value]()
                self.call.call(world, dict(arguments))
            except KeyError:
                if self.call.name.endswith(("__getitem__", "__delitem__")):  # as a mapping says that a key is absent
                    return "KeyError"
                raise
            except BaseException as error:
                if self.call.name.startswith("ops.") and hostile_children.is_foreign(error):
                    return "refused by PyTorch"
                if self.parameter in CALLBACKS and callable(arguments.get(self.parameter)):
                    return "raised by the argument"
                word = hostile_children.outcome_of(error)
                meant = self.parameter is None and self.call.subject in PLAIN_SUBJECTS
                if meant and self.call.name not in REFUSED:
                    raise hostile_children.Fault(f"refused as it is meant: {word}: {error}") from error
                return word
        return "done"


def every_case() -> list[Case]:
    """Each call as it is meant, and then with each hostile value for each parameter; of objects that refuse every call,
    or every change, with some."""
    cases, values = [], list(hostile_values.VALUES)
    for number, call in enumerate(every_call()):
        refuses = call.subject is not None and call.subject.endswith((", closed", ", read-only"))
        cases.append(Case(call))
        for parameter in call.parameters:
            chosen = values[number % _FEW :: _FEW] if refuses else values
            if call.name.startswith("ops.") and parameter in ("stored", "dtype"):
                chosen = [value for value in chosen if value not in hostile_values.PLAIN]
            cases += [Case(call, parameter, value) for value in chosen]
    return cases
