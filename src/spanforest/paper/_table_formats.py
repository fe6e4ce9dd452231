"""The formats of tables: terminal, Markdown, LaTeX and CSV.

A table provides a `Layout` (blocks of entries) and `records` (dictionaries of numbers).
This module knows all about formats and nothing about scores.
"""

import csv
import io
import itertools
import re
import sys
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from spanforest.paper._published import Mark
from spanforest.plots._style import optional

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

_HEADER_WIDTH = 10  # longer headers break between words


class Entry(NamedTuple):
    """One place of a table: a value and the paper's value."""

    value: str = ""
    spread: str = ""  # "±1.4"; may stand on its own line
    flag: str = ""  # sign of a footnote
    paper: str = ""
    paper_spread: str = ""
    mark: Mark = ""

    @property
    def text(self) -> str:
        """The value with its spread and the sign of its footnote."""
        return self.value + self.spread + self.flag

    @property
    def paper_text(self) -> str:
        """The paper's value with its spread."""
        return self.paper + self.paper_spread


class Line(NamedTuple):
    """A line of a table: its name and its entries."""

    name: str
    entries: tuple[Entry, ...]


class Block(NamedTuple):
    """Lines under one header; the first item of the header names the lines."""

    title: str
    header: tuple[str, ...]
    lines: tuple[Line, ...]
    footer: tuple[Line, ...] = ()


class Layout(NamedTuple):
    """All that a reader sees, from top to bottom."""

    caption: str
    blocks: tuple[Block, ...]
    notes: tuple[str, ...] = ()


class Table(ABC):
    """A table that can be written in four formats."""

    @abstractmethod
    def layout(self) -> Layout:
        """Return captions, entries and notes as text, without any format."""

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """Return the numbers in full precision, one dictionary per line of the CSV."""

    def to_terminal(self) -> "RenderableType":
        """Return a table for ``rich.print`` that adapts to the width of the terminal.

        The paper's value stands dimmed under ours. If a line is too long, deviations
        move under the means, and the paper's deviations are left out. If it is still
        too long, the columns are spread over several panels.
        """
        optional("rich", extra="paper")
        return _TerminalTable(self.layout())

    def to_markdown(self) -> str:
        """Return the table in GitHub's Markdown, the paper's values in brackets."""
        return _markdown(self.layout())

    def to_latex(self) -> str:
        """Return a ``table`` environment that needs the package booktabs.

        The paper's values stand in small print under ours.
        """
        return _latex(self.layout())

    def to_csv(self) -> str:
        """Return the numbers of `records` as CSV; a missing number is empty."""
        records = self.records()
        stream = io.StringIO()
        writer = csv.DictWriter(
            stream, fieldnames=list(records[0]), lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(records)
        return stream.getvalue()


def _markdown(layout: Layout) -> str:
    pieces = [_escape_markdown(layout.caption)]
    for block in layout.blocks:
        if block.title:
            pieces.append(f"### {_escape_markdown(block.title)}")
        pieces.append(_markdown_block(block))
    if layout.notes:
        pieces.append("\n".join(f"- {_escape_markdown(note)}" for note in layout.notes))
    return "\n\n".join(pieces) + "\n"


def _markdown_block(block: Block) -> str:
    lines = [[_escape_markdown(name) for name in block.header]]
    lines += [
        [_escape_markdown(line.name), *map(_markdown_entry, line.entries)]
        for line in (*block.lines, *block.footer)
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = ["-" * max(widths[0], 3)]
    rule += ["-" * (max(width, 3) - 1) + ":" for width in widths[1:]]
    padded = [
        [cells[0].ljust(widths[0])]
        + [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        for cells in lines
    ]
    padded.insert(1, rule)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in padded)


def _markdown_entry(entry: Entry) -> str:
    stars = {"": "", "best": "**", "second": "*"}[entry.mark]
    text = f"{stars}{_escape_markdown(entry.text)}{stars}" if entry.text else ""
    paper = f"({_escape_markdown(entry.paper_text)})" if entry.paper else ""
    return f"{text} {paper}".strip()


def _escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*_<>|\[\]#~$]|&(?=#?\w+;))", r"\\\1", " ".join(text.split()))


_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    # after a line break these two would be options
    **{sign: f"{{{sign}}}" for sign in "[*"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "±": r"$\pm$",
    "†": r"$^\dagger$",
}


def _latex(layout: Layout) -> str:
    n_columns = len(layout.blocks[0].header)
    lines = [
        r"\begin{table}",
        r"\centering",
        r"\small",
        r"\setlength{\tabcolsep}{3pt}",
        rf"\caption{{{_escape_latex(layout.caption)}}}",
        rf"\begin{{tabular}}{{l{'r' * (n_columns - 1)}}}",
        r"\toprule",
    ]
    for number, block in enumerate(layout.blocks):
        lines += [r"\midrule"] if number else []
        lines += _latex_block(block, n_columns)
    lines += [r"\bottomrule", r"\end{tabular}"]
    if layout.notes:
        lines += [r"\par\medskip", r"\begin{minipage}{\linewidth}\footnotesize"]
        lines += [rf"{_escape_latex(note)}\par" for note in layout.notes]
        lines += [r"\end{minipage}"]
    return "\n".join([*lines, r"\end{table}", ""])


def _latex_block(block: Block, n_columns: int) -> Iterator[str]:
    if block.title:
        title = _escape_latex(block.title)
        yield rf"\multicolumn{{{n_columns}}}{{c}}{{{title}}} \\"
        yield r"\midrule"
    yield " & ".join(map(_escape_latex, block.header)) + r" \\"
    for lines in (block.lines, block.footer):
        if lines:
            yield r"\midrule"
        for line in lines:
            name = _escape_latex(line.name)
            yield " & ".join([name, *map(_latex_entry, line.entries)]) + r" \\"
            small = [_small(entry.paper_text) for entry in line.entries]
            if any(small):
                yield " & ".join([_small("paper"), *small]) + r" \\"


def _latex_entry(entry: Entry) -> str:
    text = _escape_latex(entry.text)
    command = {"": "", "best": r"\textbf", "second": r"\textit"}[entry.mark]
    return f"{command}{{{text}}}" if command else text


def _small(text: str) -> str:
    return rf"{{\scriptsize {_escape_latex(text)}}}" if text else ""


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in text)


class _TerminalTable:
    """A layout that rich can draw at any width."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def __rich_console__(
        self, console: "Console", options: "ConsoleOptions"
    ) -> "Iterator[RenderableType]":
        from rich.text import Text

        yield Text(self.layout.caption, style="bold")
        for block in self.layout.blocks:
            yield Text("")
            if block.title:
                yield Text(block.title, style="bold")
            yield from _panels(block, console, options)
        yield Text("")
        for note in self.layout.notes:
            yield Text(note, style="dim")


def _panels(
    block: Block, console: "Console", options: "ConsoleOptions"
) -> "Iterator[RenderableType]":
    """Draw a block in the first form that fits: inline, stacked, several panels."""
    unlimited = options.update(max_width=sys.maxsize)

    def fits(table: "RenderableType") -> bool:
        return console.measure(table, options=unlimited).maximum <= options.max_width

    columns = range(1, len(block.header))
    for stacked in (False, True):
        table = _rich_table(block, columns, stacked)
        if fits(table):
            yield table
            return
    for n_panels in range(1, len(columns) + 1):
        bounds = [len(columns) * panel // n_panels for panel in range(n_panels + 1)]
        panels = [columns[slice(*pair)] for pair in itertools.pairwise(bounds)]
        tables = [_rich_table(block, panel, False) for panel in panels]
        if all(map(fits, tables)):
            break
    yield from tables


def _stacks(line: Line, stacked: bool) -> list[list[tuple[str, str]]]:
    """Return the texts of each entry from top to bottom, each with its style."""
    styles = {"": "", "best": "bold green", "second": "italic cyan"}
    has_spread = any(entry.spread for entry in line.entries)
    stacks = []
    for entry in line.entries:
        style = styles[entry.mark]
        if stacked:
            stack = [(entry.value + entry.flag, style)]
            stack += [(entry.spread, style)] if has_spread else []
            stack += [(entry.paper, "dim")]
        else:
            stack = [(entry.text, style), (entry.paper_text, "dim")]
        while stack and not stack[-1][0]:
            stack.pop()
        stacks.append(stack)
    return stacks


def _rich_table(
    block: Block, columns: Sequence[int], stacked: bool
) -> "RenderableType":
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(box=box.SIMPLE_HEAD, show_edge=False, padding=0, pad_edge=False)
    table.add_column(Text(block.header[0]), no_wrap=True)
    for column in columns:
        words = block.header[column]
        header = textwrap.wrap(words, _HEADER_WIDTH, break_long_words=False)
        table.add_column(Text("\n".join(header)), justify="right", no_wrap=True)
    for lines in (block.lines, block.footer):
        for line in lines:
            stacks = _stacks(line, stacked)
            cells = [
                Text("\n").join(Text(*styled) for styled in stacks[column - 1])
                for column in columns
            ]
            table.add_row(Text(line.name), *cells)
        if block.footer:
            table.add_section()
    return table
