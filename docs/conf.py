"""Sphinx: how the documentation is built.

Nothing is fetched from a network, unless the variable READTHEDOCS is set: then names of
other libraries become links to their documentation.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from _ext.inventories import write_inventory  # noqa: E402

from spanforest import __version__  # noqa: E402

project = "spanforest"
author = "The spanforest developers"
copyright = author
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
    "_ext.mathml",
    "_ext.docstrings",
    "_ext.generated",
]
if os.environ.get("READTHEDOCS"):
    extensions.append("sphinx.ext.intersphinx")
    # for a documentation that does not answer: a warning would stop the build
    nothing = str(write_inventory(HERE / "_generated" / "nothing.inv", "nothing", {}))
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", (None, nothing)),
        "numpy": ("https://numpy.org/doc/stable", (None, nothing)),
        "scipy": ("https://docs.scipy.org/doc/scipy", (None, nothing)),
        "sklearn": ("https://scikit-learn.org/stable", (None, nothing)),
        "pandas": ("https://pandas.pydata.org/docs", (None, nothing)),
        "networkx": ("https://networkx.org/documentation/stable", (None, nothing)),
        "joblib": ("https://joblib.readthedocs.io/en/stable", (None, nothing)),
    }
    intersphinx_timeout = 10
exclude_patterns = ["_build", "_generated", "_ext", "figures"]
templates_path = ["_templates"]
default_role = "py:obj"  # `name` is a link where the name is documented
nitpicky = True  # a name of ours that is documented nowhere is an error
nitpick_ignore_regex = [("py:.*", r"(?!spanforest\.)(.|\n)*")]

autodoc_typehints = "none"  # the docstrings have them
autodoc_member_order = "bysource"
autosummary_generate = True
maximum_signature_line_length = 80
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"  # the name of the class hides the method's
numpydoc_show_class_members = False  # the template lists them
numpydoc_use_plots = False

bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"/(?!plot_)[^/]*\.py$",
    "within_subsection_order": "NumberOfCodeLinesSortKey",  # the simplest first
    "backreferences_dir": "api/backreferences",
    "doc_module": ("spanforest",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "capture_repr": (),  # an address in memory tells nobody anything
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "image_srcset": ["2x"],
}

html_theme = "pydata_sphinx_theme"
html_math_renderer = "mathml"
html_title = f"spanforest {release}"
html_static_path = ["_static"]
html_css_files = ["spanforest.css"]
html_show_sourcelink = False
html_copy_source = False
# pages without a section around them have nothing to navigate in
html_sidebars = {page: [] for page in ("index", "getting_started", "commands")}
html_theme_options = {
    "logo": {"text": "spanforest"},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
