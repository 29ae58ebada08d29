"""The study of saves of a training, at a size at which it shows that it works."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench.frame import results
from bench.frame.main import app

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("_bench", reason="the benchmarks' module is not built")
from bench.training_saves import tables  # noqa: E402
from bench.training_saves.run.model import Training  # noqa: E402


def test_it_measures_and_its_results_make_tables(tmp_path: Path) -> None:
    arguments = ["training-saves", "--quick", "--every", "1,3", "--disk", str(tmp_path), "--json", str(tmp_path)]
    got = CliRunner().invoke(app(), arguments)
    assert got.exit_code == 0, f"{got.output}\n{got.exception!r}"
    content = results.read(tmp_path / "training-saves.json")
    found = content["results"]
    assert found["state_bytes"] > 300_000 and found["tensors"] > 100
    assert [one["every"] for one in found["every"]] == [1, 3]
    assert found["every"][0]["durable_ms"]["repetitions"] == 2, "a save before each of two steps"
    for path in ("every[every=3].slower.median", "sooner.median", "slowed.median", "drain.of_disk.median"):
        assert results.field(content, f"results.{path}") > 0
    assert tables.steps(content).count("\n") == 3 and "async_save" in tables.beside(content)
    assert list(tmp_path.iterdir()) == [tmp_path / "training-saves.json"], "it removes what it wrote"


def test_bad_arguments() -> None:
    got = CliRunner().invoke(app(), ["training-saves", "--quick", "--every", "0"])
    assert got.exit_code == 2 and "1 or more" in got.output


def test_what_is_restored_is_compared(tmp_path: Path) -> None:
    import holdfastdb as hf
    from bench.frame.running import WrongAnswer

    training = Training(1, 32, 64, 1, 8, "cpu")
    training.one_step()
    with hf.Checkpoint(tmp_path / "a.hold") as checkpoint:
        training.check(checkpoint)
        restore = checkpoint.restore

        def wrong() -> tuple[object, int]:
            state, step = restore()
            state["model"]["last.weight"][0] += 1
            return state, step

        checkpoint.restore = wrong  # type: ignore[method-assign, assignment]
        with pytest.raises(WrongAnswer):
            training.check(checkpoint)
