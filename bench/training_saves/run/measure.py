"""Steps with saves against steps without, in turns; saves beside those of DCP; and drains beside plain writes."""

import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.frame.results import Json
from bench.frame.running import Progress
from bench.frame.timing import rounded, spread
from bench.training_saves.run.model import Training
from bench.training_saves.run.savers import DcpSaver, HoldfastSaver
from holdfastdb import Checkpoint


def measured(
    training: Training, every: list[int], least: int, repetitions: int, folder: Path, disk: Path, progress: Progress
) -> Json:
    """`least`: steps of a turn, or as many as there are between two saves."""
    progress("the first steps and saves")
    training.seconds(3)
    tensors = training.tensors()
    size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    saver = HoldfastSaver(training, folder / "training.hold")
    training.seconds(3, saver, 1)  # each copy gets its memory
    saver.wait()
    results: Json = {"state_bytes": size, "tensors": len(tensors), "every": []}
    for k in every:
        progress(f"a save every {k} steps")
        results["every"].append(_turns(training, saver, k, max(least, k), repetitions))
    training.check(saver.checkpoint)
    results |= _beside_dcp(training, saver, least, repetitions, folder, progress)
    saver.close()
    progress("drains")
    results["drain"] = _drain(training, size, least, repetitions, folder, disk)
    return results


def _turns(training: Training, saver: Any, every: int, steps: int, repetitions: int) -> Json:
    """Blocks of steps without and with saves, in turns. A save overlaps the steps after it, which are of its block."""
    without: list[float] = []
    with_saves: list[float] = []
    saver.forget()
    for _ in range(repetitions):
        without.append(training.seconds(steps))
        with_saves.append(training.seconds(steps, saver, every))
        saver.wait()
    return {
        "every": every,
        "steps": steps,
        "without_ms": spread(1e3 * s / steps for s in without),
        "with_ms": spread(1e3 * s / steps for s in with_saves),
        "slower": spread(rounded(b / a) for a, b in zip(without, with_saves, strict=True)),
        "call_ms": spread(1e3 * s for s in saver.call_s),
        "durable_ms": spread(1e3 * s for s in saver.durable_s),
    }


def _beside_dcp(
    training: Training, saver: HoldfastSaver, least: int, repetitions: int, folder: Path, progress: Progress
) -> Json:
    """Both on one medium, every 10 steps, in turns."""
    progress("beside async_save")
    other = DcpSaver(training, folder / "dcp")
    other.save()
    other.wait()
    ours: list[Json] = []
    theirs: list[Json] = []
    for _ in range(repetitions):
        ours.append(_turns(training, saver, 10, max(least, 10), 1))
        theirs.append(_turns(training, other, 10, max(least, 10), 1))
    other.close()

    def of(turns: list[Json], name: str) -> list[float]:
        return [turn[name]["median"] for turn in turns]

    def ratios(name: str, above: list[Json], below: list[Json]) -> Json:
        return spread(rounded(a / b) for a, b in zip(of(above, name), of(below, name), strict=True))

    names = ("slower", "call_ms", "durable_ms")
    return {
        "holdfast": {name: spread(of(ours, name)) for name in names},
        "dcp": {name: spread(of(theirs, name)) for name in names},
        "sooner": ratios("durable_ms", theirs, ours),
        "slowed": ratios("slower", ours, theirs),
    }


def _awaited(training: Training, least: int, beside: threading.Thread | None = None) -> float:
    """Waits for each of at least `least` steps, and goes on while `beside` runs: seconds a step."""
    begun, steps = time.perf_counter(), 0
    while steps < least or (beside is not None and beside.is_alive()):
        training.one_step()
        training.wait()
        steps += 1
    return (time.perf_counter() - begun) / steps


def _drained(checkpoint: Checkpoint, ended: list[float]) -> None:
    """Notes when nothing is left to drain: a step then goes on."""
    checkpoint.wait()
    ended.append(time.perf_counter())


def _drain(training: Training, size: int, least: int, repetitions: int, folder: Path, disk: Path) -> Json:
    """A file of the state's size written to the disk, and the state drained to it, in turns; steps go on meanwhile."""
    plain, target = disk / "plain.bin", disk / "drained.safetensors"
    data = np.ones(4 << 20, np.uint8)
    wrote: list[float] = []
    drained: list[float] = []
    slower: list[float] = []
    saver = HoldfastSaver(training, folder / "drained.hold")
    saver.save()
    saver.close()
    for _ in range(repetitions):
        begun = time.perf_counter()
        with plain.open("wb", buffering=0) as file:
            for at in range(0, size, data.size):
                file.write(data[: size - at].data)
            os.fsync(file.fileno())
        wrote.append(time.perf_counter() - begun)
        plain.unlink()
        alone = _awaited(training, least)
        saver = HoldfastSaver(training, folder / "drained.hold", drain=target)
        saver.save()
        saver.wait()  # from here it drains
        ended: list[float] = []
        begun = time.perf_counter()
        drains = threading.Thread(target=_drained, args=(saver.checkpoint, ended))
        drains.start()
        meanwhile = _awaited(training, 1, beside=drains)
        drains.join()
        drained.append(ended[0] - begun)
        slower.append(meanwhile / alone)
        saver.close()
        target.unlink()
    return {
        "disk_gb_s": spread(size / s / 1e9 for s in wrote),
        "drain_gb_s": spread(size / s / 1e9 for s in drained),
        "of_disk": spread(rounded(a / b) for a, b in zip(wrote, drained, strict=True)),
        "slower": spread(rounded(one) for one in slower),
    }
