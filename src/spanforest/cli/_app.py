"""The program: its commands, and what becomes of errors, warnings and broken pipes."""

import os
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer

from spanforest import __version__
from spanforest.cli._datasets import datasets
from spanforest.cli._evaluate import evaluate
from spanforest.cli._inspect import inspect
from spanforest.cli._predict import predict
from spanforest.cli._train import train

IN_COLOUR = sys.stdout is not None and sys.stdout.isatty()

app = typer.Typer(
    name="spanforest",
    rich_markup_mode="rich" if IN_COLOUR else None,  # plain text in a pipe
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def add_command(function: Callable[..., None], example: str) -> None:
    """Make a command of a function; its help ends with the example."""
    # \b tells the plain formatter to keep the lines; rich keeps them anyway
    keep_lines = "" if IN_COLOUR else "\b\n"
    app.command(epilog=f"{keep_lines}Example:\n  {example}")(function)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"spanforest {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def spanforest(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", help="Show the traceback of an error; also after the command."
        ),
    ] = False,
) -> None:
    """Multilabel classification with ensembles of random output graphs."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


add_command(
    train, "spanforest train songs.csv --labels happy,sad,calm -o songs.spanforest"
)
add_command(
    predict, "spanforest predict songs.spanforest new_songs.csv -o predicted.csv"
)
add_command(evaluate, "spanforest evaluate songs.spanforest test_songs.csv --per-label")
add_command(inspect, "spanforest inspect songs.spanforest --couplings 3")
add_command(datasets, "spanforest datasets circle10")


def run(args: list[str]) -> int:
    """Run a command and return the exit code; errors become one line on stderr."""
    end = args.index("--") if "--" in args else len(args)
    debug = "--debug" in args[:end]
    args = [arg for arg in args[:end] if arg != "--debug"] + args[end:]
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for kind in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", kind)  # not for those who run a command
        warnings.showwarning = _show_warning
        try:
            result = typer.main.get_command(app).main(
                args, prog_name="spanforest", standalone_mode=False
            )
            sys.stdout.flush()  # here, or a closed pipe is found out too late
        except BrokenPipeError:
            # nobody reads on; and nothing must be flushed when Python ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except (KeyboardInterrupt, typer.Abort):
            return 130
        except Exception as error:
            if debug:
                traceback.print_exc()
            _say(_message(error, debug))
            return getattr(error, "exit_code", 1)
    return result if isinstance(result, int) else 0


def _message(error: Exception, debug: bool) -> str:
    """Return what to say of an error."""
    if hasattr(error, "format_message"):  # bad usage, found by Typer or by a command
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "spanforest"
        return f"{command}: {error.format_message()} See {command} --help."
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"spanforest: {error.filename}: {error.strerror}"
    if isinstance(error, ValueError | OSError | ImportError) and str(error):
        return f"spanforest: {error}"
    kind = "not enough memory" if isinstance(error, MemoryError) else "unexpected error"
    hint = "" if debug else " (--debug shows where)"
    return f"spanforest: {kind}: {type(error).__name__}: {error}{hint}"


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    _say(f"spanforest: warning: {message}")


def _say(text: str) -> None:
    typer.echo(" ".join(text.split()), err=True)
