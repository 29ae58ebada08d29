"""Scripts of the repository, which have no name that Python could import."""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """scripts/NAME as a module, for the length of a test."""
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "scripts" / name))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    script = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, script)
    loader.exec_module(script)
    return script
