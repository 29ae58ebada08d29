"""scripts/doc-links finds no dead link in the tree, and finds those that are planted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = "docs"  # apart from the names below, which the script would take for citations
PAGE, RULE = f"{PAGES}/page.md", "Rule"


def site_links(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "doc-site"), "--links", str(folder)]
    return subprocess.run(command, capture_output=True, text=True)


def doc_links(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "doc-links"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_tree() -> None:
    done = doc_links()
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("file", "text", "fault"),
    [
        (PAGE, "See [there](gone.md).", "there is no such file"),
        (PAGE, "See ![it](img/gone.svg).", "there is no such file"),
        (PAGE, "See [there](protocol.md#gone).", "there is no such heading"),
        (PAGE, "# Here\n\nSee [below](#gone).", "there is no such heading"),
        ("src/a.hpp", f"// {RULE} 99 says so.", f"no {RULE.lower()} 99"),
        ("src/a.hpp", f"// Whoever frees it ({RULE}s 1, 98).", f"no {RULE.lower()} 98"),
        ("src/a.hpp", f"// See {PAGES}/gone.md.", "gone.md is not there"),
        (PAGE, "# One & two\n\n[x](#one--two) [y](protocol.md#1-one-change) [z](https://example.org/a)", ""),
        (PAGE, "`[x](gone.md)`\n\n```text\n[y](gone.md)\n```\n", ""),
        ("src/a.hpp", "// rules 1 and 1, and docs/protocol.md", ""),
    ],
)
def test_what_is_planted(file: str, text: str, fault: str, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for name, content in {"docs/protocol.md": "### 1. One change\n", file: text}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    done = doc_links(str(tmp_path))
    assert (done.returncode, fault in done.stderr) == (1 if fault else 0, True), done.stderr


@pytest.mark.parametrize(
    ("link", "fault"),
    [("b/", ""), ("b/#here", ""), ("gone/", "no such file"), ("b/#gone", "no such place"), ("#gone", "no such place"),
     ("https://example.org/gone", "")],
)  # fmt: skip
def test_links_of_a_site(link: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "index.html").write_text('<h1 id="here">b</h1><img src="../index.html">', encoding="utf-8")
    (tmp_path / "index.html").write_text(f'<a href="{link}">b</a>', encoding="utf-8")
    done = site_links(tmp_path)
    assert (done.returncode, fault in done.stderr) == (1 if fault else 0, True), done.stderr
