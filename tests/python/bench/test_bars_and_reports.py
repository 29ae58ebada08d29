"""Bars and documents: missed bars are not passed over, and a document says what the result files do."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bench.frame import bars, plot, report, results, timing
from bench.frame.main import app

ROOT = Path(__file__).parents[3]
BAR = """
[[{kind}]]
id = "{name}"
text = "something"
comparison = "{comparison}"
target = {target}
unit = "s"
"""


def planted(folder: Path, **values: Any) -> None:
    content = {"schema": results.SCHEMA, "results": values, "dirty": False}
    (folder / "r.json").write_text(json.dumps(content), encoding="utf-8")


def bar_file(folder: Path, *entries: str, subject: str = "speed") -> list[str]:
    (folder / "bars").mkdir(exist_ok=True)
    (folder / "bars" / f"{subject}.toml").write_text("\n".join(entries), encoding="utf-8")
    return ["--bars", str(folder / "bars"), "--results", str(folder)]


def entry(name: str, comparison: str, target: float, field: str | None = "results.x", kind: str = "bar") -> str:
    text = BAR.format(name=name, kind=kind, comparison=comparison, target=float(target))
    return text if field is None else f'{text}file = "r.json"\nfield = "{field}"\n'


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


def test_a_known_limit_fails_only_without_a_measurement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    limit = entry("a", ">=", 2, kind="limit") + 'why = "the link"\n'
    assert bars.main(bar_file(tmp_path, limit)) == 1
    for value, state in ((1, "limit"), (2, "met")):
        planted(tmp_path, x=value)
        capsys.readouterr()
        assert bars.main([*bar_file(tmp_path, limit), "--json"]) == 0
        assert [(a["bar"]["id"], a["state"]) for a in json.loads(capsys.readouterr().out)] == [("speed.a", state)]


def test_bars_of_one_subject(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planted(tmp_path, x=1)
    bar_file(tmp_path, entry("a", ">=", 1))
    arguments = bar_file(tmp_path, entry("a", ">=", 2), subject="size")
    assert bars.main(arguments) == 1
    assert bars.main([*arguments, "--subject", "speed"]) == 0
    assert bars.main([*arguments, "--subject", "size"]) == 1
    capsys.readouterr()
    assert bars.main([*arguments, "--subject", "colour"]) == 2  # none at all is not all
    assert "no bars of colour" in capsys.readouterr().err


def test_wrong_bar_files_are_refused(tmp_path: Path) -> None:
    good = entry("a", ">=", 1)
    wrong = (good + good, good.replace(">=", "=="), good + "typo = 1\n", good.replace('unit = "s"', ""), "[[bar", "",
             good.replace("[[bar]]", "[[limit]]"), good.replace("[[bar]]", "[[baar]]"))  # fmt: skip
    for text in wrong:
        assert bars.main(bar_file(tmp_path, text)) == 2
    assert bars.main(["--bars", str(tmp_path / "none")]) == 2


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
    with pytest.raises(ValueError, match=r"this version reads schema 2"):
        results.read(tmp_path / "kills.json")


def test_a_result_file_has_medians_and_ranges_and_a_row_a_line(tmp_path: Path) -> None:
    rows = [{"batch": batch, "mops": timing.spread([3.0, 1.0, 2.0])} for batch in range(50)]
    results.write(tmp_path / "r.json", results.result("r", {}, {"runs": rows}, layers=()))
    written = results.read(tmp_path / "r.json")["results"]["runs"]
    assert written[7] == {"batch": 7, "mops": {"median": 2, "low": 1, "high": 3, "repetitions": 3}}
    lines = (tmp_path / "r.json").read_text(encoding="utf-8").splitlines()
    assert [line.strip(" ,") for line in lines if '"mops"' in line] == [json.dumps(row) for row in written]


def test_committed_results_are_of_two_machines_and_without_repetitions() -> None:
    paths = list((ROOT / "bench" / "results").rglob("*.json"))
    assert {str(path.parent.relative_to(ROOT / "bench" / "results")) for path in paths} == {"gpu", "two-core"}
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert '"all":' not in text, f"{path} has every repetition; write it with bench.frame.results"
        machine = json.loads(text)["machine"]
        if "gpu" in machine:  # test programs give the processor alone
            assert (machine["gpu"] is not None) == (path.parent.name == "gpu"), path


def test_documents_show_every_picture() -> None:
    drawn = {path.stem for path in (ROOT / "docs" / "img").glob("*.svg") if re.match("(gpu|two-core)-", path.name)}
    assert drawn == set(plot.shown(ROOT))
