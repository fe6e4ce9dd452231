"""The program: its commands, and what becomes of errors, warnings and broken pipes."""

import os
import re
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
from spanforest.cli._output import say
from spanforest.cli._predict import predict
from spanforest.cli._report import report
from spanforest.cli._reproduce import reproduce
from spanforest.cli._train import train

# What the library says to those who write Python, and what a command says instead.
_IN_WORDS_OF_COMMANDS = (
    (r"pass it as data_home or set", "say --data-home DIR, or set"),
    (r" Read other data with load_arff or load_npz\.", ""),
    (
        r"Pass labels= a Mulan XML file.*",
        "Say --labels with a Mulan XML file, their names, or first:N or last:N.",
    ),
    (r"drop=\['(.+?)'\]", r"--drop \1"),
    (
        r" Raise max_iter.*",
        " Raise --max-iter or --tol, lower --C, or scale the data: --scale unit.",
    ),
    (r"^Value error, |(?<=: )Value error, ", ""),  # pydantic, within some Typers
)

app = typer.Typer(
    name="spanforest",
    # rich's panels leave a fifth of the line to the text, and cut long examples
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _ending(example: str) -> str:
    return f"\b\nExample:\n  {example}"  # \b: keep the lines


def add_command(function: Callable[..., None]) -> None:
    """Make a command of a function; its help ends with the EXAMPLE of its module."""
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
            "--debug", help="Show the traceback of an error; also after the command."
        ),
    ] = False,
) -> None:
    """Multilabel classification with ensembles of random output graphs."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


for command in (train, predict, evaluate, inspect, datasets, reproduce, report):
    add_command(command)


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
            say(_message(error, args, debug))
            return getattr(error, "exit_code", 1)
    return result if isinstance(result, int) else 0


def _message(error: Exception, args: list[str], debug: bool) -> str:
    """Return what to say of an error."""
    if hasattr(error, "format_message"):  # bad usage, found by Typer or by a command
        known = [c.callback.__name__ for c in app.registered_commands if c.callback]
        command = " ".join(["spanforest", *(arg for arg in args[:1] if arg in known)])
        text = _in_words_of_commands(error.format_message()).rstrip(".")
        return f"{command}: {text}. See {command} --help."
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"spanforest: {where}{error.strerror}"
    if isinstance(error, ValueError | OSError | ImportError) and str(error):
        return f"spanforest: {_in_words_of_commands(str(error))}"
    kind = "not enough memory" if isinstance(error, MemoryError) else "unexpected error"
    hint = "" if debug else " (--debug shows where)"
    return f"spanforest: {kind}: {type(error).__name__}: {error}{hint}"


def _in_words_of_commands(text: str) -> str:
    for words, other in _IN_WORDS_OF_COMMANDS:
        text = re.sub(words, other, text, flags=re.DOTALL)
    return text


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"spanforest: warning: {_in_words_of_commands(str(message))}")
