"""How the commands print: tables, JSON, and messages on the standard error output."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from spanforest._wording import INVISIBLE, visible
from spanforest.cli._advice import in_options


def echo(line: str = "", *, err: bool = False) -> None:
    """Print one line, with control characters escaped."""
    typer.echo(visible(line), err=err)


def print_json(value: Any) -> None:
    """Print a value as JSON, with all control characters escaped."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    lines = [
        INVISIBLE.sub(lambda match: f"\\u{ord(match[0]):04x}", line)
        for line in text.split("\n")
    ]
    typer.echo("\n".join(lines))


def print_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], title: str = ""
) -> None:
    """Print a table; columns of numbers are aligned to the right.

    Without a terminal it is plain text that is never truncated or wrapped.
    """
    title, rows = visible(title), [[visible(cell) for cell in row] for row in rows]
    columns = range(len(header))
    numeric = [all(_is_number(row[j]) for row in rows) for j in columns]
    if sys.stdout.isatty():
        _print_rich_table(header, rows, title, numeric)
        return
    if title:
        echo(title)
    lines = [header, *rows] if any(header) else rows
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ]
        echo("  ".join(cells).rstrip())


def _print_rich_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    title: str,
    numeric: Sequence[bool],
) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_header=any(header),
    )
    for name, right in zip(header, numeric, strict=True):
        table.add_column(name, justify="right" if right else "left")
    for row in rows:
        table.add_row(*row)
    # names of labels may look like markup
    Console(markup=False, emoji=False, highlight=False).print(table)


def _is_number(text: str) -> bool:
    text = text.removesuffix(" %")
    return text == "-" or text.lstrip("+-").replace(".", "", 1).isdigit()


def percent(share: float | None) -> str:
    """Return a share in per cent, or a dash for None.

    Examples
    --------
    >>> percent(0.8125), percent(None)
    ('81.25 %', '-')
    """
    return "-" if share is None else f"{100 * share:.2f} %"


def say(text: str, speaker: str = "spanforest") -> None:
    """Print one line on the standard error output; its advice names options."""
    line = " ".join(in_options(text).split())
    echo(f"{speaker}: {line}", err=True)


@contextmanager
def if_stopped(text: str | Callable[[], str]) -> Iterator[None]:
    """Print a message if Ctrl-C stops the work inside; a function makes it then."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"stopped; {text if isinstance(text, str) else text()}")
        raise
