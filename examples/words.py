"""Keys and values of any length: which lines of Python's own library begin with each word. Usage: words.py [FOLDER]"""

import sys
import sysconfig
import tempfile
from pathlib import Path

import holdfastdb as hf


def main(folder: Path) -> None:
    lines: dict[bytes, list[bytes]] = {}
    for file in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[:50]:
        for line in file.read_bytes().splitlines():
            if words := line.split(maxsplit=1):
                lines.setdefault(words[0], []).append(line.strip())
    keys, values = list(lines), [b"\n".join(found)[:65536] for found in lines.values()]

    with hf.Table.create(folder / "words.hold", key=bytes, value=bytes, overwrite=True, device="cpu") as table:
        for key in (key for key in keys if len(key) > 65536):
            sys.exit(f"a word of {len(key)} bytes is too long for a key")
        table.insert(keys, values)  # durable when it returns
        stats = table.stats()
        print(f"{len(table):,} words; slabs of {stats['slab_bytes']:,} bytes, live {stats['live_bytes']:,}")

    with hf.Table.open(folder / "words.hold", mode="r") as table:
        found_values, found = table.find([b"import", b"no such word"])
        imports = found_values[0].splitlines()
        print(f"{len(imports):,} lines begin with import, such as {imports[0].decode()}")
        if (
            list(found) != [True, False]
            or found_values[1] is not None
            or dict(table.items()) != dict(zip(keys, values, strict=True))
        ):
            sys.exit("the table lost something")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            main(Path(made))
