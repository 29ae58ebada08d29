"""The table of mutants in docs/evidence.md is what the committed result file says."""

import json
from pathlib import Path

import pytest
import scripts_as_modules

ROOT = Path(__file__).resolve().parents[3]


def test_the_table_of_mutants_is_the_result_files(monkeypatch: pytest.MonkeyPatch) -> None:
    script = scripts_as_modules.load("model-results", monkeypatch)
    content = json.loads((ROOT / "bench" / "results" / "two-core" / "model.json").read_text(encoding="utf-8"))
    assert content["results"]["neither_killed_nor_explained"] == 0
    page = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    assert script.with_table(page, script.table(content)) == page
