"""A language model's cache of keys and values, kept across restarts. Usage: kv_cache.py [POOL [cpu|cuda]]

A model computes keys and values (K and V) for each token of a prompt, in every layer, and prompts that begin alike have
them in common. They are stored in blocks of 16 tokens: the key of a block names all tokens up to its end, and its value
is the block's K and V of all layers, 512 KiB here. The model's arrays have a page for each block, and a layer's are in
one array, so a block is copied in as many parts as there are layers. One thread decides which pages a prompt gets;
others copy."""

import hashlib
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import holdfastdb as hf

LAYERS, HEADS, TOKENS, WIDTH, PAGES = 8, 8, 16, 128, 64
PART = 2 * HEADS * TOKENS * WIDTH * 2  # bytes of a layer: K and V, float16
BLOCK = LAYERS * PART


def blocks_of(prompt: list[int]) -> list[bytes]:
    """The keys of a prompt's whole blocks: each is a hash of all tokens before its end."""
    keys, seen = [], hashlib.sha256()
    for at in range(0, len(prompt) // TOKENS * TOKENS, TOKENS):
        seen.update(np.array(prompt[at : at + TOKENS], np.int64).tobytes())
        keys.append(seen.digest())
    return keys


class Model:
    """Stands for a model: K and V of a block are numbers made of its key."""

    def __init__(self, device: str) -> None:
        shape = (PAGES, 2, HEADS, TOKENS, WIDTH)
        if device == "cpu":
            self.pages: list[Any] = [np.zeros(shape, np.float16) for _ in range(LAYERS)]
        else:
            import torch

            self.pages = [torch.zeros(shape, dtype=torch.float16, device=device) for _ in range(LAYERS)]

    def value(self, key: bytes, layer: int) -> float:
        return float(key[0] * LAYERS + layer)

    def compute(self, key: bytes, page: int) -> None:
        for layer in range(LAYERS):
            self.pages[layer][page] = self.value(key, layer)

    def has(self, key: bytes, page: int) -> bool:
        return all(bool((self.pages[layer][page] == self.value(key, layer)).all()) for layer in range(LAYERS))


class Cache:
    """The blocks of a store, and the threads that move them from and to the model's pages."""

    def __init__(self, store: hf.Store, model: Model) -> None:
        self.store, self.model = store, model
        self.threads = ThreadPoolExecutor(4)

    def parts(self, pages: list[int]) -> tuple[list[Any], list[int], list[int]]:
        """The memory of pages, and for each part the row of the block and its place in the value."""
        places = [(row, layer) for row in range(len(pages)) for layer in range(LAYERS)]
        arrays = [self.model.pages[layer][pages[row]] for row, layer in places]
        return arrays, [row for row, _ in places], [layer * PART for _, layer in places]

    def load(self, keys: list[bytes]) -> int:
        """Brings the blocks that are stored, up to the first that is not, to pages 0, 1, ...; returns their number."""
        with self.store.lookup(keys, lease=True) as found:  # they stay, whatever is evicted meanwhile
            arrays, rows, offsets = self.parts(list(range(len(found))))
            found.copy_out(arrays, rows, offsets).wait()
            return len(found)

    def save(self, keys: list[bytes], pages: list[int]) -> None:
        """Stores blocks: this thread decides, and others copy and commit."""
        reserved = self.store.reserve(keys, BLOCK)

        def fill(row: int) -> None:
            if reserved.has(row):  # else the store is full of blocks that are being read
                arrays, _, offsets = self.parts([pages[row]])
                reserved.copy_in(arrays, [row] * LAYERS, offsets)
                reserved.commit(row)  # waits for the copies; then the block survives a crash, and is found

        list(self.threads.map(fill, range(len(keys))))

    def answer(self, prompt: list[int]) -> tuple[int, int]:
        """Prepares the K and V of a prompt. Returns how many blocks were loaded, and how many computed."""
        keys = blocks_of(prompt)
        loaded = self.load(keys)
        for page in range(loaded, len(keys)):
            self.model.compute(keys[page], page)
        self.save(keys[loaded:], list(range(loaded, len(keys))))
        for page, key in enumerate(keys):
            if not self.model.has(key, page):
                sys.exit(f"block {page} has other keys and values than the model computes")
        return loaded, len(keys) - loaded


def main(path: Path, device: str) -> None:
    instructions = list(range(20 * TOKENS))  # every prompt begins with them
    prompts = [instructions + [1000 + user] * (3 * TOKENS + 5) for user in range(4)]
    for run in ("first", "after a restart"):
        with hf.Store(path, limit=64 << 20, evict=True, gpu=device != "cpu") as store:
            cache = Cache(store, Model(device))
            counts = [cache.answer(prompt) for prompt in prompts]
            cache.threads.shutdown()
            print(f"{run}: loaded {sum(loaded for loaded, _ in counts)} blocks, computed {sum(c for _, c in counts)}")
    if counts != [(23, 0)] * len(prompts):
        sys.exit(f"blocks were lost: {counts}")


if __name__ == "__main__":
    place = sys.argv[2] if len(sys.argv) > 2 else "cpu"
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]), place)
    else:
        with tempfile.TemporaryDirectory() as made:
            main(Path(made) / "kv_cache.hold", place)
