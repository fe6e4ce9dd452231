"""Change docstrings before numpydoc reads them.

The sources explain each field of a named tuple or dataclass by a comment at the end of
its line. Here these comments become the section "Attributes". A parameter whose type
ends with an underscore would be read as a link, so its underscore is escaped.
"""

import ast
import inspect
import io
import re
import textwrap
import tokenize
from dataclasses import is_dataclass
from typing import Any, NamedTuple

from sphinx.application import Sphinx

_TYPE_LINE = re.compile(r"([\w, *]+) : (.+)")
_OPEN_NAME = re.compile(r"(?<=\w)_(?!\w)")


class Field(NamedTuple):
    """A field of a record."""

    name: str
    kind: str
    comment: str


def fields_of(record: type) -> list[Field]:
    """List the public fields that a class declares.

    Examples
    --------
    >>> fields_of(Field)[0]
    Field(name='name', kind='str', comment='')
    """
    source = textwrap.dedent(inspect.getsource(record))
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    (definition,) = ast.parse(source).body
    return [
        Field(
            node.target.id,
            ast.unparse(node.annotation),
            comments.get(node.end_lineno or 0, ""),
        )
        for node in getattr(definition, "body", [])
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and not node.target.id.startswith("_")
    ]


def is_record(documented: object) -> bool:
    """Return whether an object is a named tuple class or a dataclass."""
    return isinstance(documented, type) and (
        is_dataclass(documented)
        or (issubclass(documented, tuple) and hasattr(documented, "_fields"))
    )


def _add_fields(
    app: Sphinx, what: str, name: str, documented: Any, options: Any, lines: list[str]
) -> None:
    has_own = {"Parameters", "Attributes"} & {line.strip() for line in lines}
    if not is_record(documented) or has_own:
        return
    section = ["", "Attributes", "----------"]
    for field in fields_of(documented):
        section.append(f"{field.name} : ``{field.kind}``")
        section += [f"    {field.comment}"] if field.comment else []
    if len(section) > 3:
        # numpydoc wants this section before the examples
        heads = [
            i for i, line in enumerate(lines[:-1]) if lines[i + 1].startswith("---")
        ]
        place = heads[0] if heads else len(lines)
        lines[place:place] = [*section, ""]


def _escape_types(
    app: Sphinx, what: str, name: str, documented: Any, options: Any, lines: list[str]
) -> None:
    for number, line in enumerate(lines):
        match = _TYPE_LINE.fullmatch(line)
        if match and "``" not in line:
            lines[number] = f"{match[1]} : " + _OPEN_NAME.sub(r"\\_", match[2])


def _skip_foreign(
    app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Skip members that a class inherits from other libraries, and bare fields."""
    if type(member).__name__ == "_tuplegetter":
        return True
    function = getattr(member, "fget", None) or getattr(member, "func", member)
    module = getattr(function, "__module__", None) or ""
    return None if module.startswith("spanforest") else True


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hooks, those on docstrings ahead of numpydoc's."""
    app.connect("autodoc-process-docstring", _add_fields, priority=100)
    app.connect("autodoc-process-docstring", _escape_types, priority=101)
    app.connect("autodoc-skip-member", _skip_foreign)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
