"""Which code a result measured: a hash for each layer of src/, without comments and layout (those of Python count).

A result is stale when a layer that it measured has changed since; that a layer below them has changed is mentioned.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

CPU = ("src/structures/gphash/protocol", "src/structures/gphash/cpu")
GPU = ("src/structures/gphash/protocol", "src/structures/gphash/cuda", "src/gpu")
POOL = ("src/pool", "src/structures/gphash/cpu", "src/table")
"""What is measured of a table on a CPU, of one on a GPU, and of what a pool does on a CPU."""

_SOURCES = {".hpp", ".cuh", ".cpp", ".cu", ".py"}
_COMMENT = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|//[^\n]*|/\*.*?\*/""", re.DOTALL)
_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def of_table(device: str) -> tuple[str, ...]:
    """The layers that a table on a device measures."""
    return CPU if device == "cpu" else GPU


def stripped(text: str) -> str:
    """C++ without comments, and with one space for any white space."""
    return " ".join(_COMMENT.sub(lambda found: found[1] or " ", text).split())


@cache
def _files(root: Path, layer: str) -> dict[Path, str]:
    """The sources of a layer; of `src/structures/gphash/.`, say, those that lie in no folder of it."""
    folder = root / layer
    return {
        path.relative_to(folder): path.read_text(encoding="utf-8")
        for path in sorted(folder.glob("*") if layer.endswith("/.") else folder.rglob("*"))
        if path.suffix in _SOURCES and path.is_file()
    }


def hash_of(root: Path, layer: str) -> str | None:
    """Of all sources in a layer of the checkout at `root`; None where there is no such layer."""
    files = _files(root, layer)
    if not files:
        return None
    whole = hashlib.sha256()
    for path, text in files.items():
        whole.update(f"{path}\n{text if path.suffix == '.py' else stripped(text)}\n".encode())
    return whole.hexdigest()[:16]


def below(root: Path, layers: Iterable[str]) -> set[str]:
    """The folders of src/ that `layers` include, themselves or by others, and that are none of them."""
    own, seen = tuple(layers), set[str]()
    waiting = list(own)
    while waiting:
        for text in _files(root, waiting.pop()).values():
            for name in _INCLUDE.findall(text):
                parts = Path("src", name).parent.parts
                folder = "/".join(parts[:3])
                if len(parts) < 3 and any(file.parent != Path() for file in _files(root, folder)):
                    folder += "/."
                if folder in seen or not (root / folder).is_dir() or any(_within(folder, layer) for layer in own):
                    continue
                seen.add(folder)
                waiting.append(folder)
    return seen


def _within(folder: str, layer: str) -> bool:
    return folder == layer or folder.startswith(layer + "/")


def noted(root: Path, layers: Sequence[str]) -> dict[str, dict[str, str | None]]:
    """What a result file says of the code that it measured: `{"layers": {layer: hash}, "below": {folder: hash}}`."""
    return {
        "layers": {layer: hash_of(root, layer) for layer in layers},
        "below": {folder: hash_of(root, folder) for folder in sorted(below(root, layers))},
    }


def of_patch(text: str) -> tuple[str, ...]:
    """The folders of the code that an error of tests/planted/ changes, and of the test that it names."""
    folders = {str(Path(name).parent) for name in re.findall(r"^\+\+\+ b/(\S+)", text, re.MULTILINE)}
    folders |= {f"tests/{name}" for name in re.findall(r"^Test: test_(\w+)", text, re.MULTILINE)}
    folders |= {str(Path(name).parent) for name in re.findall(r"^Test: (tests/\S+)::", text, re.MULTILINE)}
    return tuple(sorted(folders))


def changed(root: Path, code: dict[str, dict[str, str | None]]) -> tuple[list[str], list[str]]:
    """Of what a result file noted, the layers that are no longer the same, and the folders below them."""
    return tuple(
        [name for name, was in code.get(kind, {}).items() if hash_of(root, name) != was] for kind in ("layers", "below")
    )  # type: ignore[return-value]
