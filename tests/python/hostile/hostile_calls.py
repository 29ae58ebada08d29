"""Every public call of the package, found by its signature, with arguments that it takes: a parameter that has no such
argument here, or a class without an object, ends the campaign. Then each parameter is given each hostile value in turn.
"""

from __future__ import annotations

import inspect
import itertools
import shutil
import tempfile
import typing
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import GeneratorType
from typing import Any

import hostile_children
import hostile_values
import numpy as np

import holdfastdb as hf
from holdfastdb import kmers, options

try:
    import torch

    import holdfastdb.torch as hft
    import holdfastdb.torch.distributed as hfd
except ImportError:
    torch = hft = hfd = None  # type: ignore[assignment]

TEMPLATE = Path(tempfile.gettempdir()) / "holdfast-hostile-template"
"""Set by who runs cases: a folder that `World.prepare` has filled."""
MANY = 1 << 10
"""Elements of an iterator that a call gives are read up to here."""


class World:
    """A folder with files of every kind, and objects that are made when a call asks for them."""

    def __init__(self, template: Path, folder: Path) -> None:
        self._template, self.folder = template, folder
        self._made: dict[str, Any] = {}

    @staticmethod
    def prepare(template: Path) -> None:
        """Files that every case begins with: opened ones are copied first."""
        template.mkdir()
        keys = np.arange(8, dtype=np.uint64)
        for name, shape, rows, given in (
            ("table", {"score": "step"}, keys, keys),
            ("wide", {"key": 16, "value": 16}, np.zeros((8, 16), np.uint8), keys.repeat(2).reshape(8, 2)),
            ("any", {"key": bytes, "value": bytes}, [b"%d" % i for i in range(8)], [b"x"] * 8),
        ):
            if name == "wide":
                rows[:, 0] = keys
            with hf.Table.create(template / f"{name}.hold", capacity=64, device="cpu", **shape) as table:
                table.insert(rows, given)
        with hf.Pool.create(template / "pool.hold") as pool:
            for name in ("first", "second"):
                with pool.create_table(name, capacity=64, device="cpu") as table:
                    table.insert(keys, keys)
            with hf.Checkpoint(pool) as checkpoint:
                checkpoint.save({"a": np.arange(3.0), "n": 1}, 5).wait()
                checkpoint.export(template / "state.safetensors")
        with hf.Table.open(template / "table.hold", device="cpu") as table:
            hf.dump(table, template / "table.csv")
        (template / "reads.fa").write_text(">a\nACGTACGTACGTTTGA\n")
        kmers.write(kmers.count(template / "reads.fa", k=4, threads=1), template / "kmers.txt")
        if torch is not None:
            _save_distributed(template / "{rank}.hold")

    def file(self, name: str) -> Path:
        """A copy of one of them."""
        if not (self.folder / name).exists():
            shutil.copy(self._template / name, self.folder / name)
        return self.folder / name

    def get(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = _MAKE[name](self)
        return self._made[name]

    def unharmed(self) -> None:
        """The tables that a case used work, and have no error."""
        for made in list(self._made.values()):
            if isinstance(made, hf.Table) and not made.closed:
                report = made.check()
                assert report.ok, report.errors
        for made in list(self._made.values()):
            if hasattr(made, "close"):
                made.close()
        self._made.clear()


def _save_distributed(path: Path) -> None:
    import torch.distributed.checkpoint as dcp

    with warnings.catch_warnings(), hfd.PoolWriter(path) as writer:
        warnings.simplefilter("ignore")
        dcp.save({"weight": torch.ones(2)}, storage_writer=writer, checkpoint_id="7", no_dist=True)


def _closed(kind: str) -> Callable[[World], Any]:
    def make(world: World) -> Any:
        world.get(kind).close()
        return world.get(kind)

    return make


def _table(name: str, **how: Any) -> Callable[[World], hf.Table]:
    return lambda world: hf.Table.open(world.file(f"{name}.hold"), "cpu", **how)


def _embedding(world: World) -> Any:
    made = hf.Table.create(world.folder / "embedding.hold", value=12, capacity=64, device="cpu")
    world._made["embedding table"] = made
    return hft.Embedding(made.column(0, 8), 2)


def _rows(world: World) -> Any:
    embedding = world.get("Embedding")
    embedding(torch.arange(4)).sum().backward()
    return embedding.rows


def _more_rows(world: World) -> Any:
    """A parameter that no optimizer has yet."""
    return hft.Embedding(world.get("Embedding").table.table.column(0, 4), 1).rows


_MAKE: dict[str, Callable[[World], Any]] = {
    "Table": _table("table"),
    "Table, wide": _table("wide"),
    "Table, any length": _table("any"),
    "Table, read-only": _table("table", mode="r"),
    "Table, closed": _closed("Table"),
    "Column": lambda world: world.get("Table").column(0, 4),
    "MemoryTable": lambda _: hf.MemoryTable(capacity=64),
    "Pool": lambda world: hf.Pool.open(world.file("pool.hold")),
    "Pool, closed": _closed("Pool"),
    "Checkpoint": lambda world: hf.Checkpoint(world.file("pool.hold")),
    "Checkpoint, closed": _closed("Checkpoint"),
    "SaveTicket": lambda world: world.get("Checkpoint").save({"a": 1}, 6),
    "Counts": lambda world: kmers.count(world.file("reads.fa"), k=4, threads=1),
    "CountFile": lambda world: kmers.CountFile(world.file("kmers.txt")),
    "Embedding": _embedding,
    "Rows": _rows,
    "SGD": lambda world: hft.SGD(world.get("Embedding").parameters()),
    "Adagrad": lambda world: hft.Adagrad(world.get("Embedding").parameters()),
    "PoolWriter": lambda world: hfd.PoolWriter(world.folder / "{rank}.hold"),
    "PoolReader": lambda world: hfd.PoolReader(world.file("0.hold").with_name("{rank}.hold")),
}
VARIANTS = {
    "Table": ("Table", "Table, wide", "Table, any length", "Table, read-only", "Table, closed"),
    "Pool": ("Pool", "Pool, closed"),
    "Checkpoint": ("Checkpoint", "Checkpoint, closed"),
}
# PyTorch takes a number for a type of elements, and reads behind its table of types for those that it does not have.
_FEW = 6
"""One of so many values."""
PLAIN_SUBJECTS = (None, *(name for name in _MAKE if "," not in name))
"""On these a call as it is meant returns."""
NOT_MADE = {
    "Column": "Table.column makes it",
    "SaveTicket": "Checkpoint.save makes it",
    "Counts": "kmers.count makes it",
    "Rows": "Embedding makes it",
    "BadRow": "a result", "CheckReport": "a result", "DumpReport": "a result", "Extent": "a result",
    "LoadReport": "a result", "ObjectInfo": "a result", "PoolInfo": "a result", "SnapshotReport": "a result",
    "TableInfo": "a result", "Status": "an enumeration", "Op": "an enumeration", "Initial": "a base class",
}  # fmt: skip
"""Public classes whose constructors users do not call."""
NOT_CALLED = {
    **dict.fromkeys(("fill", "bounds", "check", "made", "rows"), ("Constant", "Uniform", "Normal")),
    **dict.fromkeys(
        ("read_metadata", "set_up_storage_reader", "set_up_storage_writer", "prepare_local_plan", "prepare_global_plan",
         "read_data", "write_data", "finish", "storage_meta"), ("PoolReader", "PoolWriter"),
    ),
    **dict.fromkeys(("of", "add", "take"), ("Rows",)),
    **dict.fromkeys(("named_parameters", "extra_repr"), ("Embedding",)),
}  # fmt: skip
"""Methods that tables and PyTorch call with arguments of their own."""
REFUSED = ("Table.__init__", "Pool.__init__", "MemoryTable.scores")
"""Calls that say what to call in their place."""
CALLBACKS = ("progress", "where", "init", "on_bad", "closure")
"""What a function raises comes out of the call that it was given to."""
_DUNDERS = ("__getitem__", "__setitem__", "__delitem__", "__contains__", "__len__", "__iter__", "__repr__", "__copy__")
_OPTIONS = {
    "Table.open": options.OpenOrCreateOptions,
    "MemoryTable.to_table": options.CreateOptions,
    "MemoryTable.from_table": dict.fromkeys(("threads", "grows", "capacity", "partitions")),
}

WORDS, BYTES = np.arange(4, dtype=np.uint64), [b"1", b"2", b"3", b"30"]
_WIDE = np.zeros((4, 16), np.uint8)
Arguments = dict[str, Callable[[World], Any]]
ARGUMENTS: Arguments = {
    "keys": lambda _: WORDS.copy(),
    "values": lambda _: np.arange(4, dtype=np.int64),
    "ops": lambda _: ["find", "erase", "insert", "contains"],
    "key": lambda _: 3,
    "value": lambda _: 7,
    "items": lambda _: 10,
    "start": lambda _: 0,
    "stop": lambda _: 4,
    "path": lambda world: world.folder / "new.hold",
    "name": lambda _: "first",
    "to": lambda _: "third",
    "table": lambda world: world.get("Table"),
    "target": lambda world: world.folder / "new.csv",
    "source": lambda world: world.file("table.csv"),
    "pool": lambda world: world.file("pool.hold"),
    "state": lambda _: {"b": np.zeros(2)},
    "step": lambda _: 9,
    "low": lambda _: -1.0,
    "high": lambda _: 1.0,
    "files": lambda world: world.file("reads.fa"),
    "texts": lambda _: ["ACGT", "TTTT"],
    "words": lambda _: np.arange(4, dtype=np.uint64),
    "k": lambda _: 4,
    "threads": lambda _: 1,
    "kmers": lambda _: ["ACGT"],
    "columns": lambda _: 2,
    "param_group": lambda world: {"params": [_more_rows(world)]},
    "checkpoint_id": lambda _: "7",
    "prefixes": lambda _: "a",
    "capacity": lambda _: 64,
    "device": lambda _: "cpu",
}
"""By the parameter's name: used where the parameter has no default, or one that would be slow."""
OF_CALLS: dict[str, Arguments] = {
    "Table, wide": {"keys": lambda _: _WIDE.copy(), "values": lambda _: _WIDE.copy(), "key": lambda _: bytes(16),
                    "value": lambda _: b"v" * 16},
    "Table, any length": {"keys": lambda _: BYTES, "values": lambda _: BYTES, "key": lambda _: b"3",
                          "value": lambda _: b"v"},
    "Column": {"values": lambda _: np.arange(4, dtype=np.int32)},
    "Table.create": {"key": lambda _: 8, "value": lambda _: 8},
    "Table.open": {"path": lambda world: world.file("table.hold"), "capacity": None},
    "Table.accumulate": {"values": lambda _: np.arange(4, dtype=np.int64)},
    "Table, wide.accumulate": {"values": lambda _: np.zeros((4, 2), np.int64)},
    "Table.column": {"stop": lambda _: 4},
    "Pool.open": {"path": lambda world: world.file("pool.hold")},
    "Pool.create_table": {"name": lambda _: "third", "key": lambda _: 8, "value": lambda _: 8},
    "MemoryTable.to_table": {"to": lambda world: world.folder / "new.hold"},
    "MemoryTable.__init__": {"key": lambda _: 8, "value": lambda _: 8},
    "check": {"path": lambda world: world.file("table.hold"), "name": None},
    "Pool.check": {"name": None},
    "inspect": {"path": lambda world: world.file("table.hold")},
    "load": {"columns": None, "key": None, "value": None},
    "dump": {"key": None, "value": None},
    "Checkpoint.__init__": {"name": None},
    "Checkpoint.export": {"path": lambda world: world.folder / "new.safetensors"},
    "Checkpoint.import_": {"path": lambda world: world.file("state.safetensors")},
    "Checkpoint.restore": {"device": None},
    "Checkpoint.save": {},
    "Constant.__init__": {"value": None},
    "CountFile.__init__": {"path": lambda world: world.file("kmers.txt")},
    "find": {"path": lambda world: world.file("kmers.txt")},
    "CountFile.find": {"kmers": lambda _: np.arange(4, dtype=np.uint64)},
    "histogram": {"source": lambda world: world.file("kmers.txt")},
    "write": {"source": lambda world: world.get("Counts"), "path": lambda world: world.folder / "new.txt"},
    "Embedding.__init__": {"table": lambda world: world.get("Table")},
    "Embedding.forward": {"keys": lambda _: torch.arange(4)},
    "Embedding.import_weight": {"weight": lambda _: torch.zeros(4, 2), "keys": None},
    "SGD.__init__": {"params": lambda world: world.get("Embedding").parameters()},
    "Adagrad.__init__": {"params": lambda world: world.get("Embedding").parameters()},
    "PoolWriter.__init__": {"path": lambda world: world.folder / "{rank}.hold", "name": None},
    "PoolReader.__init__": {"path": lambda world: world.folder / "{rank}.hold", "name": None},
    "reverse_complement": {},
}  # fmt: skip
"""By "subject.call", by "class.call", by subject: None takes the default of the signature."""


_SLOW: dict[str, tuple[Any, ...]] = {
    "device": ("auto",), "threads": (0,), "capacity": (4096, 1 << 20), "k": (31,),
}  # fmt: skip
"""Defaults in place of which a case has something quicker."""
_NEEDED = {"values", *_SLOW}
"""Parameters that are given though the signature has None for them, or something slow."""


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
    if name in _OPTIONS:
        found = _OPTIONS[name]
    elif typing.get_origin(annotation) is typing.Unpack:
        (found,) = typing.get_args(annotation)
    else:
        return []
    return list(getattr(found, "__annotations__", found)) + (
        [] if name != "Table.open" else list(options.WorkOptions.__annotations__)
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
        if one.name in _NEEDED and one.default in (None, *_SLOW.get(one.name, ())):
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
        elif not defaults[parameter] and parameter not in _NEEDED:
            raise LookupError(f"{name} has a parameter {parameter}, and hostile_calls.py no argument for it")
    return Call(name, subject, run, tuple(positional), tuple(names), given)


def _bound(name: str) -> Callable[..., Any]:
    return lambda on, /, *placed, **named: getattr(on, name)(*placed, **named)


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    for name, member in inspect.getmembers_static(kind):
        where = getattr(getattr(member, "__func__", member), "__module__", "") or ""
        if isinstance(member, property):
            where = member.fget.__module__ if member.fget else ""
        if not where.startswith("holdfastdb") or (name.startswith("_") and name not in _DUNDERS):
            continue
        if kind.__name__ not in NOT_CALLED.get(name, ()):
            yield name, member


def _of_class(kind: type) -> Iterator[Call]:
    plain = kind.__name__
    if plain not in NOT_MADE and not issubclass(kind, tuple | BaseException) and kind.__init__ is not object.__init__:
        yield _call(f"{plain}.__init__", None, kind, kind.__init__, 1)
    if plain in NOT_MADE and plain not in _MAKE:
        return
    if issubclass(kind, tuple | BaseException):
        return
    for name, member in _methods(kind):
        full = f"{plain}.{name}"
        if isinstance(member, classmethod | staticmethod):
            skip = 1 if isinstance(member, classmethod) else 0
            yield _call(full, None, getattr(kind, name), member.__func__, skip)
            continue
        if plain not in _MAKE:
            if plain in ("Constant", "Uniform", "Normal", "Gpu"):
                continue
            raise LookupError(f"the public class {plain} has methods, and hostile_calls.py no object of it")
        for subject in VARIANTS.get(plain, (plain,)):
            if isinstance(member, property):
                yield Call(full, subject, lambda on, name=name: getattr(on, name), (), (), {})
                if member.fset:
                    yield Call(f"{full}=", subject, lambda on, value, name=name: setattr(on, name, value), (),
                               ("value",), {"value": ARGUMENTS["step"]})  # fmt: skip
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
        world = World(TEMPLATE, folder)
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
