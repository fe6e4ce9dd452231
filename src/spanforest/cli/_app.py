"""The program: its commands, and how it reports errors, warnings and broken pipes."""

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
from spanforest.cli._output import echo, say
from spanforest.cli._predict import predict
from spanforest.cli._report import report
from spanforest.cli._reproduce import reproduce
from spanforest.cli._train import train
from spanforest.cli._usage import usage_message
from spanforest.cli._warm_up import warm_up

app = typer.Typer(
    name="spanforest",
    # rich's panels leave a fifth of the line to the text, and truncate long examples
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _ending(example: str) -> str:
    return f"\b\nExample:\n  {example}"  # \b keeps the line breaks


def add_command(function: Callable[..., None]) -> None:
    """Register a command; its help ends with the EXAMPLE of the function's module."""
    app.command(epilog=_ending(sys.modules[function.__module__].EXAMPLE))(function)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"spanforest {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True, epilog=_ending("spanforest datasets"))
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
            "--debug",
            help="Show the traceback of an error; may also follow the command.",
        ),
    ] = False,
) -> None:
    """Multilabel classification with ensembles of random output graphs."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


COMMANDS = (train, predict, evaluate, inspect, datasets, reproduce, report, warm_up)
for command in COMMANDS:
    add_command(command)


def run(args: list[str]) -> int:
    """Run a command and return the exit code; errors become one line on stderr."""
    end = args.index("--") if "--" in args else len(args)
    debug = "--debug" in args[:end]
    args = [arg for arg in args[:end] if arg != "--debug"] + args[end:]
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for kind in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", kind)  # they are for programmers
        warnings.showwarning = _show_warning
        try:
            result = typer.main.get_command(app).main(
                args, prog_name="spanforest", standalone_mode=False
            )
            sys.stdout.flush()  # now, while BrokenPipeError is caught
        except BrokenPipeError:
            # the reader has stopped; Python must not flush into the pipe when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except (KeyboardInterrupt, typer.Abort):
            return 130
        except Exception as error:
            if debug:
                for line in traceback.format_exc().splitlines():
                    echo(line, err=True)
            say(_message(error, args, debug), _speaker(error, args))
            return getattr(error, "exit_code", 1)
    return result if isinstance(result, int) else 0


def _message(error: Exception, args: list[str], debug: bool) -> str:
    """Return the text that reports an error."""
    if _is_bad_usage(error):
        return usage_message(error, args, _speaker(error, args))
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    if isinstance(error, ValueError | OSError | ImportError) and str(error):
        return str(error)
    hint = "" if debug else " (--debug shows where)"
    if isinstance(error, MemoryError):
        return f"not enough memory{f': {error}' if str(error) else ''}{hint}"
    return f"unexpected error: {type(error).__name__}: {error}{hint}"


def _is_bad_usage(error: Exception) -> bool:
    """Return whether the error is about the options, as Typer's own errors are."""
    return hasattr(error, "format_message")


def _speaker(error: Exception, args: list[str]) -> str:
    """Return the command whose help explains bad usage, else the program."""
    calls = [command.callback for command in app.registered_commands]
    known = [call.__name__.replace("_", "-") for call in calls if call]
    if _is_bad_usage(error) and args[:1] and args[0] in known:
        return f"spanforest {args[0]}"
    return "spanforest"


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"warning: {message}")
