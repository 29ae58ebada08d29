"""Tables of a document, and figures in them."""

from collections.abc import Iterable, Sequence

from bench.frame.results import Json


def grid(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; all columns but the first are figures."""
    lines = ["| " + " | ".join(columns) + " |", "|---|" + "---:|" * (len(columns) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def spread_text(entry: Json, digits: int = 1) -> str:
    """The median, and in brackets the lowest and the highest, if there are several."""
    if entry.get("repetitions") == 1:
        return f"{entry['median']:,.{digits}f}"
    return f"{entry['median']:,.{digits}f} ({entry['low']:,.{digits}f}–{entry['high']:,.{digits}f})"


def interval_text(found: Json, digits: int = 3) -> str:
    """The median, and in brackets its 95% interval."""
    return f"{found['median']:.{digits}f} ({found['low']:.{digits}f}–{found['high']:.{digits}f})"
