"""Counts in memory, at the speed of DRAM, and keeps the result in a durable table. Usage: counting.py [POOL]"""

import sys

import numpy as np

import holdfastdb as hf


def main() -> None:
    pool = sys.argv[1] if len(sys.argv) > 1 else "/dev/shm/counting.hold"
    rng = np.random.default_rng(1)
    counts = hf.MemoryTable(key=8, value=8, capacity=100_000)
    for _ in range(10):
        words = rng.zipf(1.3, 100_000).astype(np.uint64)
        counts.accumulate(words, np.ones(len(words), np.uint64))

    values, found = counts.find([1, 2, 3], dtype=np.uint64)
    print(counts, values, found)
    with counts.to_table(pool, overwrite=True) as kept:
        again = hf.MemoryTable.from_table(kept)
        print(kept)
        if len(again) != len(counts) or (again.find([1, 2, 3], dtype=np.uint64)[0] != values).any():
            sys.exit("the way to the durable table and back lost something")


if __name__ == "__main__":
    main()
