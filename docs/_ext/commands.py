"""The reference of the commands, made from the output of their ``--help``.

To see the text, run ``python docs/_ext/commands.py``.
"""

import sys
from collections.abc import Iterator
from typing import Any

import typer

from spanforest.cli._app import app

_WIDTH = 80


def command_reference() -> str:
    """Return a section for every command, with its help as a block of text."""
    program: Any = typer.main.get_command(app)
    width = {"terminal_width": _WIDTH, "max_content_width": _WIDTH}
    whole = program.make_context("spanforest", [], resilient_parsing=True, **width)
    lines = list(_section("spanforest", whole.get_help()))
    for name, command in program.commands.items():
        own = command.make_context(name, [], parent=whole, resilient_parsing=True)
        lines += _section(f"spanforest {name}", own.get_help())
    return "\n".join(lines)


def _section(title: str, text: str) -> Iterator[str]:
    label = title.replace(" ", "-")
    yield from (f".. _command-{label}:", "", title, "-" * len(title), "")
    yield from (".. code-block:: text", "")
    for line in text.splitlines():
        yield f"   {line}".rstrip()
    yield ""


if __name__ == "__main__":
    sys.stdout.write(command_reference())
