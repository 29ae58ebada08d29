"""Result files: one JSON object with the machine, the commit, the parameters and every repetition."""

import datetime
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.frame import code, machine

SCHEMA = 1

Json = dict[str, Any]


def result(benchmark: str, parameters: Json, results: Json, *, rooms: Sequence[str]) -> Json:
    """A result file's content. `rooms`: those of src/ that were measured (code.py); (): none."""
    commit, dirty = machine.commit()
    return {
        "schema": SCHEMA,
        "benchmark": benchmark,
        "machine": machine.describe(),
        "commit": commit,
        "dirty": dirty,
        "code": code.noted(machine.ROOT, rooms),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "parameters": parameters,
        "results": results,
    }


def default_path(benchmark: str) -> Path:
    """bench/results/<machine>/<benchmark>.json of the checkout."""
    return machine.ROOT / "bench" / "results" / machine.name() / f"{benchmark}.json"


def write(path: Path, content: Json) -> None:
    """Writes a result file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")
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
