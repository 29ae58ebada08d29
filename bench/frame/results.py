"""Result files: a JSON object with the machine, the commit, the parameters, and the median and range of each figure."""

import datetime
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.frame import code, machine
from bench.frame.timing import rounded

SCHEMA = 2
WIDTH = 400
"""A row of figures that is no longer stays on one line of a result file."""

Json = dict[str, Any]


def result(benchmark: str, parameters: Json, results: Json, *, layers: Sequence[str]) -> Json:
    """Returns a result file's content with its figures summed up. `layers`: the folders of src/ measured (code.py)."""
    commit, dirty = machine.commit()
    return {
        "schema": SCHEMA,
        "benchmark": benchmark,
        "machine": machine.describe(),
        "commit": commit,
        "dirty": dirty,
        "code": code.noted(machine.ROOT, layers),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "parameters": parameters,
        "results": summed_up(results),
    }


def summed_up(value: Any) -> Any:
    """The same, with the number of repetitions in place of the repetitions themselves, rounded (timing.spread)."""
    if isinstance(value, dict):
        if isinstance(value.get("all"), list | tuple) and "median" in value:
            kept = {name: rounded(one) for name, one in value.items() if name != "all"}
            return {**kept, "repetitions": len(value["all"])}
        return {name: summed_up(one) for name, one in value.items()}
    return [summed_up(one) for one in value] if isinstance(value, list | tuple) else value


def text_of(value: Any, indent: int = 0) -> str:
    """JSON, a row of figures on each line: what is longer than WIDTH and holds objects has a line for each member."""
    flat = json.dumps(value, allow_nan=False)
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if len(flat) <= WIDTH or not any(isinstance(one, dict | list) for one in members):
        return flat
    named = [f"{json.dumps(name)}: " for name in value] if isinstance(value, dict) else [""] * len(value)
    begin, end = "{}" if isinstance(value, dict) else "[]"
    lines = ",\n".join(
        f"{' ' * (indent + 1)}{name}{text_of(one, indent + 1)}" for name, one in zip(named, members, strict=True)
    )
    return f"{begin}\n{lines}\n{' ' * indent}{end}"


def default_path(benchmark: str) -> Path:
    """The committed file of the checkout: bench/results/gpu/<benchmark>.json, or two-core/<benchmark>.json."""
    return machine.ROOT / "bench" / "results" / machine.folder() / f"{benchmark}.json"


def write(path: Path, content: Json) -> None:
    """Writes a result file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text(text_of(content) + "\n", encoding="utf-8")
    draft.replace(path)


def read(path: Path, *, of_tests: bool = False) -> Json:
    """Reads a result file. Raises ValueError where it is none, or of a newer schema.

    With `of_tests` also what a test program has counted, whose schema is `holdfast.NAME/VERSION`.
    """
    try:
        content: Json = json.loads(path.read_text(encoding="utf-8"))
        schema = content["schema"]
    except (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a result file: {error!r}") from error
    if of_tests and isinstance(schema, str) and schema.startswith("holdfast."):
        return content
    if schema != SCHEMA:
        raise ValueError(f"{path} has schema {schema}; this version reads schema {SCHEMA}")
    return content


def field(content: Json, path: str) -> Any:
    """The value at a path like `results.find.ratio.median` or `results.sizes[-1].ms`.

    An object of a list may also be named by what is in it: `results.runs[work='find' batch=4096].mops.median`. Raises
    KeyError, also if there are several.
    """
    value: Any = content
    for part in _PART.findall(path):
        try:
            value = _chosen(value, part[1:-1]) if part.startswith("[") else value[part]
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise KeyError(f"no field {path}") from error
    return value


_PART = re.compile(r"\[[^]]*\]|[^.\[]+")
_CONDITION = re.compile(r"(\w+)=(?:'([^']*)'|(-?[0-9.]+))")


def _chosen(values: Any, which: str) -> Any:
    """The element of a list at a position, or the only one that has these values."""
    wanted = {name: text if number == "" else float(number) for name, text, number in _CONDITION.findall(which)}
    if not wanted:
        return values[int(which)]
    (chosen,) = (value for value in values if all(value[name] == wanted[name] for name in wanted))
    return chosen
