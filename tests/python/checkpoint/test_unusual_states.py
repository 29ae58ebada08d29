"""Unusual states, names and files: saved and restored, or refused with our own text."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfastdb as hf
from holdfastdb.checkpoint.tree import MOST_LEVELS, rebuild

LONG = 10**5000


@pytest.fixture
def checkpoint(tmp_path: Path) -> Iterator[hf.Checkpoint]:
    with hf.Checkpoint(tmp_path / "a.hold") as made:
        made.save({"x": 1}, 1).wait()
        yield made


def written(path: Path, header: Any, data: bytes = b"") -> Path:
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def tensor(shape: list[int], size: int = 0, dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [0, size]}


def nested(levels: int, kind: type = list) -> Any:
    state: Any = 7
    for _ in range(levels):
        state = {"k": state} if kind is dict else kind([state])
    return state


SAVED: dict[str, Any] = {
    "counter": {"c": Counter({3: 2, 30: 1, "none": 0, "less": -5})},
    "digits": {"n": LONG, "less": -LONG, "list": [LONG]},
    "limits": [(1 << 1024) - 1, 1 << 1024, -(1 << 1024), 1 - (1 << 1024), 1 << 63, -1],
    "surrogate text": {"\udc80": ["\ud800", {"k": "\udfff"}]},
    "names": {"": [np.ones(2)], "a/b": np.ones(1), "a": {"b": np.zeros(1)}, "\0": np.ones(3), "é" * 500: np.ones(4)},
    "lists": nested(MOST_LEVELS),
    "dicts": nested(MOST_LEVELS, dict),
    "tuples": nested(MOST_LEVELS, tuple),
    "ordered": OrderedDict([(2, Counter()), (1, ())]),
}  # fmt: skip


@pytest.mark.parametrize("state", SAVED.values(), ids=SAVED)
def test_a_state_comes_back_by_restore_and_by_a_file(checkpoint: hf.Checkpoint, tmp_path: Path, state: Any) -> None:
    checkpoint.save(state, 2).wait()
    checkpoint.export(tmp_path / "out")
    for _ in range(2):
        back, _ = checkpoint.restore()
        assert type(back) is type(state)
        np.testing.assert_equal(back, state)
        checkpoint.import_(tmp_path / "out").wait()
    if isinstance(state, dict) and "c" in state:
        assert type(back["c"]) is Counter and list(back["c"].elements()) == list(state["c"].elements())


REFUSED: dict[str, tuple[Callable[[hf.Checkpoint], Any], str]] = {
    "surrogate name": (lambda c: c.save({"a\udc80": np.ones(2)}, 2), r"at 'a\\udc80'.*surrogates"),
    "surrogate below": (lambda c: c.save({"\ud800": [np.ones(2)]}, 2), "surrogates"),
    "surrogate prefix": (lambda c: c.arrays("\ud800"), "surrogates"),
    "prefix": (lambda c: c.arrays(5), "prefix"),  # type: ignore[arg-type]
    "2,000 lists": (lambda c: c.save(nested(2000), 2), f"more than {MOST_LEVELS} levels at 0/0"),
    "one too many": (lambda c: c.save({"a": nested(MOST_LEVELS)}, 2), f"more than {MOST_LEVELS} levels at a/0"),
    "dicts": (lambda c: c.save(nested(MOST_LEVELS + 1, dict), 2), "levels at k/k"),
    "10,000 dicts": (lambda c: c.save(nested(10_000, dict), 2), "levels"),
    "step": (lambda c: c.save({}, LONG), r"step is 2\*\*16609 or more"),
    "step below": (lambda c: c.save({}, -LONG), r"step is -2\*\*16609"),
    "step of text": (lambda c: c.save({}, "9" * 5000), "step is '99.*…, of type str"),  # type: ignore[arg-type]
    "sequence": (lambda c: c.restore(LONG), "sequence is"),
    "key": (lambda c: c.save({LONG: 1}, 2), "a key of 16,610 bits"),
    "copies": (lambda c: hf.Checkpoint("/tmp/x.hold", LONG), "copies is"),
    "every": (lambda c: hf.Checkpoint("/tmp/x.hold", every=-LONG), "every is"),
    "kind": (lambda c: c.arrays(kind=np.ones(3)), "kind is"),  # type: ignore[arg-type]
    "kind of a file": (lambda c: c.import_("x", kind=["torch"]), "kind is"),  # type: ignore[arg-type]
    "wait": (lambda c: c.save({}, 2, wait=np.ones(3)), "wait is"),  # type: ignore[arg-type]
    "stage": (lambda c: c.save({}, 2, stage=np.ones(3)), "stage is"),  # type: ignore[arg-type]
    "device": (lambda c: c.restore(device="cuda:" + "9" * 5000), "device is|GPU"),
}  # fmt: skip


@pytest.mark.parametrize("call, words", REFUSED.values(), ids=REFUSED)
def test_arguments_are_refused_with_our_text(
    checkpoint: hf.Checkpoint, call: Callable[[hf.Checkpoint], Any], words: str
) -> None:
    with pytest.raises(hf.Error, match=words) as raised:
        call(checkpoint)
    assert len(str(raised.value)) < 500
    assert checkpoint.restore() == ({"x": 1}, 1)


def test_a_stack_that_is_nearly_full_is_an_error_of_ours(checkpoint: hf.Checkpoint) -> None:
    checkpoint.save(nested(MOST_LEVELS), 2).wait()
    seen: list[str] = []

    def deep(calls: int) -> None:
        if calls > 0:
            deep(calls - 1)
            return
        for call in (lambda: checkpoint.save(nested(MOST_LEVELS), 3), checkpoint.restore):
            with pytest.raises(hf.Error, match="setrecursionlimit") as raised:
                call()
            seen.append(str(raised.value))

    frame, depth = sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1  # type: ignore[assignment]
    deep(sys.getrecursionlimit() - depth - 200)
    assert len(seen) == 2
    assert checkpoint.restore()[1] == 2


# What restore would refuse is refused by import_, and what import_ takes can be restored.

HUGE = 1 << 62
BAD_SHAPES = {
    "overflow": tensor([0, HUGE, HUGE]),
    "overflow of bytes": tensor([0, 1 << 61]),
    "overflow behind": tensor([HUGE, HUGE, 0]),
    "wide": tensor([0, 1 << 40, 1 << 40], dtype="U8"),
    "65 dimensions": tensor([1] * 65, 4),
    "million dimensions": tensor([HUGE] * 100_000 + [0]),
}


@pytest.mark.parametrize("entry", BAD_SHAPES.values(), ids=BAD_SHAPES)
@pytest.mark.parametrize("tree", [None, '["numpy", "x"]', '["torch", "x"]', '["scalar", "x"]', "1"])
@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_a_shape_that_no_array_has_is_refused(
    checkpoint: hf.Checkpoint, tmp_path: Path, entry: dict[str, Any], tree: str | None, kind: str
) -> None:
    header: dict[str, Any] = {"x": entry}
    if tree is not None:
        header["__metadata__"] = {"holdfast.state": tree, "holdfast.step": "3"}
    path = written(tmp_path / "in", header, bytes(entry["data_offsets"][1]))
    with pytest.raises(hf.InputError, match=r"dimensions|strides overflow") as raised:
        checkpoint.import_(path, kind=kind)
    assert "'x'" in str(raised.value) and str(path) in str(raised.value)
    assert checkpoint.restore() == ({"x": 1}, 1)


TREES = {
    "levels": "[" * 3000 + "]" * 3000,
    "lists": '["list",' * 300 + "1" + "]" * 300,
    "no list": '{"a": 1}',
    "empty": "[]",
    "no kind": "[[]]",
    "kind": '["set", 1]',
    "pairs": '["dict", 5]',
    "key": '["dict", [["a"], 1]]',
    "counter": '["counter", [["a"], 1]]',
    "base64": '["bytes", "x"]',
    "bytes": '["bytes"]',
    "int": '["int", "0xz"]',
    "int of digits": f'["int", {"9" * 5000}]',
    "digits": "9" * 5000,
    "name": '["numpy", "y"]',
    "name of list": '["numpy", ["x"]]',
    "cut": '["list", 1',
    "surrogate": "\ud800",
    "nothing": "",
}


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_a_tree_that_no_save_wrote_is_refused(checkpoint: hf.Checkpoint, tmp_path: Path, tree: str) -> None:
    entry = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
    path = written(
        tmp_path / "in", {"x": entry, "__metadata__": {"holdfast.state": tree, "holdfast.step": "3"}}, b"0123"
    )
    with pytest.raises(hf.InputError, match=r"do not fit it|cannot be written in UTF-8"):
        checkpoint.import_(path)
    assert checkpoint.restore() == ({"x": 1}, 1)


@pytest.mark.parametrize("step", ["9" * 5000, "18446744073709551616", "", "-1", "٣", "1.0", "0x1"])
def test_a_step_that_no_export_wrote_is_refused(checkpoint: hf.Checkpoint, tmp_path: Path, step: str) -> None:
    path = written(tmp_path / "in", {"__metadata__": {"holdfast.state": "1", "holdfast.step": step}})
    with pytest.raises(hf.InputError, match="its step is") as raised:
        checkpoint.import_(path)
    assert len(str(raised.value)) < 400


def test_a_name_that_is_no_text_is_refused(checkpoint: hf.Checkpoint, tmp_path: Path) -> None:
    path = written(tmp_path / "in", {"\ud800": tensor([1], 4)}, b"0123")
    with pytest.raises(hf.InputError, match="UTF-8"):
        checkpoint.import_(path)


@pytest.mark.parametrize("element", ["F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "BF16", "C64"])
def test_all_elements_of_the_format_are_imported(checkpoint: hf.Checkpoint, tmp_path: Path, element: str) -> None:
    torch = pytest.importorskip("torch")
    size = {"BF16": 2, "C64": 8}.get(element, 1)
    data = bytes(range(16 * size))
    path = written(tmp_path / "in", {"x": tensor([4, 4], len(data), element)}, data)
    checkpoint.import_(path, kind="torch").wait()
    back, _ = checkpoint.restore()
    assert back["x"].shape == (4, 4) and bytes(back["x"].view(torch.uint8).numpy().tobytes()) == data
    checkpoint.save(back, 2).wait()
    checkpoint.export(tmp_path / "out")
    raw = (tmp_path / "out").read_bytes()
    length = int.from_bytes(raw[:8], "little")
    assert json.loads(raw[8 : 8 + length])["x"]["dtype"] == element and raw[8 + length :] == data


@pytest.mark.parametrize("element", ["F4", "F6_E2M3", "F6_E3M2", "F99"])
def test_elements_that_are_not_stored_are_named(checkpoint: hf.Checkpoint, tmp_path: Path, element: str) -> None:
    path = written(tmp_path / "in", {"x": tensor([8], 8, element)}, bytes(8))
    with pytest.raises(hf.InputError, match=f"'x' has elements '{element}'.*convert") as raised:
        checkpoint.import_(path)
    assert "whole" not in str(raised.value).replace("whole bytes", ""), "the file is not damaged"


def test_what_an_older_import_took_names_its_array(checkpoint: hf.Checkpoint) -> None:
    """Such a state can be in a pool: an error of ours, and the state before it is still there."""
    checkpoint._native.save(2, [("x", "F32", [0, HUGE, HUGE], 0)], '["numpy", "x"]', True).wait()
    with pytest.raises(hf.InvalidArgument, match="which x has"):
        checkpoint.restore()
    assert checkpoint.restore(checkpoint.saved[1]["sequence"]) == ({"x": 1}, 1)
    with pytest.raises(hf.InvalidArgument, match="which x has"):
        checkpoint.arrays("")


def test_a_text_with_too_many_levels_is_no_state() -> None:
    with pytest.raises(hf.PoolCorrupt, match="levels"):
        rebuild('["list",' * 300 + "1" + "]" * 300, lambda kind, name: None)


def test_tensors_without_torch_are_an_error_of_ours(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    with hf.Checkpoint(tmp_path / "a.hold") as checkpoint:
        checkpoint.save({"x": torch.ones(2)}, 1).wait()
    code = """
import sys, holdfastdb as hf
sys.modules["torch"] = None
with hf.Checkpoint(sys.argv[1]) as checkpoint:
    for call in (checkpoint.restore, lambda: checkpoint.arrays(kind="torch"), lambda: checkpoint.restore(device="cpu")):
        try:
            call()
        except hf.MissingExtra as error:
            print(error)
    assert checkpoint.arrays()["x"].tolist() == [1, 1]
"""
    command = [sys.executable, "-c", code, tmp_path / "a.hold"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(said) == 3 and all("pip install torch" in line for line in said)


# What PyTorch's own objects have in their state_dict.


def schedulers(torch: Any) -> dict[str, Callable[[Any], Any]]:
    of = torch.optim.lr_scheduler
    return {
        "LambdaLR": lambda o: of.LambdaLR(o, lambda step: 0.9**step),
        "MultiplicativeLR": lambda o: of.MultiplicativeLR(o, lambda step: 0.9),
        "StepLR": lambda o: of.StepLR(o, 2),
        "MultiStepLR": lambda o: of.MultiStepLR(o, [2, 3, 3, 5], 0.5),
        "ConstantLR": lambda o: of.ConstantLR(o, 0.5, 3),
        "LinearLR": lambda o: of.LinearLR(o, 0.5, total_iters=4),
        "ExponentialLR": lambda o: of.ExponentialLR(o, 0.9),
        "SequentialLR": lambda o: of.SequentialLR(o, [of.ConstantLR(o), of.MultiStepLR(o, [1, 2])], [2]),
        "CosineAnnealingLR": lambda o: of.CosineAnnealingLR(o, 5),
        "ChainedScheduler": lambda o: of.ChainedScheduler([of.ConstantLR(o), of.ExponentialLR(o, 0.9)]),
        "ReduceLROnPlateau": lambda o: of.ReduceLROnPlateau(o, patience=0),
        "CyclicLR": lambda o: of.CyclicLR(o, 0.1, 0.5, 2, cycle_momentum=False),
        "CosineAnnealingWarmRestarts": lambda o: of.CosineAnnealingWarmRestarts(o, 2),
        "OneCycleLR": lambda o: of.OneCycleLR(o, 0.5, 20, cycle_momentum=False),
        "PolynomialLR": lambda o: of.PolynomialLR(o, 5),
        "SWALR": lambda o: torch.optim.swa_utils.SWALR(o, 0.05, 3),
    }


def test_every_scheduler_goes_on_as_without_a_restore(checkpoint: hf.Checkpoint) -> None:
    torch = pytest.importorskip("torch")
    made = schedulers(torch)
    assert {name for name in torch.optim.lr_scheduler.__all__ if name != "LRScheduler"} <= made.keys()
    for name, make in made.items():
        rates = []
        for restored in (False, True):
            weight = torch.nn.Parameter(torch.ones(2))
            optimizer = torch.optim.SGD([weight], lr=0.3)
            scheduler = make(optimizer)
            rates.append([])
            for step in range(8):
                if restored and step == 3:
                    checkpoint.save({"o": optimizer.state_dict(), "s": scheduler.state_dict()}, step).wait()
                    back, _ = checkpoint.restore()
                    optimizer = torch.optim.SGD([weight], lr=0.3)
                    scheduler = make(optimizer)
                    scheduler.load_state_dict(back["s"])
                    optimizer.load_state_dict(back["o"])
                optimizer.step()
                scheduler.step(*([1.0] if name == "ReduceLROnPlateau" else []))
                rates[-1].append(optimizer.param_groups[0]["lr"])
        assert rates[0] == rates[1], name


def test_every_optimizer_goes_on_as_without_a_restore(checkpoint: hf.Checkpoint) -> None:
    torch = pytest.importorskip("torch")
    names = [name for name in torch.optim.__all__ if isinstance(getattr(torch.optim, name, None), type)]
    for name in names:
        kind = getattr(torch.optim, name)
        if kind is torch.optim.Optimizer or name == "SparseAdam":
            continue
        weights = []
        for restored in (False, True):
            torch.manual_seed(2)
            weight = torch.nn.Parameter(torch.randn(4, 3))
            optimizer = kind([weight], lr=0.1)

            def loss(weight: Any = weight) -> Any:
                weight.grad = None
                value = weight.square().sum()
                value.backward()
                return value

            for step in range(5):
                if restored and step == 3:
                    checkpoint.save({"o": optimizer.state_dict()}, step).wait()
                    optimizer = kind([weight], lr=0.1)
                    optimizer.load_state_dict(checkpoint.restore()[0]["o"])
                optimizer.step(loss)
            weights.append(weight.detach())
        assert torch.equal(*weights), name
