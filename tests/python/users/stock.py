"""A user's program that `mypy --strict` accepts: the stock of a shop, its prices and the names of its goods."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

import holdfastdb as hf

Codes = npt.NDArray[np.uint64]
Amounts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Sale:
    """So many of one code."""

    code: int
    amount: int


class Shop:
    """Amounts by code, prices by code, and codes by name."""

    def __init__(self, folder: Path, device: str = "cpu") -> None:
        gpu = hf.Gpu(bucket_cache=0.5, cache_policy="lru")
        self.amounts = hf.Table.open(
            folder / "amounts.hold", device, create=True, value=8, capacity=10_000, score="step", gpu=gpu
        )
        self.prices = hf.Table.open(folder / "prices.hold", device, create=True, value=8, capacity=10_000)
        self.codes = hf.Table.open(folder / "codes.hold", device, create=True, key=bytes, value=bytes)

    def close(self) -> None:
        for table in (self.amounts, self.prices, self.codes):
            table.close()

    def receive(self, codes: Codes, amounts: Amounts, prices: npt.NDArray[np.float64]) -> int:
        """Adds goods; returns how many codes are new."""
        self.prices.insert_or_assign(codes, prices)
        statuses = self.amounts.accumulate(codes, amounts)
        return int(np.count_nonzero(statuses == hf.Status.INSERTED))

    def name(self, names: list[bytes], codes: Codes) -> None:
        self.codes.insert_or_assign(names, [code.tobytes() for code in codes])

    def code_of(self, name: bytes) -> int:
        return int.from_bytes(self.codes[name], "little")

    def sell(self, sales: list[Sale]) -> int:
        """Takes goods away; returns how many sales were of a code that there is."""
        codes = [sale.code for sale in sales]
        self.amounts.step += 1
        found = self.amounts.contains(codes)
        self.amounts.accumulate(codes, np.array([-sale.amount for sale in sales], np.int64), mask=found)
        return int(np.count_nonzero(found))

    def worth(self, codes: Codes) -> float:
        """Of what there is of these codes."""
        prices = self.prices.find(codes, dtype=np.float64)
        amounts = self.amounts.find(codes, dtype=np.int64, missing=True)
        if len(amounts.missing) > 0:
            raise LookupError(f"no such codes: {codes[amounts.missing]}")
        return float(np.sum(prices.values[prices.found] * amounts.values[prices.found]))

    def pieces(self) -> Iterator[tuple[Codes, Amounts]]:
        """All codes with their amounts, some at a time."""
        cursor: int | None = 0
        while cursor is not None:
            piece = self.amounts.export_batch(100, cursor, dtype=np.int64)
            yield piece.keys, piece.values
            cursor = piece.cursor

    def names(self) -> list[bytes]:
        exported = self.codes.export_batch(result="numpy")
        return sorted(exported.keys)


def main(folder: Path) -> None:
    codes = np.arange(1_000, dtype=np.uint64)
    shop = Shop(folder)
    try:
        new = shop.receive(codes, np.full(1_000, 5, np.int64), codes.astype(np.float64) / 100)
        shop.name([b"kelp", b"dulse"], codes[:2])
        sold = shop.sell([Sale(shop.code_of(b"dulse"), 2), Sale(7, 5), Sale(5_000, 1)])
        total = sum(int(amounts.sum()) for _, amounts in shop.pieces())
        print(new, sold, total, round(shop.worth(codes[:100]), 2), shop.names())
        if 7 in shop.amounts and shop.amounts.get(5_000) is None:
            print(shop.amounts.size_if(score=(0, 0)))
    except hf.NoSpace as error:
        sys.exit(f"the shop is full: {error}")
    finally:
        shop.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
