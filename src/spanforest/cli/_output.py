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
    """Print a table; columns of numbers, percentages and dashes stand to the right.

    In a pipe it is plain text that is never cut or wrapped.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    is_terminal = sys.stdout.isatty()
    table = Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD if is_terminal else None,
        show_header=any(header),
        pad_edge=False,
    )
    for j, name in enumerate(header):
        to_the_right = bool(rows) and all(_is_number(row[j]) for row in rows)
        table.add_column(
            name, justify="right" if to_the_right else "left", no_wrap=not is_terminal
        )
    for row in rows:
        table.add_row(*row)
    Console(
        file=sys.stdout,
        width=None if is_terminal else 10_000,
        markup=False,
        emoji=False,
        highlight=False,
    ).print(table)


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
