"""Make pages from other files of the project when the build starts.

The reference of the commands comes from their own help. The changelog and the guide for
contributors come from their Markdown. The results of the experiment are copied if there
are any. All go to ``_generated``, from where the pages include them.
"""

import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from _ext.commands import command_reference
from _ext.layers import draw_layers, read_layers
from _ext.markdown import to_rst

TABLES = (
    *("table1", "table2", "table2-tuned", "study-study"),
    *("ranks-multilabel_accuracy-tuned", "ranks-microlabel_accuracy-tuned"),
    "ranks-microlabel_f1-tuned",
)
FIGURES = {
    "figure1": "Score of the first trees, for each data set and measure.",
    "critical-difference-multilabel_accuracy-tuned": "Average ranks of methods "
    "by multilabel accuracy, with lines that join those that do not differ.",
}


def write_pages(docs: Path, target: Path) -> None:
    """Write all generated pages and pictures.

    Parameters
    ----------
    docs : path
        The folder of the documentation; the project is the one above.
    target : path
        The folder to write to.
    """
    project, results = docs.parent, docs.parent / "results"
    target.mkdir(exist_ok=True)
    layers = read_layers(project / "pyproject.toml")
    (target / "layers.svg").write_text(draw_layers(layers), encoding="utf-8")
    pages = {"commands": command_reference()}
    for name in ("CHANGELOG", "CONTRIBUTING"):
        text = (project / f"{name}.md").read_text(encoding="utf-8")
        pages[name.lower()] = to_rst(text)
    for stem in TABLES:
        pages[stem] = _table(_home(results, stem) / f"{stem}.md")
    for stem, alternative in FIGURES.items():
        figure = _home(results, stem) / f"{stem}.png"
        pages[stem] = _figure(figure, target, alternative)
    for name, text in pages.items():
        page = target / f"{name}.rst"
        # an unchanged file keeps its date, so pages that include it are not built again
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def _home(results: Path, stem: str) -> Path:
    """Return the folder of a file; protocols but the paper's have their own folders."""
    _, _, protocol = stem.rpartition("-")
    return results / protocol if protocol in ("tuned", "study") else results


def _table(path: Path) -> str:
    if path.is_file():
        return to_rst(path.read_text(encoding="utf-8"))
    return f"*There is no* ``results/{path.name}`` *yet.*\n"


def _figure(path: Path, target: Path, alternative: str) -> str:
    if not path.is_file():
        return ".. the figure is not there yet\n"
    shutil.copy2(path, target / path.name)
    return f".. image:: /{target.name}/{path.name}\n   :alt: {alternative}\n"


def _before_reading(app: Sphinx) -> None:
    write_pages(Path(app.confdir), Path(app.confdir, "_generated"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages when the build starts."""
    app.connect("builder-inited", _before_reading)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
