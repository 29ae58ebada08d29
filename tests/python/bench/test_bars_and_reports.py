"""Bars and documents: missed bars are not passed over, and a document says what the result files do."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bench.frame import bars, report, results
from bench.frame.main import app

BAR = """
[[bar]]
id = "{issue}.{name}"
text = "something"
comparison = "{comparison}"
target = {target}
unit = "s"
"""


def planted(folder: Path, **values: Any) -> None:
    content = {"schema": results.SCHEMA, "results": values, "dirty": False}
    (folder / "r.json").write_text(json.dumps(content), encoding="utf-8")


def bar_file(folder: Path, *entries: str) -> list[str]:
    """Entries by the issue that their id begins with."""
    bars_of = folder / "bars"
    bars_of.mkdir(exist_ok=True)
    issues = [re.search(r'id = "(\d+)', text) for text in entries]
    for issue in {found[1] if found else "1" for found in issues}:
        text = "\n".join(e for e, found in zip(entries, issues, strict=True) if (found[1] if found else "1") == issue)
        (bars_of / f"{issue}.toml").write_text(text, encoding="utf-8")
    return ["--bars", str(bars_of), "--results", str(folder)]


def entry(name: str, comparison: str, target: float, field: str | None = "results.x", issue: int = 1) -> str:
    text = BAR.format(name=name, issue=issue, comparison=comparison, target=float(target))
    return text if field is None else f'{text}file = "r.json"\nfield = "{field}"\n'


def test_a_bar_of_two_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for machine, value in (("one", 3), ("two", 1)):
        (tmp_path / machine).mkdir()
        planted(tmp_path / machine, x=value)
    both = f'{entry("a", ">=", 2, None)}machines = ["one", "two"]\nfile = "{{machine}}/r.json"\nfield = "results.x"\n'
    assert bars.main([*bar_file(tmp_path, both), "--json"]) == 1
    answers = json.loads(capsys.readouterr().out)
    assert [(a["bar"]["id"], a["state"]) for a in answers] == [("1.a@one", "met"), ("1.a@two", "missed")]
    assert bars.main([*bar_file(tmp_path, both), "--machine", "one"]) == 0
    assert bars.main([*bar_file(tmp_path, both), "--machine", "two"]) == 1
    assert bars.main([*bar_file(tmp_path, both), "--machine", "one", "--machine", "two"]) == 1
    capsys.readouterr()
    assert bars.main([*bar_file(tmp_path, both), "--machine", "three"]) == 2
    assert "none of the bars asks for a result of three" in capsys.readouterr().err
    for wrong in ('machines = []\nfile = "{machine}/r.json"', 'machines = ["one"]\nfile = "r.json"', "machines = 1"):
        assert bars.main(bar_file(tmp_path, f"{entry('a', '>=', 2, None)}{wrong}\n")) == 2
        assert "machines must be" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("comparison", "target", "measured", "state"),
    [
        (">=", 2, 2.0, "met"), (">=", 2, 1.999, "missed"), ("<=", 2, 2.0, "met"), ("<=", 2, 2.001, "missed"),
        ("<=", 0, 0, "met"), ("<=", 0, 1, "missed"), (">=", 2, None, "unanswered"), (">=", 2, "9", "unanswered"),
        (">=", 1, True, "unanswered"),
    ],
)  # fmt: skip
def test_bars(
    comparison: str, target: float, measured: Any, state: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planted(tmp_path, x=measured)
    arguments = bar_file(tmp_path, entry("a", comparison, target))
    assert bars.main([*arguments, "--json"]) == (0 if state == "met" else 1)
    assert [a["state"] for a in json.loads(capsys.readouterr().out)] == [state]


def test_bars_without_an_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = bar_file(tmp_path, entry("a", ">=", 1), entry("b", ">=", 1, None))
    assert bars.main(arguments) == 1  # no file
    planted(tmp_path, y=[{"z": 3}])
    assert bars.main(arguments) == 1  # no field
    assert "no field results.x" in capsys.readouterr().out
    assert bars.main(bar_file(tmp_path, entry("a", ">=", 1, "results.y[0].z"))) == 0
    assert bars.main(bar_file(tmp_path, entry("a", ">=", 1, "results.y[1].z"))) == 1
    (tmp_path / "r.json").write_text("not JSON", encoding="utf-8")
    assert bars.main(arguments) == 1
    (tmp_path / "r.json").write_text('{"schema": 99, "results": {"x": 5}}', encoding="utf-8")
    assert bars.main(arguments) == 1


def test_bars_of_one_issue(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planted(tmp_path, x=1)
    arguments = bar_file(tmp_path, entry("a", ">=", 1), entry("b", ">=", 2, issue=2))
    assert bars.main(arguments) == 1
    assert bars.main([*arguments, "--issue", "1"]) == 0
    assert bars.main([*arguments, "--issue", "2"]) == 1
    capsys.readouterr()
    assert bars.main([*arguments, "--issue", "7"]) == 2  # none at all is not all
    assert "no bars of issue 7" in capsys.readouterr().err


def test_wrong_bar_files_are_refused(tmp_path: Path) -> None:
    good = entry("a", ">=", 1)
    wrong = (good + good, good.replace(">=", "=="), good + "typo = 1\n", good.replace('unit = "s"', ""), "[[bar", "")
    for text in wrong:
        assert bars.main(bar_file(tmp_path, text)) == 2
    assert bars.main(["--bars", str(tmp_path / "none")]) == 2
    arguments = bar_file(tmp_path, good)
    (tmp_path / "bars" / "notes.toml").write_text(good, encoding="utf-8")
    assert bars.main(arguments) == 2


def test_the_projects_bars_are_well_formed() -> None:
    path = Path(__file__).parents[3] / "bench" / "bars"
    issues = {bar.issue for bar in bars.load(path)}
    assert issues >= {2, 3, 4, 17}


def test_report_rewrites_and_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_MACHINE", "here")
    for command in ("resize", "layout", "limits", "load-factor", "recovery", "micro", "snapshot"):
        got = CliRunner().invoke(app(), [command, "--quick", "--json", str(tmp_path)])
        assert got.exit_code == 0, f"{got.output}\n{got.exception!r}"
    document = tmp_path / "d.md"
    kinds = {"resize": "resize", "layout": "layout", "limits": "limits", "load-factor": "load-factor",
             "moves": "load-factor", "recovery": "recovery", "series": "micro-uniform",
             "snapshot": "snapshot"}  # fmt: skip
    marks = [f"<!-- figures: {kind} {file}.json -->\nold\n<!-- end -->\n" for kind, file in kinds.items()]
    inline = "It has <!-- figure: recovery.json results.sizes[0].slots , -->0<!-- end --> slots.\n"
    document.write_text("\n".join([*marks, inline]), encoding="utf-8")
    arguments = ["--results", str(tmp_path), str(document)]
    assert report.main(["--check", *arguments]) == 1
    assert "old" in document.read_text(encoding="utf-8")
    assert report.main(arguments) == 0
    assert report.main(["--check", *arguments]) == 0
    text = document.read_text(encoding="utf-8")
    slots = results.field(results.read(tmp_path / "recovery.json"), "results.sizes[0].slots")
    assert f"-->{slots:,}<!-- end -->" in text
    assert "old" not in text
    document.write_text("<!-- figures: nonsense r.json -->\n<!-- end -->", encoding="utf-8")
    assert report.main(arguments) == 2


def test_report_takes_counts_of_test_programs_as_figures(tmp_path: Path) -> None:
    (tmp_path / "kills.json").write_text('{"schema": "holdfast.kill-test/3", "kills": 1000}', encoding="utf-8")
    document = tmp_path / "d.md"
    document.write_text("<!-- figure: kills.json kills , -->0<!-- end --> kills", encoding="utf-8")
    assert report.main(["--results", str(tmp_path), str(document)]) == 0
    assert "-->1,000<!-- end -->" in document.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=r"this version reads schema 1"):
        results.read(tmp_path / "kills.json")


def test_results_lie_in_the_folder_of_the_machine_that_gave_them() -> None:
    paths = list((Path(__file__).parents[3] / "bench" / "results").glob("*/*.json"))
    assert paths
    for path in paths:
        machine = json.loads(path.read_text(encoding="utf-8"))["machine"]
        if isinstance(machine, dict):  # the kill test, a program without the frame, gives its processor
            assert machine["name"] == path.parent.name, path
