"""Runs examples/training.py, each time in a process of its own that has PyTorch already: it takes seconds to import.
Its arguments: the pool, and the last step. A line on its input starts a run; what the run prints follows, between the
number of its process and its exit status."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import torch._dynamo  # noqa: F401  which optimizers import when they are first used

EXAMPLE = Path(__file__).parents[3] / "examples" / "training.py"


def main() -> None:
    spec = importlib.util.spec_from_file_location("training", EXAMPLE)
    assert spec is not None and spec.loader is not None
    training = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(training)
    for _ in sys.stdin:
        child = os.fork()  # this process has no threads
        if child == 0:
            print("process", os.getpid(), flush=True)
            training.main()
            sys.stdout.flush()
            os._exit(0)
        print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
