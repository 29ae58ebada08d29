"""A result knows which code it measured, and says when that has changed."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench import dramhit
from bench.frame import bars, code, machine, results
from bench.frame.main import app

ROOT = Path(__file__).parents[3]

FILES = {
    "src/core/word.hpp": "int word();\n",
    "src/pool/pool.hpp": '#include "core/word.hpp"\n',
    "src/structures/dramhit/table.hpp": '#include "pool/pool.hpp"\nint a = 1;  // what it is\n',
    "src/structures/dramhit/simd/tile.hpp": '#include "structures/dramhit/table.hpp"\n',
    "src/table/table.hpp": "int t;\n",
    "bench/bars/speed.toml": (
        '[[bar]]\nid = "x"\ntext = "x"\ncomparison = ">="\ntarget = 1.0\nunit = "s"\n'
        'file = "here/dramhit-bars.json"\nfield = "results.x"\n'
    ),
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    code._files.cache_clear()
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    code._files.cache_clear()


def test_a_result_is_stale_when_its_layers_have_changed(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = root / "src/structures/dramhit/table.hpp"
    path = root / "bench/results/here/dramhit-bars.json"
    results.write(path, results.result("dramhit-bars", {}, {"x": 2.0}, layers=dramhit.LAYERS))
    noted = results.read(path)["code"]
    assert set(noted["layers"]) == {"src/structures/dramhit"}
    assert set(noted["below"]) == {"src/pool", "src/core"}, "and not the table, which nothing here includes"

    def state() -> tuple[list[str], list[str], str]:
        assert bars.main(["--json"]) == 0
        (reported,) = json.loads(capsys.readouterr().out)
        assert bars.main([]) == 0
        return reported["stale"], reported["below"], " ".join(capsys.readouterr().out.split())

    assert state()[:2] == ([], [])
    edit(table, "// what it is", "// what it\n// really is\n")
    edit(table, "int a", "int   a")
    assert state()[:2] == ([], []), "comments and layout are no code"
    edit(root / "src/core/word.hpp", "int", "long")
    stale, below, shown = state()
    assert (stale, below) == ([], ["src/core"])
    assert "stale" not in shown and "src/core changed" in shown
    edit(table, "1", "2")
    stale, _, shown = state()
    assert stale == ["src/structures/dramhit"]
    assert "1 older than their code" in shown
    edit(table, "2", "1")
    table.rename(table.with_name("other.hpp"))
    code._files.cache_clear()
    assert state()[0] == ["src/structures/dramhit"], "files have names"
    reported = json.loads(path.read_text(encoding="utf-8"))
    del reported["code"]
    path.write_text(json.dumps(reported), encoding="utf-8")
    assert "1 older than their code" in state()[2], "who does not say what it measured may be of any code"


def test_what_lies_beside_layers_is_not_what_lies_in_them(root: Path) -> None:
    deep = root / "src/pool/medium/deep.hpp"
    deep.parent.mkdir()
    deep.write_text("int deep;", encoding="utf-8")
    code._files.cache_clear()
    noted = code.noted(root, ["src/structures/dramhit"])
    assert set(noted["below"]) == {"src/pool/.", "src/core"}
    edit(deep, "deep", "deeper")
    assert code.changed(root, noted) == ([], [])


def test_words_in_quotes_are_no_comments() -> None:
    assert code.stripped('a("// b /* c", \'"\'); // d\n/* e\n */ f') == 'a("// b /* c", \'"\'); f'


def test_the_layers_that_benchmarks_measure_are_there() -> None:
    for layer in (*code.CPU, *code.GPU, *code.POOL, *dramhit.LAYERS):
        assert code.hash_of(ROOT, layer), layer
    assert code.of_table("cuda:1") == code.of_table("cuda") != code.of_table("cpu")


def test_a_command_notes_what_it_measured(tmp_path: Path) -> None:
    for command, layers in {"micro": set(code.CPU), "snapshot": set(code.POOL), "limits": set()}.items():
        got = CliRunner().invoke(app(), [command, "--quick", "--json", str(tmp_path / "r.json")])
        assert got.exit_code == 0, got.output
        assert set(results.read(tmp_path / "r.json")["code"]["layers"]) == layers
