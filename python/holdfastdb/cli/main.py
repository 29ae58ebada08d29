"""The command line: which commands there are, and how an error is shown."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from .. import __version__
from ..errors import Error
from . import checkpoints, demo_command, kmers, objects, pools, records, transfers
from .command import Commands, KeyCommand

app = typer.Typer(
    help="Crash-consistent key-value tables in a file, for CPUs and GPUs.",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo_command.run_demo)
app.command("create")(objects.create)
app.command("info")(pools.info)
app.command("stats")(pools.stats)
app.command("check")(pools.check)
app.command("recover")(pools.recover)
app.command("rename")(objects.rename)
app.command("drop")(objects.drop)
app.command("snapshot")(pools.snapshot)
app.command("load")(transfers.load)
app.command("dump")(transfers.dump)
app.command("get", cls=KeyCommand)(records.get)
app.command("put", cls=KeyCommand)(records.put)
app.command("del", cls=KeyCommand)(records.delete)
app.add_typer(kmers.app, name="kmer")
app.add_typer(checkpoints.app, name="checkpoint")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"holdfast {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="The version.")
    ] = False,
) -> None:
    """Crash-consistent key-value tables in a file, for CPUs and GPUs."""


def _interrupt_of(ending: BaseException | None) -> BaseException | None:
    """The interrupt that ended a command, which Typer makes an exit with status 130."""
    while ending is not None and not isinstance(ending, KeyboardInterrupt):
        ending = ending.__cause__ or ending.__context__
    return ending


def main() -> None:
    """Runs the command line. An error of the table or the system is one message on standard error, and status 2; an
    interrupt is one message, with what the work has done, and status 130."""
    # What was given may not be UTF-8: it is shown as the bytes that it was given as, and in messages as escapes.
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)
    try:
        app(prog_name="holdfast")
    except SystemExit as ending:
        if (interrupt := _interrupt_of(ending)) is not None:
            known = "; ".join(getattr(interrupt, "__notes__", []))
            typer.echo(f"holdfast: interrupted{': ' if known else ''}{known}", err=True)
        raise
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone: not worth a message
        sys.exit(2)
    except (Error, OSError) as error:
        typer.echo(f"holdfast: {error}", err=True)
        sys.exit(2)
    except MemoryError as error:  # of Python's or NumPy's own: the table's is a NoSpace
        typer.echo(f"holdfast: the system has no memory for this command: {str(error) or 'free some'}", err=True)
        sys.exit(2)
