"""scripts/lint/length-branches counts branches on the kind of length, each once, and nothing else."""

from __future__ import annotations

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "lint" / "length-branches"
LOADER = SourceFileLoader("length_branches", str(SCRIPT))
SPEC = spec_from_loader("length_branches", LOADER)
assert SPEC is not None
MODULE = module_from_spec(SPEC)
LOADER.exec_module(MODULE)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("if (variable_) f();", 1),
        ("if constexpr (Shape::kVariable) { f(); }", 1),
        ("while (memory.pairs() && next()) {}", 1),
        ("const auto n = key_bytes == kVariableBytes ? 8 : f(a ? b : c);", 1),
        ("return !Shape::kVariable && wide();", 1),
        ("const bool pairs_here = layout.shape.variable_;", 1),
        ("template <class S> requires(!S::kVariable) void f();", 1),
        ("std::conditional_t<Shape::kVariable, A, B> x;", 1),
        ("if (a) f(); if (pairs_) g(); variable ? h() : i();", 2),
        ("// if (variable_) f();", 0),
        ('throw Error("if (variable_)");', 0),
        ("using Kind = ItemKind<Shape::kVariable>; if (wide()) f();", 0),
        ("if (batch.variable->blobs != nullptr) f();", 0),
        ("table_.memory.pairs()->extend(layout);", 0),
    ],
)
def test_counts(text: str, count: int) -> None:
    assert len(list(MODULE.branches(f"void f() {{\n{text}\n}}\n"))) == count
