"""Draws pictures of result files, by the studies that have some."""

from collections.abc import Iterable
from pathlib import Path

from bench.frame.results import read
from bench.frame.studies import find


def draw_all(folder: Path, out: Path) -> Iterable[Path]:
    """A picture for each result file that has one, named <machine>-<benchmark>.svg."""
    plots = find().plots
    for path in sorted(folder.rglob("*.json")):
        try:
            content = read(path)
        except ValueError:
            continue  # another program's: the kill test, the history checker
        name = content["benchmark"]
        while name and name not in plots:
            name = name.rpartition("-")[0]
        draw = plots.get(name)
        drawn = None if draw is None else draw(content, out / f"{content['machine']['name']}-{path.stem}.svg")
        if drawn is not None:
            yield drawn
