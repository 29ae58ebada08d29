"""Puts figures into documents from result files, so that none is typed by hand.

A document marks where a figure or a table goes:

    <!-- figures: compare two-core/compare-uniform.json -->
    (rewritten)
    <!-- end -->

and, inside a line, `<!-- figure: two-core/recovery.json results.at_least_16m_slots.seconds .2f -->0.12<!-- end -->`.
Files are below bench/results. `python -m bench report` rewrites the project's documents; with --check it only says
which are not as the files say, and exits with 1.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.frame import machine
from bench.frame.results import Json, field, read
from bench.frame.studies import find

_TABLE = re.compile(r"(<!-- figures: (\S+) (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
_FIGURE = re.compile(r"(<!-- figure: (\S+) ([^\n]+?) (\S+) -->)[^\n]*?(<!-- end -->)")  # a path may have spaces


def documents(root: Path) -> list[Path]:
    """The project's documents, which may have marks."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def _source(content: Json) -> str:
    where, parameters = content["machine"], content["parameters"]
    parts = [f"{where['name']} ({where['cpu']}, {where['cores']} cores)", f"commit {content['commit'][:10]}"]
    if content["dirty"]:
        parts.append("with uncommitted changes")
    parts.append(content["date"][:10])
    if (load := where.get("load_average_before", 0)) > where["cores"]:
        parts.append(f"beside other work (load average {load:g})")
    for key in ("items", "operations", "callers", "batch", "distribution", "repetitions"):
        if key in parameters:
            parts.append(
                f"{key} {parameters[key]:,}" if isinstance(parameters[key], int) else f"{key} {parameters[key]}"
            )
    return ", ".join(parts)


def rewrite(text: str, folder: Path) -> str:
    """A document with its marked places filled in. Raises ValueError where a mark names what is not there."""
    tables = find().tables

    def table(mark: re.Match[str]) -> str:
        kind, file = mark[2], mark[3]
        if kind not in tables:
            raise ValueError(f"no table '{kind}'; there are {', '.join(tables)}")
        if not (folder / file).exists():
            return f"{mark[1]}*Not measured yet: {file} is not there.*\n{mark[4]}"
        content = read(folder / file)
        return f"{mark[1]}{tables[kind](content)}\n\n`bench/results/{file}`: {_source(content)}.\n{mark[4]}"

    def figure(mark: re.Match[str]) -> str:
        if not (folder / mark[2]).exists():
            return f"{mark[1]}(not measured yet){mark[5]}"
        try:
            value = field(read(folder / mark[2], of_tests=True), mark[3])
        except KeyError as error:
            raise ValueError(f"{mark[2]}: {error}") from error
        return f"{mark[1]}{value:{mark[4]}}{mark[5]}"

    return _FIGURE.sub(figure, _TABLE.sub(table, text))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    root = machine.ROOT
    parser = argparse.ArgumentParser(prog="python -m bench report", description="Puts figures into documents.")
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit with 1 where a document is not right"
    )
    parser.add_argument("--results", type=Path, default=root / "bench" / "results", help="the folder of results")
    parser.add_argument("documents", nargs="*", type=Path, help="default: the project's")
    given = parser.parse_args(arguments)
    stale = 0
    for path in given.documents or documents(root):
        text = path.read_text(encoding="utf-8")
        try:
            right = rewrite(text, given.results)
        except ValueError as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 2
        if right == text:
            continue
        stale += 1
        print(f"{path}: {'is not as the result files say' if given.check else 'rewritten'}")
        if not given.check:
            path.write_text(right, encoding="utf-8")
    return 1 if given.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
