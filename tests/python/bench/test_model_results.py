"""The table of mutants in docs/durability.md is what the committed result file says."""

import importlib.machinery
import importlib.util
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_table_of_mutants_is_the_result_files() -> None:
    loader = importlib.machinery.SourceFileLoader("model_results", str(ROOT / "scripts" / "model-results"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    script = importlib.util.module_from_spec(spec)
    loader.exec_module(script)
    content = json.loads((ROOT / "bench" / "results" / "amd-epyc-2c" / "model.json").read_text(encoding="utf-8"))
    assert content["results"]["neither_killed_nor_explained"] == 0
    page = (ROOT / "docs" / "durability.md").read_text(encoding="utf-8")
    assert script.with_table(page, script.table(content)) == page
