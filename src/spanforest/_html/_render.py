"""Put data into templates: the result is one file that needs no network."""

import base64
import hashlib
from importlib.resources import files
from typing import Any

from spanforest import __version__
from spanforest._wording import count
from spanforest.plots._style import optional

_SHARED = "spanforest._html"
_MAIN = "page.html.jinja"


class Templates:
    """The templates of one page, which extend the shared ones.

    A package keeps its templates in the folder ``templates``: ``page.html.jinja``,
    which extends ``base.html.jinja``, ``page.css`` and ``page.js``. The shared style
    and script stand before those of the page. A template is looked up in the package
    first, then among the shared ones. All values are escaped.

    Parameters
    ----------
    package : str
        Name of the package of the page.
    """

    def __init__(self, package: str) -> None:
        jinja2 = optional("jinja2", extra="cli")
        self.package = package
        self.environment = jinja2.Environment(
            loader=jinja2.FunctionLoader(self._text),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=jinja2.StrictUndefined,
        )
        self.environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
        self.environment.globals["count"] = count

    def render(self, **contents: Any) -> str:
        """Return the page; its security policy allows its own style and script only."""
        style = self._joined("base.css", "page.css")
        script = self._joined("base.js", "page.js")
        return self.environment.get_template(_MAIN).render(
            version=__version__,
            style=style,
            style_hash=_hash(style),
            script=script,
            script_hash=_hash(script),
            **contents,
        )

    def _text(self, name: str) -> str | None:
        """Return the text of a template, None if there is no such template."""
        for package in (self.package, _SHARED):
            file = files(package).joinpath("templates", name)
            if file.is_file():
                return file.read_text(encoding="utf-8").replace("\r\n", "\n")
        return None

    def _joined(self, *names: str) -> str:
        return "\n".join(filter(None, map(self._text, names)))


def _hash(text: str) -> str:
    """Return the hash by which the policy of the page allows a style or script."""
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")
