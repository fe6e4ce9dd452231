"""Translate the Markdown of this project to reStructuredText.

It knows headings, paragraphs, lists, fenced code and tables, and within a line code,
emphasis and links. It knows nothing else. It saves a dependency for two pages and some
tables.
"""

import re
from collections.abc import Iterator

_UNDERLINES = "=-~^"
_HEADING = re.compile(r"(#{1,4}) (.+)")
_FENCE = re.compile(r"```(\w*)")
_CODE = re.compile(r"(`[^`]+`)")
_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")
_OPEN_NAME = re.compile(r"(?<=\w)_(?!\w)")  # would be a reference


def to_rst(text: str) -> str:
    r"""Return a Markdown text as reStructuredText.

    Examples
    --------
    >>> print(to_rst("# Title\n\nSee `code` and [this](https://example.org)."))
    Title
    =====
    <BLANKLINE>
    See ``code`` and `this <https://example.org>`__.
    <BLANKLINE>
    """
    lines = iter(text.splitlines())
    return "\n".join(_blocks(lines)) + "\n"


def _blocks(lines: Iterator[str]) -> Iterator[str]:
    table: list[str] = []
    was_item = False
    for line in lines:
        if line.startswith("|"):
            table.append(line)
            continue
        if table:
            yield from _table(table)
            table = []
        if heading := _HEADING.fullmatch(line):
            title = _inline(heading[2])
            yield from (title, _UNDERLINES[len(heading[1]) - 1] * len(title))
        elif fence := _FENCE.fullmatch(line):
            yield from ("", f".. code-block:: {fence[1] or 'text'}", "")
            for code in lines:
                if code.startswith("```"):
                    break
                yield f"   {code}".rstrip()
            yield ""
        else:
            is_item = line.startswith("- ")
            if is_item and not was_item:
                yield ""
            was_item = is_item or (was_item and line.startswith("  "))
            yield _inline(line)
    if table:
        yield from _table(table)


def _table(rows: list[str]) -> Iterator[str]:
    yield from ("", ".. list-table::", "   :header-rows: 1", "   :widths: auto")
    yield from ("   :class: numbers", "")
    for row in (rows[0], *rows[2:]):
        cells = re.split(r"(?<!\\)\|", row.strip().strip("|"))
        for number, cell in enumerate(cells):
            yield f"   {'*' if number == 0 else ' '} - {_inline(cell.strip())}".rstrip()
    yield ""


def _inline(line: str) -> str:
    pieces = _CODE.split(line)
    return "".join(
        f"`{piece}`" if _CODE.fullmatch(piece) else _plain(piece) for piece in pieces
    )


def _plain(text: str) -> str:
    return _LINK.sub(_link, _OPEN_NAME.sub(r"\\_", text))


def _link(match: re.Match[str]) -> str:
    text, target = match.groups()
    if page := re.fullmatch(r"docs/(\w+)\.rst", target):
        return f":doc:`{text} </{page[1]}>`"
    return f"`{text} <{target}>`__" if "://" in target else text
