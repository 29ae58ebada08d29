"""scripts/plant: an error is noticed by the test that its patch names, and by nothing else."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import scripts_as_modules

PATCH = """One is wrong.
Test: test_some Some.Test

diff --git a/src/a.cpp b/src/a.cpp
--- a/src/a.cpp
+++ b/src/a.cpp
@@ -1 +1 @@
-right
+wrong
"""


@pytest.fixture
def plant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, over a repository with a file and a test of it that needs no compiler."""
    script = scripts_as_modules.load("plant", monkeypatch)
    write(tmp_path / "src" / "a.cpp", "right\n")
    write(tmp_path / "tests" / "a_test.cpp", "TEST(Some, Test) {}")
    write(tmp_path / "tests" / "planted" / "room" / "one.patch", PATCH)
    write(tmp_path / ".gitignore", "build\n")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    tree = tmp_path / "build" / "plant"
    program = tree / "build" / "dev" / "test_some"
    write(program, "#!/bin/sh\necho '[  PASSED  ] 1 test.'\nexec grep -q right src/a.cpp\n")
    program.chmod(0o755)
    for name, value in {"ROOT": tmp_path, "TREE": tree, "BUILD": program.parent,
                        "PATCHES": tmp_path / "tests" / "planted"}.items():  # fmt: skip
        monkeypatch.setattr(script, name, value)
    monkeypatch.setattr(script, "configure", lambda: None)
    monkeypatch.setattr(script, "build", lambda targets: True)
    return script


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def run(plant: ModuleType, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["plant", *words])
    return plant.main()


def test_an_error_is_noticed_and_taken_out_again(
    plant: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(plant, monkeypatch) == 0
    assert "one: noticed" in capsys.readouterr().out
    assert (plant.TREE / "src" / "a.cpp").read_text() == "right\n"


def test_an_interrupted_run_goes_on(
    plant: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With what was noticed of the same patch, and the same code and test; anything else runs again."""
    again = ("--go-on", "--json", str(tmp_path / "planted.json"))
    assert run(plant, monkeypatch, *again) == 0
    assert "one: noticed" in capsys.readouterr().out
    counts = plant.results.read(tmp_path / "planted.json")["results"]
    assert (counts["planted"], counts["unnoticed"], counts["unrun"]) == (1, 0, 0)

    assert run(plant, monkeypatch, *again) == 0
    assert "one: noticed" not in capsys.readouterr().out, "it ran again"

    other = tmp_path / "tests" / "planted" / "room" / "two.patch"
    write(other, PATCH.replace("+wrong", "+left"))
    assert run(plant, monkeypatch, *again) == 0
    out = capsys.readouterr().out
    assert "two: noticed" in out and "one: noticed" not in out

    write(other, PATCH.replace("+wrong", "+false"))
    assert run(plant, monkeypatch, *again) == 0
    assert "two: noticed" in capsys.readouterr().out, "another patch of the same name"

    for changed in ("src/b.cpp", "tests/some/b_test.cpp"):
        write(tmp_path / changed, "new\n")
        plant.code._files.cache_clear()
        assert run(plant, monkeypatch, *again) == 0
        out = capsys.readouterr().out
        assert "one: noticed" in out and "two: noticed" in out
    write(tmp_path / "other" / "c.cpp", "another room\n")
    plant.code._files.cache_clear()
    assert run(plant, monkeypatch, *again) == 0
    assert "noticed" not in capsys.readouterr().out.replace("2 of 2 planted errors were noticed", "")


def test_each_result_is_kept(plant: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write(tmp_path / "tests" / "planted" / "room" / "two.patch", PATCH.replace("+wrong", "+left"))
    judge, judged = plant.judge, []

    def interrupted(planted: object) -> str:
        if judged:
            raise KeyboardInterrupt
        judged.append(planted)
        return str(judge(planted))

    monkeypatch.setattr(plant, "judge", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(plant, monkeypatch, "--json", str(tmp_path / "planted.json"))
    counts = plant.results.read(tmp_path / "planted.json")["results"]
    assert (counts["planted"], counts["unrun"]) == (1, 1)


def test_going_on_needs_a_file(
    plant: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run(plant, monkeypatch, "--go-on")
    assert "--go-on needs the --json FILE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("program", "result"),
    [("true", "not noticed"), ("sleep 9", "ran for 1 s")],
)
def test_what_a_test_does_not_notice(
    plant: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], program: str, result: str
) -> None:
    monkeypatch.setattr(plant, "PATIENCE_S", 1)
    (plant.BUILD / "test_some").write_text(f"#!/bin/sh\ngrep -q right src/a.cpp || {program}\n")
    assert run(plant, monkeypatch) == 1
    assert f"one: {result}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("program", "message"),
    [("exit 1", "without any error planted"), ("echo '[  PASSED  ] 0 tests.'", "is no test")],
)
def test_a_test_that_shows_nothing(
    plant: ModuleType, monkeypatch: pytest.MonkeyPatch, program: str, message: str
) -> None:
    (plant.BUILD / "test_some").write_text(f"#!/bin/sh\n{program}\n")
    with pytest.raises(SystemExit, match=message):
        run(plant, monkeypatch)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [("-right", "-left", "no longer applies"), ("Some.Test", "Some.Other", "names a test that is not there")],
)
def test_patches_that_time_has_overtaken(
    plant: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], old: str, new: str,
    message: str,
) -> None:  # fmt: skip
    assert run(plant, monkeypatch, "--check") == 0
    write(plant.PATCHES / "room" / "one.patch", PATCH.replace(old, new))
    assert run(plant, monkeypatch, "--check") == 1
    assert message in capsys.readouterr().err


def test_a_patch_says_what_it_is(plant: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    write(plant.PATCHES / "room" / "one.patch", PATCH.replace("Test: test_some Some.Test", ""))
    with pytest.raises(SystemExit, match="does not begin with what is wrong"):
        run(plant, monkeypatch, "--check")
