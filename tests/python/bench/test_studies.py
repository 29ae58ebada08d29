"""The main finds its studies: nobody lists them, and none is lost."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import scripts_as_modules
from typer.testing import CliRunner

from bench.frame import machine, results, studies
from bench.frame.main import app

COMMANDS = {"micro", "ycsb", "compare", "stores", "cache-trace", "load-factor", "recovery", "pairs", "resize",
            "snapshot", "limits", "layout", "dlrm", "pagerank", "training"}  # fmt: skip


def test_every_command_is_found() -> None:
    found = studies.find()
    assert set(found.commands) >= COMMANDS
    assert not found.left_out
    assert {name for name, _ in found.suite} >= COMMANDS - {"stores", "cache-trace", "training"}
    shown = CliRunner().invoke(app(), ["--help"]).output
    for name in (*COMMANDS, "plot", "all", "bars", "report"):
        assert f" {name} " in shown


def module(name: str, monkeypatch: pytest.MonkeyPatch, text: str, folder: Path) -> str:
    """A module of a study that is made up here."""
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


def test_a_study_is_found_by_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "made_up"
    for folder in (package, package / "one", package / "frame"):
        folder.mkdir()
        (folder / "__init__.py").touch()
    text = """ran = []
def again(json_file: str = "", save: bool = False, quick: bool = False, items: int = 0) -> None:
    ran.append({"json_file": json_file, "save": save, "quick": quick, "items": items})
"""
    (package / "one" / "study.py").write_text(
        text + 'COMMANDS = {"again": again}\nSUITE = [("again", {"items": 5})]\nTABLES = {"t": str}\n'
    )
    (package / "frame" / "other.py").write_text('COMMANDS = {"no": print}\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    made: ModuleType = importlib.import_module("made_up")
    names = list(studies.names(made))
    assert names == ["made_up.one.study"]
    found = studies.find(names)
    assert set(found.commands) == {"again"} and set(found.tables) == {"t"}
    got = CliRunner().invoke(app(found), ["all", "--quick", "--json", str(tmp_path / "out")])
    assert got.exit_code == 0, got.output
    ran = importlib.import_module("made_up.one.study").ran
    assert ran == [{"json_file": str(tmp_path / "out"), "save": False, "quick": True, "items": 5}]


def test_a_study_that_needs_the_unbuilt_half_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs = module("study_c", monkeypatch, "import _bench\n", tmp_path)
    wrong = module("study_d", monkeypatch, "import nothing_of_that_name\n", tmp_path)
    monkeypatch.setitem(sys.modules, "_bench", None)
    assert studies.find([needs]).left_out == ["study_c"]
    with pytest.raises(ModuleNotFoundError, match="nothing_of_that_name"):
        studies.find([wrong])


def test_documents_are_as_results_say_and_bars_are_told_without_a_built_module() -> None:
    code = (
        "import sys; sys.modules |= {'_bench': None, 'holdfastdb': None}\n"
        "from bench.frame import main; main.app()(sys.argv[1:])"
    )

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        order = [sys.executable, "-c", code, *arguments]
        return subprocess.run(order, cwd=machine.ROOT, capture_output=True, text=True, check=False)

    done = run("report", "--check")
    assert done.returncode == 0, done.stdout + done.stderr
    done = run("bars")
    assert "met" in done.stdout and not done.stderr, done.stdout + done.stderr
    assert "bench.table.series" in run("--help").stdout


@pytest.mark.parametrize(
    ("folder", "study", "name"),
    [
        ("link", "table-a", "link"),
        ("link", "pairs", "link-pairs"),
        ("log", "log", "log"),
        ("checkpoint", "checkpoint", "checkpoint"),
        ("dramhit", "bars", "dramhit-bars"),
        ("structures", "latency", "structures-latency"),
    ],
)
def test_what_a_program_prints_becomes_a_result(
    folder: str, study: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = scripts_as_modules.load("study-result", monkeypatch)
    printed, other = tmp_path / "printed.json", tmp_path / "other.json"
    printed.write_text(json.dumps({"items": 5, "runs": [], "failed": False, "study": study}), encoding="utf-8")
    made = results.read(script.main(folder, printed, tmp_path / "out"))
    assert made == results.read(tmp_path / "out" / f"{name}.json")
    assert made["benchmark"] == name
    assert (made["parameters"], made["results"]) == ({"items": 5}, {"runs": [], "failed": False})
    assert made["code"]["layers"] and all(made["code"]["layers"].values())
    results.write(other, made | {"machine": {"name": "elsewhere"}})
    assert results.read(script.main(folder, printed, tmp_path / "out", other))["machine"] == {"name": "elsewhere"}


def test_the_package_has_no_benchmarks() -> None:
    for name in ("holdfastdb.bench", "holdfastdb._bench"):
        assert importlib.util.find_spec(name) is None
