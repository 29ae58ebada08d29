"""Loads a CSV file into a table, takes a snapshot onto a disk, and dumps it again. Usage: files.py [FOLDER]"""

import sys
import tempfile
from pathlib import Path

import holdfastdb as hf


def main(folder: Path) -> None:
    prices = folder / "prices.csv"
    prices.write_text("id,price,stock\n" + "".join(f"{i},{i / 4},{i % 100}\n" for i in range(10_000)))

    with hf.Table.create(folder / "prices.hold", value=16, overwrite=True) as table:
        # In batches, each durable before the next. Had it been killed, resume=True would go on behind the last one.
        report = hf.load(table, prices, value="float64,int64", heading=True, resume=True)
        print(f"loaded {report.rows:,} rows")
        # Other threads may search the table meanwhile; whatever happens, the snapshot is whole or not there.
        table.snapshot(folder / "monday.hold", overwrite=True)

    with hf.Table.open(folder / "monday.hold", mode="r") as monday:
        hf.dump(monday, folder / "monday.csv", value="float64,int64", overwrite=True)
    lines = (folder / "monday.csv").read_text().splitlines()
    print(lines[0], "and", len(lines) - 1, "items, such as", next(line for line in lines if line.startswith("4321,")))
    if len(lines) != 10_001 or "4321,1080.25,21" not in lines:
        sys.exit("the files lost something")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            main(Path(made))
