"""Two ways to save a training while it goes on. Both note how long a call took, and when its state was durable."""

import threading
import time
import warnings
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import torch.distributed.checkpoint as dcp

import holdfastdb
from bench.training_saves.run.model import Training


class _Saver:
    def __init__(self, training: Training) -> None:
        self.training = training
        self.call_s: list[float] = []
        self.durable_s: list[float] = []

    def forget(self) -> None:
        self.call_s, self.durable_s = [], []


class HoldfastSaver(_Saver):
    """`holdfastdb.Checkpoint`: so many saves may be in flight as it has copies, but one."""

    def __init__(self, training: Training, path: Path, **options: Any) -> None:
        super().__init__(training)
        self.checkpoint = holdfastdb.Checkpoint(path, copies=3, **options)
        self._waiting: list[threading.Thread] = []

    def save(self) -> None:
        begun = time.perf_counter()
        ticket = self.checkpoint.save(self.training.state(), self.training.step)
        self.call_s.append(time.perf_counter() - begun)

        def note() -> None:
            ticket.wait()
            self.durable_s.append(time.perf_counter() - begun)

        self._waiting.append(threading.Thread(target=note))
        self._waiting[-1].start()

    def wait(self) -> None:
        for thread in self._waiting:
            thread.join()
        self._waiting = []

    def close(self) -> None:
        self.wait()
        self.checkpoint.close()


class DcpSaver(_Saver):
    """`torch.distributed.checkpoint.async_save` with its DefaultStager, which copies to the host before the call
    returns; one save at a time. Each replaces the one before in its folder."""

    def __init__(self, training: Training, path: Path) -> None:
        super().__init__(training)
        # That there is one process, and that it overwrites; in its own thread.
        warnings.filterwarnings("ignore", category=UserWarning, module="torch.distributed.checkpoint")
        self._path = path
        self._under_way: Any = None
        self._noted = threading.Event()

    def save(self) -> None:
        self.wait()
        begun = time.perf_counter()
        self._under_way = dcp.async_save(self.training.state(), checkpoint_id=str(self._path), no_dist=True)
        self.call_s.append(time.perf_counter() - begun)

        def note(_: Future[Any]) -> None:
            self.durable_s.append(time.perf_counter() - begun)
            self._noted.set()

        self._noted.clear()
        self._under_way.add_done_callback(note)

    def wait(self) -> None:
        if self._under_way is not None:
            self._under_way.result()
            self._noted.wait()
            self._under_way = None

    def close(self) -> None:
        self.wait()
