"""Finds the studies: what the modules in the folders of bench/ say that they have (bench/__init__.py)."""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import bench
from bench.frame.results import Json

BUILT = ("_bench", "holdfastdb")
"""What a module may need and a checkout may lack: the benchmarks' C++ half, and the package."""

Command = Callable[..., None]
MakeTable = Callable[[Json], str]
Draw = Callable[[Json, Path], Path]


@dataclass
class Found:
    """What all modules have. `left_out`: those that need what is not built here."""

    commands: dict[str, Command] = field(default_factory=dict)
    suite: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    tables: dict[str, MakeTable] = field(default_factory=dict)
    plots: dict[str, Draw] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def names(package: ModuleType = bench) -> Iterable[str]:
    """The modules in the folders beside frame/."""
    for folder in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if folder.ispkg and not folder.name.endswith(".frame"):
            path = importlib.import_module(folder.name).__path__
            yield from (found.name for found in pkgutil.iter_modules(path, f"{folder.name}."))


def find(modules: Sequence[str] | None = None) -> Found:
    """Imports the modules, all of them if none is named. Raises ValueError where two have one name for two things."""
    found = Found()
    for name in names() if modules is None else modules:
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.split(".")[0] not in BUILT:
                raise
            found.left_out.append(name)
            continue
        for kind in ("commands", "tables", "plots"):
            _add(getattr(found, kind), getattr(module, kind.upper(), {}), f"{name}.{kind.upper()}")
        found.suite += getattr(module, "SUITE", [])
    return found


def _add(known: dict[str, Any], more: Mapping[str, Any], where: str) -> None:
    if twice := set(known) & set(more):
        raise ValueError(f"{where}: another study has {', '.join(sorted(twice))} already; choose another name")
    known |= more
