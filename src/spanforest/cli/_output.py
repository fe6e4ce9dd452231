"""What the commands print, and files that are written whole or not at all."""

import json
import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], title: str = ""
) -> None:
    """Print a table; columns of numbers stand to the right.

    In a pipe it is plain text that is never cut or wrapped.
    """
    columns = range(len(header))
    numeric = [all(_is_number(row[j]) for row in rows) for j in columns]
    if sys.stdout.isatty():
        _print_rich_table(header, rows, title, numeric)
        return
    if title:
        typer.echo(title)
    lines = [header, *rows] if any(header) else rows
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ]
        typer.echo("  ".join(cells).rstrip())


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
    """Return a share in per cent, and a dash for none.

    Examples
    --------
    >>> percent(0.8125), percent(None)
    ('81.25 %', '-')
    """
    return "-" if share is None else f"{100 * share:.2f} %"


def check_target(path: Path) -> Path:
    """Refuse a path where no file can be written, before long work is done."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; the name of a file is needed.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path} in.")
    if not os.access(target.parent, os.W_OK) and not target.exists():
        raise PermissionError(f"the folder {target.parent} cannot be written to.")
    return target


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a path to write to, whose file takes its place only when complete."""
    target = check_target(path)
    if target.exists() and not target.is_file():  # such as /dev/null
        yield target
        return
    # the name ends as the wanted one does: writers look at the suffix
    temporary = target.with_name(f".{secrets.token_hex(4)}.{target.name}")
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
