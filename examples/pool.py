"""Keeps two tables of one model in one file, copies both at one moment, and replaces one. Usage: pool.py [POOL]"""

import sys

import numpy as np

import holdfastdb as hf


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else "/dev/shm/model.hold"
    copy = f"{path}.copy"
    keys = np.arange(1, 10_001, dtype=np.uint64)

    with hf.Pool.create(path, overwrite=True) as pool:
        users = pool.create_table("users", key=8, value=128, capacity=10_000)
        clicks = pool.create_table("clicks", key=8, value=8)
        users.insert(keys, np.repeat(keys.astype(np.float32)[:, None], 32, axis=1))
        clicks.insert(keys[:100], np.ones(100, np.int64))
        clicks.accumulate(keys[:50], np.ones(50, np.int64))
        print(pool, "holds", len(users), "users and", len(clicks), "counts of clicks")
        print("copied", pool.snapshot(copy, overwrite=True).items, "items, as both tables were at one moment")

        clicks.close()
        clicks = pool.create_table("clicks", key=8, value=8, overwrite=True)  # in one commit, even if it crashes
        pool.rename("clicks", "clicks today")
        print("now", [f"{found.name}: {found.bytes:,} bytes" for found in pool.objects])

    with hf.Pool.open(copy, mode="r") as pool:
        counts, found = pool.table("clicks").find([50, 51, 101], dtype=np.int64)
        print("in the copy, clicks of users 50, 51 and 101:", counts.reshape(-1).tolist(), found.tolist())
        if found.tolist() != [True, True, False] or counts.reshape(-1)[:2].tolist() != [2, 1]:
            sys.exit("the copy is not what was copied")


if __name__ == "__main__":
    main()
