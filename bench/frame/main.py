"""The main of all benchmarks: the commands of the studies that are found, and what is made of their results."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.frame import bars, machine, options, plot, report
from bench.frame.studies import Found, find

_PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def app(found: Found | None = None) -> typer.Typer:
    """The command line over some studies, all of them if none are given."""
    studies = find() if found is None else found
    missing = f" Not built, and left out: {', '.join(studies.left_out)}; see `make build`." if studies.left_out else ""
    made = typer.Typer(
        help=f"Benchmarks. Every answer is checked while they run; wrong ones end a command with status 1.{missing}",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    for name, command in studies.commands.items():
        made.command(name)(command)
    made.command("plot")(_plot)
    made.command("all")(_all_of(studies))
    made.command("bars", context_settings=_PASSED_ON, help="Every target of bench/bars/ and its answer.")(_bars)
    made.command("report", context_settings=_PASSED_ON, help="Puts figures into documents.")(_report)
    return made


def _plot(
    results_folder: Annotated[Path | None, typer.Option("--results", help="Folder with result files.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the pictures; default: docs/img.")] = None,
) -> None:
    """Draws the pictures that documents show, as SVG."""
    root = machine.ROOT
    for path in plot.draw_all(root, results_folder or root / "bench" / "results", out or root / "docs" / "img"):
        typer.echo(path)


def _bars(context: typer.Context) -> None:
    raise typer.Exit(bars.main(context.args))


def _report(context: typer.Context) -> None:
    raise typer.Exit(report.main(context.args))


def _all_of(studies: Found) -> Any:
    def everything(
        quick: options.Quick = False,
        json_folder: Annotated[
            Path | None, typer.Option("--json", help="Folder; default: the committed results.")
        ] = None,
    ) -> None:
        """The benchmarks of the CPU that two cores finish in a quarter of an hour; then the plots."""
        if json_folder:
            json_folder.mkdir(parents=True, exist_ok=True)
        where: Mapping[str, Any] = {"json_file": str(json_folder) if json_folder else None, "save": json_folder is None}
        for name, chosen in studies.suite:
            studies.commands[name](**where, quick=quick, **chosen)
        if json_folder is None:
            _plot(None, None)

    return everything
