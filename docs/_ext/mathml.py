"""Write formulas as MathML, which browsers draw without a script or a network.

Sphinx's own renderer loads MathJax from the network when a page is opened.
"""

import re
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

_logger = logging.getLogger(__name__)
# docutils reads \tfrac12 as a fraction of 12
_BARE_FRACTION = re.compile(r"\\([td]?frac)(\d)(\w)")
_MACRON = "\N{MODIFIER LETTER MACRON}"
_ACCENTS = {"\N{MODIFIER LETTER CIRCUMFLEX ACCENT}", "~", _MACRON}
_BRACKETS = set("‖|⟨⟩{}[]")


def to_mathml(formula: str, *, is_block: bool = False) -> str:
    r"""Return a LaTeX formula as MathML.

    Several lines, separated by a double backslash, are aligned at their ampersands.

    Examples
    --------
    >>> "<mfrac" in to_mathml(r"\tfrac12 x")
    True
    """
    formula = _BARE_FRACTION.sub(r"\\\1{\2}{\3}", formula.strip())
    if is_block and r"\\" in formula and r"\begin" not in formula:
        formula = rf"\begin{{aligned}}{formula}\end{{aligned}}"
    text = tex2mathml(formula, as_block=is_block)
    text = text.replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "")
    tree = ElementTree.fromstring(text.replace("&ApplyFunction;", "\u2061"))
    for element in tree.iter():
        _repair(element, is_block)
    return ElementTree.tostring(tree, encoding="unicode")


def _repair(element: Element, is_block: bool) -> None:
    """Correct in place what docutils gets wrong in an element."""
    last = element[-1] if len(element) else None
    if element.tag == "munderover" and last is not None and last.text in _ACCENTS:
        # an index belongs beside a letter with an accent, not under it
        base, index, accent = element
        letter = Element("mover", accent="true")
        letter.extend([base, accent])
        element.tag = "msub"
        element[:] = [letter, index]
    elif element.tag == "msub" and (
        element[0].tag == "munder" or (is_block and element[0].text == "argmax")
    ):
        element.tag = "munder"  # the text under a brace, or the index under argmax
    elif element.tag == "mtable":
        element.set("displaystyle", "true")
    elif element.text == _MACRON:
        element.text = "\N{OVERLINE}"  # as wide as the letter
        element.set("stretchy", "true")
    elif element.text in _BRACKETS and not element.attrib.keys() - {"class"}:
        element.set("stretchy", "false")  # unless an attribute sets a size


def _convert(node: nodes.Element, *, is_block: bool) -> str:
    try:
        return to_mathml(node.astext(), is_block=is_block)
    except MathError as error:  # a warning, so that a strict build fails
        _logger.warning("formula cannot be read: %s", error, location=node)
        return f"<code>{node.astext()}</code>"


def _visit_inline(self: Any, node: nodes.math) -> None:
    self.body.append(_convert(node, is_block=False))
    raise nodes.SkipNode


def _visit_block(self: Any, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(_convert(node, is_block=True))
    if node["number"]:
        number = get_node_equation_number(self, node)
        self.body.append(f'<span class="eqno">({number})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(_visit_inline, None),
        block_renderers=(_visit_block, None),
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
