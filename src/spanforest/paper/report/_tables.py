"""Tables as HTML: with the paper's value under ours, ready to be sorted."""

import re
from collections.abc import Sequence

from spanforest.paper import Block, Entry, Line
from spanforest.paper.report._html import Html, element, together

_WIDE = 5  # columns; tables with more have their lines stacked on a phone
_MANY = 10  # tables with more are set smaller in print
_LONG = 300  # letters; an unfinished run has a place for every cell


def html_table(block: Block, label: str, second: str = "paper") -> Html:
    """Give a table that scrolls in a box of its own.

    Parameters
    ----------
    block : Block
        Header, lines and footer.
    label : str
        The id of the heading that names the table.
    second : str, default="paper"
        What the second value of an entry is, for those who hear the table.

    Examples
    --------
    >>> from spanforest.paper import Block, Entry, Line
    >>> line = Line("Emotions", (Entry("80.5", "±1.4", paper="80.1", mark="best"),))
    >>> print(html_table(Block("", ("Data set", "MAM"), (line,)), "scores"))
    <div class="scroll" role="region" tabindex="0" aria-labelledby="scores">
    <table class="sortable" aria-labelledby="scores">
    ...
    <td data-name="MAM" data-value="80.5"><strong>80.5<small>±1.4</small></strong><span
    class="second"><span class="unseen"> paper </span>80.1</span></td>
    ...
    """
    are_text = [
        False,
        *(
            _is_text(column)
            for column in zip(*(x.entries for x in block.lines), strict=True)
        ),
    ]
    head = element(
        "tr",
        *(
            element("th", name, scope="col", class_="text" if is_text else None)
            for name, is_text in zip(block.header, are_text, strict=True)
        ),
    )

    def lines(group: Sequence[Line]) -> list[Html]:
        return [_line(line, block.header, second, are_text) for line in group]

    limits = {"sortable": 0, "wide": _WIDE, "many": _MANY}
    kinds = [kind for kind, most in limits.items() if len(block.header) > most]

    table = element(
        "table",
        element("thead", head),
        element("tbody", *lines(block.lines)),
        element("tfoot", *lines(block.footer)) if block.footer else None,
        class_=" ".join(kinds),
        aria_labelledby=label,
    )
    return element(
        "div",
        table,
        class_="scroll",
        role="region",
        tabindex=0,
        aria_labelledby=label,
    )


def notes_list(notes: tuple[str, ...]) -> Html | None:
    """Give the notes under a table; a long list of places is folded away."""
    if not notes:
        return None
    return element(
        "ul", *(element("li", _note(note)) for note in notes), class_="notes"
    )


def _note(note: str) -> str:
    if len(note) <= _LONG or not note.startswith("†"):
        return note
    text, _, places = note.rpartition(": ")
    return element("details", element("summary", text), element("p", places))


def _line(
    line: Line, header: Sequence[str], second: str, are_text: Sequence[bool]
) -> Html:
    cells = [
        _cell(entry, name, second, is_text)
        for entry, name, is_text in zip(
            line.entries, header[1:], are_text[1:], strict=True
        )
    ]
    return element("tr", element("th", line.name, scope="row"), *cells)


def _cell(entry: Entry, name: str, second: str, is_text: bool) -> Html:
    value: str = entry.value
    if entry.spread:
        value = together([entry.value, element("small", entry.spread)])
    wrapper = {"best": "strong", "second": "em"}.get(entry.mark)
    parts: list[str] = [element(wrapper, value) if wrapper else value, entry.flag]
    if entry.paper:
        unseen = element("span", f" {second} ", class_="unseen")
        parts.append(element("span", unseen, entry.paper_text, class_="second"))
    number = entry.value if _is_number(entry.value) else None
    return element(
        "td",
        *parts,
        class_="text" if is_text else None,
        data_name=name,
        data_value=number,
    )


def _is_text(column: Sequence[Entry]) -> bool:
    """Tell whether a column has words; a dash among numbers is none."""
    values = [entry.value for entry in column if entry.value]
    return bool(values) and not any(map(_is_number, values))


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", text) is not None
