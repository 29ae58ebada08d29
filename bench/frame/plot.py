"""Draws the pictures that documents show, from the committed results and by the studies that have them."""

import re
from collections.abc import Iterable
from pathlib import Path

from bench.frame.report import documents
from bench.frame.results import read
from bench.frame.studies import find

_SHOWN = re.compile(r"\((?:\.\./)?img/([a-z]+(?:-core)?)-([a-z0-9-]+)\.svg\)")


def shown(root: Path) -> dict[str, str]:
    """The pictures of the documents below `root`: `{folder-benchmark: folder/benchmark}`."""
    texts = (path.read_text(encoding="utf-8") for path in documents(root))
    return {f"{of}-{name}": f"{of}/{name}" for text in texts for of, name in _SHOWN.findall(text)}


def draw_all(root: Path, folder: Path, out: Path) -> Iterable[Path]:
    """Draws docs/img/FOLDER-BENCHMARK.svg from FOLDER/BENCHMARK.json of the results in `folder`. Raises ValueError
    where a document shows a picture that no study draws."""
    plots = find().plots
    for picture, source in shown(root).items():
        content = read(folder / f"{source}.json")
        name = content["benchmark"]
        while name and name not in plots:
            name = name.rpartition("-")[0]
        if not name:
            raise ValueError(f"no study draws {picture}.svg, which a document shows; PLOTS in bench/ has {list(plots)}")
        yield plots[name](content, out / f"{picture}.svg")
