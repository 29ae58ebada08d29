"""Makes a durable table, fills it, closes it, opens it again and reads it. Usage: quickstart.py [POOL]"""

import sys

import numpy as np

import holdfastdb as hf


def main() -> None:
    pool = sys.argv[1] if len(sys.argv) > 1 else "/dev/shm/quickstart.hold"
    keys = np.arange(1, 100_001, dtype=np.uint64)
    vectors = np.repeat(keys.astype(np.float32)[:, None], 4, axis=1)  # (100000, 4): 16 bytes a value

    with hf.Table.create(pool, key=8, value=16, capacity=100_000, overwrite=True) as items:
        status = items.insert_or_assign(keys, vectors)  # durable when it returns
        print(items, "inserted", int((status == hf.Status.INSERTED).sum()))

    with hf.Table.open(pool) as items:
        wanted = np.array([7, 99_999, 123_456], dtype=np.uint64)
        values, found = items.find(wanted, dtype=np.float32)
        for key, value, there in zip(wanted, values, found, strict=True):
            print(key, value if there else "is not there")
        if found.tolist() != [True, True, False] or values[0, 0] != 7:
            sys.exit("the table lost something")


if __name__ == "__main__":
    main()
