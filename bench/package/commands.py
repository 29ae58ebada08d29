"""The command about the installed package."""

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError

import typer

import holdfastdb
from bench.frame import options, text, timing
from bench.frame.results import Json
from bench.frame.running import running
from bench.package import installed


def package(
    repeat: options.Repetitions = 20,
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """The installed package: bytes of its files, and what importing it takes beyond NumPy's own time. Save that of
    `pip install .`, as users have it: `make build` compiles several files as one, and its module is larger."""
    try:
        files = installed.files()
    except PackageNotFoundError as error:
        raise typer.BadParameter(f"{installed.NAME} is not installed for this Python: pip install .") from error
    sizes = {name: installed.shipped_bytes(path) for name, path in files.items()}
    if save and any(path.stat().st_size != sizes[name] for name, path in files.items()):
        raise typer.BadParameter("a build with assertions is installed, and another one is shipped: pip install .")
    repetitions = 2 if quick else repeat
    with running(json_file) as (console, progress):
        progress("imports")
        on_the_clock, of_the_processor = installed.import_ms(repetitions)
        got: Json = {
            "files": len(sizes),
            "installed_bytes": sum(sizes.values()),
            "module_bytes": sum(size for name, size in sizes.items() if name.endswith(".so")),
            "import_ms": timing.spread(on_the_clock),
            "import_processor_ms": timing.spread(of_the_processor),
        }
        rows = [("bytes of all files", f"{got['installed_bytes']:,}"), ("of the module", f"{got['module_bytes']:,}"),
                ("import, ms", text.figure(got["import_ms"], 1)),
                ("the same, of the processor", text.figure(got["import_processor_ms"], 1))]  # fmt: skip
        text.print_rows(console, f"{installed.NAME}, {len(sizes)} files", ("", "measured"), rows)
        parameters = {"repetitions": repetitions, "gpu": holdfastdb.cuda_devices()[1]}
        options.finish(console, "package", parameters, got, json_file, save, ("python/holdfastdb", "python/native"))


COMMANDS: dict[str, Callable[..., None]] = {"package": package}
