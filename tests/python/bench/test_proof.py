"""scripts/proof: proves what is not proved for the code as it is, and nothing twice."""

import sys
from pathlib import Path
from types import ModuleType

import pytest
import scripts_as_modules

TESTS = """Running main() from gtest_main.cc
Some/Kinds.
  Holds/8  # GetParam() = 8-byte object <08-00 00-00>
Plain.
  Holds
  IsNoticed/publish_after_commit
"""


@pytest.fixture
def proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, over a tree of one room and a program whose tests note that they ran."""
    script = scripts_as_modules.load("proof", monkeypatch)
    (tmp_path / "src" / "room").mkdir(parents=True)
    (tmp_path / "build").mkdir()
    write(tmp_path, "int a;")
    program = tmp_path / "build" / "test_some"
    program.write_text(
        f"#!/bin/sh\nif [ $1 = --gtest_list_tests ]; then cat <<'END'\n{TESTS}END\nexit; fi\n"
        'echo "$1 $LONG" >>ran; [ ! -e fails ]\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "LEDGER", tmp_path / "build" / "proof")
    monkeypatch.setattr(script, "SUITES", {"some": script.Suite("test_some", ("src/room",), {"LONG": "1"})})
    return script


def write(tree: Path, text: str) -> None:
    (tree / "src" / "room" / "a.cpp").write_text(text)


def prove(proof: ModuleType, monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[int, list[str]]:
    """What it ends with, and what ran."""
    proof.code._files.cache_clear()
    monkeypatch.setattr(sys, "argv", ["proof", "--build", "build", "--only", "some.*", *words])
    ran: Path = proof.ROOT / "ran"
    ran.unlink(missing_ok=True)
    monkeypatch.chdir(proof.ROOT)
    return proof.main(), ran.read_text().splitlines() if ran.exists() else []


def test_nothing_is_proved_twice(proof: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    both = ["--gtest_filter=Some/Kinds.Holds/8 1", "--gtest_filter=Plain.Holds 1"]
    assert prove(proof, monkeypatch) == (0, both)
    assert prove(proof, monkeypatch) == (0, [])
    write(proof.ROOT, "int a; // the same")
    assert prove(proof, monkeypatch) == (0, [])
    write(proof.ROOT, "int b;")
    assert prove(proof, monkeypatch, "--list") == (0, [])
    assert prove(proof, monkeypatch) == (0, both)


def test_what_fails_or_is_left_is_not_proved(proof: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    assert prove(proof, monkeypatch, "--minutes", "0") == (3, [])
    (proof.ROOT / "fails").touch()
    ended, ran = prove(proof, monkeypatch)
    assert ended == 1 and len(ran) == 2
    (proof.ROOT / "fails").unlink()
    ended, ran = prove(proof, monkeypatch)
    assert ended == 0 and len(ran) == 2


def test_no_proof_takes_over_an_hour(
    proof: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(proof, "LONGEST_S", 0.2)
    (proof.ROOT / "build" / "test_some").write_text(
        f"#!/bin/sh\nif [ $1 = --gtest_list_tests ]; then cat <<'END'\n{TESTS}END\nexit; fi\nexec sleep 5\n"
    )
    assert prove(proof, monkeypatch) == (1, [])
    assert "some.Plain.Holds took over an hour" in capsys.readouterr().err


def test_rooms(proof: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    (proof.ROOT / "src" / "other").mkdir()
    with pytest.raises(SystemExit, match="nothing matches"):
        prove(proof, monkeypatch, "src/other")
    assert prove(proof, monkeypatch, "src/room")[0] == 0
    with pytest.raises(SystemExit):
        prove(proof, monkeypatch, "src/none")


def test_a_build_without_the_programs(
    proof: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (proof.ROOT / "build" / "test_some").unlink()
    with pytest.raises(SystemExit):
        prove(proof, monkeypatch)
    assert "build has no test_some: build it there" in capsys.readouterr().err
