"""That the pictures of all result files read at a glance: six lines at most, and nothing over something else."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from bench.frame import figures, machine, plot

MOST_LINES = 6


def faults(figure: Any) -> list[str]:
    """What is hard to read in a figure."""
    figure.canvas.draw()
    (axes,) = figure.axes
    found = []
    lines = [line for line in axes.lines if line.get_marker() != "None" and len(line.get_xdata()) > 1]
    if len(lines) > MOST_LINES:
        found.append(f"{len(lines)} lines")
    view = axes.get_window_extent()
    words = [text for text in axes.texts if text.get_text()]
    for ticks in (axes.get_xticklabels(), axes.get_yticklabels()):
        words += [text for text in ticks if text.get_text() and _beside(text.get_window_extent(), view)]
    legend = axes.get_legend()
    words += [] if legend is None else legend.get_texts()
    boxes = [(text.get_text(), text.get_window_extent()) for text in words]
    points = [line.get_transform().transform(line.get_xydata()[0]) for line in axes.lines if len(line.get_xdata()) == 1]
    found += [f"'{name}' over a point" for name, box in boxes for x, y in points if box.contains(x, y)]
    found += [f"'{one}' over '{other}'" for (one, a), (other, b) in combinations(boxes, 2) if a.overlaps(b)]
    if legend is not None:
        names = legend.get_window_extent()
        drawn = [line.get_path().transformed(line.get_transform()) for line in lines]
        found += ["the legend over a line" for path in drawn if path.intersects_bbox(names, filled=False)]
        found += ["the legend over a bar" for bar in axes.patches if bar.get_window_extent().overlaps(names)]
    return found


def _beside(label: Any, view: Any) -> bool:
    """Whether a tick's label is of a tick that is shown."""
    across = view.x0 - 1 <= (label.x0 + label.x1) / 2 <= view.x1 + 1
    return across or view.y0 - 1 <= (label.y0 + label.y1) / 2 <= view.y1 + 1


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The faults of each figure that would be saved, by the name of its file."""
    figure = pytest.importorskip("matplotlib.figure").Figure
    seen: dict[str, list[str]] = {}

    def look(self: Any, path: Path, **_: Any) -> None:
        seen[path.name] = faults(self)

    monkeypatch.setattr(figure, "savefig", look)
    return seen


def test_pictures_read_at_a_glance(judged: dict[str, list[str]], tmp_path: Path) -> None:
    drawn = {path.name for path in plot.draw_all(machine.ROOT / "bench" / "results", tmp_path)}
    assert {name: found for name, found in judged.items() if found} == {}
    assert drawn == {path.name for path in (machine.ROOT / "docs" / "img").glob("*.svg")}


@pytest.mark.parametrize(
    "fault", ["7 lines", "'one' over 'two'", "'one' over a point", "the legend over a line", "the legend over a bar"]
)
def test_faults_are_seen(fault: str, judged: dict[str, list[str]], tmp_path: Path) -> None:
    figure, axes = figures.new_figure("", "here")
    if fault == "7 lines":
        for height in range(7):
            axes.plot([0, 1], [height, height], marker="o")
    elif "two" in fault:
        for name in ("one", "two"):
            axes.annotate(name, (0.5, 0.5))
    elif "point" in fault:
        axes.plot([0.5], [0.5], "o")
        axes.annotate("one", (0.5, 0.5), ha="center", va="center")
    elif "line" in fault:
        axes.plot([0, 1], [0, 1], marker="o", label="a line")
        figures.legend(axes, loc="center")
    else:
        axes.bar([0, 1], [1, 1], label="a bar")
        figures.legend(axes, loc="center left")
    figures.save(figure, tmp_path / "bad.svg")
    assert fault in judged["bad.svg"]
