"""The applications of the benchmarks: they read their data, generate what they say, and notice wrong answers."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import holdfastdb
from bench.applications import dlrm, pagerank, places
from bench.applications.pagerank import Graph
from bench.frame import results, studies
from bench.frame.main import app
from bench.frame.running import WrongAnswer

APP = app()


def run(*arguments: str, status: int = 0) -> str:
    got = CliRunner().invoke(APP, list(arguments))
    assert got.exit_code == status, f"{got.output}\n{got.exception!r}"
    return got.output


# Samples

LINE = ["1", *(str(i) for i in range(13)), *(f"{i:08x}" for i in range(26))]


def test_criteo_lines(tmp_path: Path) -> None:
    missing = [*LINE[:14], "", *LINE[15:]]
    tabs, commas = tmp_path / "day.tsv", tmp_path / "sample.txt"
    tabs.write_text("\n".join("\t".join(line) for line in (LINE, missing)), encoding="utf-8")
    commas.write_text("\n".join(["label," + ",".join(f"I{i}" for i in range(39)), ",".join(LINE)]), encoding="utf-8")
    keys = dlrm.read_criteo(tabs)
    assert keys.shape == (2, 26)
    assert np.array_equal(dlrm.read_criteo(commas), keys[:1])
    assert len(np.unique(keys)) == 27  # the missing category is one of its own
    assert keys[0, 3] == 3 << 40 | 3


@pytest.mark.parametrize(
    ("text", "error"),
    [("1\t2\t3\n", "3 fields"), ("\t".join([*LINE[:39], "xyz"]), "no category"), ("", "no samples")],
)
def test_wrong_criteo_lines_are_refused(text: str, error: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=error):
        dlrm.read_criteo(path)
    run("dlrm", "--quick", "--data", str(path), status=2)


@pytest.mark.skipif(not dlrm.SAMPLE.exists(), reason=f"the sample is not here: {dlrm.SAMPLE}")
def test_the_criteo_sample() -> None:
    keys = dlrm.read_criteo(dlrm.SAMPLE)
    assert keys.shape == (200, 26)
    assert 500 < len(np.unique(keys)) < 5200


def test_generated_samples() -> None:
    generator = dlrm.Generator.scaled(0.001, 1.05)
    every = np.concatenate(list(generator.tables(np)))
    assert len(np.unique(every)) == len(every) == sum(generator.rows)
    drawn = generator.draw(np, 4000, 3)
    assert drawn.shape == (4000 * 26,)
    assert np.isin(drawn, every).all()
    # The third table has 10,131 rows: its most popular one gets about 1 / H of the samples, its last ones hardly any.
    rows = generator.rows[2]
    categories = drawn.reshape(-1, 26)[:, 2] & np.uint64((1 << 40) - 1)
    counts = np.bincount(categories.astype(np.int64), minlength=rows)
    continuous = (2**-0.05 - 1) / ((rows + 1) ** -0.05 - 1)
    assert counts[0] / 4000 == pytest.approx(continuous, abs=0.03)
    assert counts[: rows // 100].sum() > 0.5 * 4000


def test_embedding_rows_are_floats_of_their_keys() -> None:
    rows = dlrm.rows_at(np, np.arange(5000, dtype=np.uint64), 32)
    assert rows.dtype == np.float32
    assert rows.min() >= 0 and rows.max() < 1
    assert rows.mean() == pytest.approx(0.5, abs=0.01)
    assert len(np.unique(rows, axis=0)) == 5000


# Graphs


def naive(graph: Graph, iterations: int) -> np.ndarray:
    """PageRank as a textbook has it, edge by edge."""
    ranks = [1 / graph.vertices] * graph.vertices
    out = np.bincount(graph.source, minlength=graph.vertices)
    for _ in range(iterations):
        sums = [0.0] * graph.vertices
        for a, b in zip(graph.source, graph.target, strict=True):
            sums[b] += ranks[a] / out[a]
        lost = sum(r for r, degree in zip(ranks, out, strict=True) if degree == 0)
        ranks = [0.15 / graph.vertices + 0.85 * (s + lost / graph.vertices) for s in sums]
    return np.array(ranks)


def small_graph(tmp_path: Path) -> Path:
    """A hub with 100 in-neighbours, a chain, and a vertex that nobody names twice."""
    path = tmp_path / "edges.txt"
    lines = [*(f"{100 + i} 7" for i in range(100)), "7 900", "900 901", "901 100", "900 7"]
    path.write_text("# FromNodeId\tToNodeId\n" + "\n".join(lines), encoding="utf-8")
    return path


def on_road(graph: Graph, folder: Path, batch: int) -> np.ndarray:
    pieces = pagerank.pieces_of(np, graph)
    path = folder / "graph.hold"
    pagerank._load(path, pieces, "cpu", lambda _: None)
    with places.Direct(path, "cpu") as road:
        ranks: np.ndarray = pagerank.over(road, graph, pieces, 12, batch, np)[0]
    return ranks


@pytest.mark.parametrize("batch", [3, 1000])
def test_pagerank_over_a_pool(batch: int, tmp_path: Path) -> None:
    graph = pagerank.read_edges(np, small_graph(tmp_path))
    assert (graph.vertices, len(graph.source)) == (103, 104)
    right = naive(graph, 12)
    assert right.sum() == pytest.approx(1)
    assert np.allclose(pagerank.plain(np, graph, 12), right, rtol=1e-12)
    assert np.allclose(on_road(graph, tmp_path, batch), right, rtol=1e-12)


@pytest.mark.skipif(not pagerank.WIKI_VOTE.exists(), reason=f"the graph is not here: {pagerank.WIKI_VOTE}")
def test_pagerank_of_wiki_vote(tmp_path: Path) -> None:
    graph = pagerank.read_edges(np, pagerank.WIKI_VOTE)
    assert (graph.vertices, len(graph.source)) == (7115, 103_689)
    assert np.allclose(on_road(graph, tmp_path, 1000), naive(graph, 12), rtol=1e-9)


def test_rmat() -> None:
    graph = pagerank.rmat(np, 12, 60_000, 5)
    assert graph.vertices == 4096
    for ends in (graph.source, graph.target):
        assert len(ends) == 60_000
        assert ends.min() >= 0 and ends.max() < 4096
    degrees = np.sort(np.bincount(graph.target, minlength=4096))[::-1]
    assert degrees[:41].sum() > 0.08 * 60_000  # 1% of the vertices; of a uniform graph it were about 2%


def test_a_lost_piece_is_noticed(tmp_path: Path) -> None:
    graph = pagerank.read_edges(np, small_graph(tmp_path))
    pieces = pagerank.pieces_of(np, graph)
    path = tmp_path / "graph.hold"
    pagerank._load(path, pieces, "cpu", lambda _: None)
    with holdfastdb.Table.open(path, device="cpu") as table:
        table.erase(pieces.keys[:1])
    with places.Direct(path, "cpu") as road, pytest.raises(WrongAnswer, match="1 pieces"):
        pagerank.over(road, graph, pieces, 1, 64, np)


def test_wrong_graphs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "edges.txt"
    path.write_text("1 2 3\n", encoding="utf-8")
    run("pagerank", "--quick", "--data", str(path), status=2)
    run("pagerank", "--quick", "--data", str(tmp_path / "none.txt"), status=2)
    run("pagerank", "--scale", "31", status=2)


# Commands


@pytest.mark.parametrize("command", ["dlrm", "pagerank"])
def test_commands(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_MACHINE", "here")
    run(command, "--quick", "--json", str(tmp_path))
    content: Any = results.read(tmp_path / f"{command}.json")
    assert content["results"]["runs"][0]["road"] == "holdfast"
    assert all(r["mops"]["median"] > 0 and r["percent_of_link"] is None for r in content["results"]["runs"])
    assert "holdfast" in studies.find().tables[command](content)
    if command == "dlrm":
        pytest.importorskip("matplotlib")
        assert studies.find().plots[command](content, tmp_path / "plot.svg").exists()


def test_training(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    run("training", "--quick", "--json", str(tmp_path))
    content: Any = results.read(tmp_path / "training.json")
    assert [r["batch"] for r in content["results"]["runs"]] == [64, 256]
    assert all(r["of_apart"]["median"] > 0 for r in content["results"]["runs"])
    run("training", "--quick", "--batch", "0", "--dim", "0", status=2)


def test_a_gpu_without_its_arrays_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    got = CliRunner().invoke(APP, ["dlrm", "--quick", "--device", "cuda"])
    assert got.exit_code == 1
    assert "CuPy" in got.output
