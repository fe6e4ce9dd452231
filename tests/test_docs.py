"""The documentation: it names everything that is public, and its code runs."""

import csv
import doctest
import importlib
import os
import pkgutil
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import spanforest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GENERATED = ("_build", "_generated", "api", "auto_examples")
PAGES = sorted(
    path
    for path in DOCS.rglob("*.rst")
    if path.relative_to(DOCS).parts[0] not in (*GENERATED, "_templates")
)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def read(name):
    return (DOCS / name).read_text(encoding="utf-8")


# --- the API reference ----------------------------------------------------------------


def public_names():
    """List (module, name) for the `__all__` of every public module."""
    inside = pkgutil.walk_packages(spanforest.__path__, "spanforest.")
    modules = ["spanforest", *(one.name for one in inside if "._" not in one.name)]
    return [
        (module, name)
        for module in modules
        if not module.endswith("__main__")
        for name in getattr(importlib.import_module(module), "__all__", ())
    ]


def documented_names(page):
    """List (module, name) for each line of the autosummary tables of a page."""
    module, in_table, names = "", False, []
    for line in page.splitlines():
        if heading := re.fullmatch(r"\.\. (?:current)?module:: (\S+)", line):
            module = heading[1]
        elif data := re.fullmatch(r"\.\. py:data:: (\S+)", line):
            names.append((module, data[1]))
        in_table = line.startswith(".. autosummary::") or (
            in_table and (not line or line.startswith("   "))
        )
        if in_table and re.fullmatch(r"   \w+", line):
            names.append((module, line.strip()))
    return names


def test_every_public_name_has_a_place_in_the_reference():
    listed = documented_names(read("api.rst"))
    objects = [getattr(importlib.import_module(m), name) for m, name in listed]

    def has_place(module, name):
        # the same object under a shorter name is enough
        public = getattr(importlib.import_module(module), name)
        return (module, name) in listed or any(public is known for known in objects)

    missing = [f"{m}.{name}" for m, name in public_names() if not has_place(m, name)]
    assert not missing, f"add to docs/api.rst: {', '.join(missing)}"


def test_the_reference_lists_nothing_that_is_not_public():
    extra = set(documented_names(read("api.rst"))) - set(public_names())
    assert not extra, f"not in any __all__: {sorted(extra)}"


def test_the_check_of_the_reference_can_fail():
    page = read("api.rst").replace("   RandomGraphEnsembleClassifier\n", "")
    assert ("spanforest", "RandomGraphEnsembleClassifier") in public_names()
    assert ("spanforest", "RandomGraphEnsembleClassifier") not in documented_names(page)


# --- the code of the pages ------------------------------------------------------------


@pytest.mark.needs_compiled
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_code_of_a_page_runs_and_prints_what_the_page_says(path):
    pytest.importorskip("matplotlib").use("Agg")
    text = path.read_text(encoding="utf-8")
    test = doctest.DocTestParser().get_doctest(text, {}, path.stem, str(path), 0)
    report = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=report.append)
    importlib.import_module("matplotlib.pyplot").close("all")
    assert runner.failures == 0, "".join(report)


def test_the_guide_has_code_to_run():
    n_examples = {
        path.stem: len(doctest.DocTestParser().get_examples(path.read_text("utf-8")))
        for path in PAGES
    }
    for page in ("data", "choosing", "graphs", "certified", "looking", "saving"):
        assert n_examples[page] > 3


# --- the figures of the README --------------------------------------------------------


def table_lines(text):
    """List the lines of Markdown tables as tuples of cells, without alignment."""
    lines = [line.strip("| ") for line in text.splitlines() if line.startswith("|")]
    return [tuple(cell.strip() for cell in line.split("|")) for line in lines]


def printed_means(path):
    """Return the means of a table of results, as they are printed."""
    with open(ROOT / "results" / path, newline="", encoding="utf-8") as file:
        return {
            (line["dataset"], line["method"], line["measure"]): float(line["mean"])
            for line in csv.DictReader(file)
            if line["mean"]
        }


@pytest.mark.skipif(not (ROOT / "results").is_dir(), reason="no results in an sdist")
def test_the_readme_has_the_scores_of_the_tuned_methods():
    means = printed_means("tuned/table2-tuned.csv")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.partition("## How it compares")[2]
    _, _, *lines = table_lines(section.partition("Processor time")[0])
    assert len(lines) == 5
    methods = ("svm", "ecc", "extra_trees", "selftuned")
    for name, *cells in lines:
        for method, cell in zip(methods, cells, strict=True):
            place = name.lower(), method
            whole, f1 = (
                means[*place, measure]
                for measure in ("multilabel_accuracy", "microlabel_f1")
            )
            assert cell.replace("*", "") == f"{whole:.1f} / {f1:.1f}", place


def test_the_readme_is_short_and_its_links_work_anywhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    targets = re.findall(r"\]\((\S+)\)", text)
    assert targets
    assert [one for one in targets if not one.startswith(("https://", "#"))] == []


# --- the commands ---------------------------------------------------------------------


COMMAND_LINE = tuple(
    f"guide/command_line{topic}.rst" for topic in ("", "_data", "_training", "_results")
)


def console_lines(text):
    """List (arguments, output) for the commands in the console blocks of a page."""
    commands = []
    for block in re.findall(r"code-block:: console\n\n((?:   .*\n|\n)+)", text):
        for shown in re.split(r"^   \$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = shown.partition("\n")
            if command.startswith("spanforest "):
                commands.append((shlex.split(command)[1:], output))
    return commands


@pytest.mark.needs_compiled
def test_the_commands_of_the_guide_print_what_it_says(tmp_path, monkeypatch, capsys):
    pytest.importorskip("typer")
    from spanforest.cli import main

    monkeypatch.chdir(tmp_path)
    # the later pages take the model of the first
    lines = [line for page in COMMAND_LINE for line in console_lines(read(page))]
    shown = {"datasets", "train", "evaluate", "predict", "inspect", "reproduce"}
    assert {arguments[0] for arguments, _ in lines} == {*shown, "report"}
    for arguments, expected in lines:
        assert main(arguments) == 0, arguments
        output = capsys.readouterr().out
        if not expected.strip():
            assert output == ""
            assert Path(arguments[-1]).stat().st_size > 0
            continue
        assert agree(expected, output), output
        wrong = re.sub("[a-z]", "z", expected)  # do three dots hide everything?
        assert not agree(wrong, output), arguments


def agree(wanted, printed):
    """Return whether an output is the one of the page, where dots stand for anything.

    Sums end in other bits on other machines, so that training stops a little earlier or
    later: measures may differ by a third of a percent, and counts by half a percent.
    """
    number = r"\d+(?:\.\d+)?"

    def pattern_of(part):
        if re.fullmatch(number, part):
            return f"({number})"
        return {"...": ".*?"}.get(part, r"\s+" if part.isspace() else re.escape(part))

    def is_near(one, other):
        slack = 0.005 * float(one)
        if "." in one:
            slack = 0.33 if float(one) > 1 else 0.03
        return abs(float(one) - float(other)) <= slack

    parts = re.split(rf"(\.\.\.|{number}|\s+)", wanted.strip())
    pattern = "".join(map(pattern_of, parts))
    found = re.fullmatch(pattern, printed.strip(), re.DOTALL)
    numbers = re.findall(number, wanted)
    return found is not None and all(map(is_near, numbers, found.groups()))


def test_outputs_that_differ_are_told_apart():
    assert agree("  a 99.68 %\n b ...", "a  99.74 % b c\nd")
    assert agree("1000 of 634", "1000 of 632")
    assert not agree("a 99.68 % b", "a 97.68 % b")
    assert not agree("a 10 b", "a 11 b")
    assert not agree("score 0.987", "score 0.700")
    assert not agree("a 99.68 % b", "a 99.68 % c")
    assert not agree("a ... d", "b c d")


def test_every_command_is_shown_in_the_guide_and_described_in_the_reference(
    monkeypatch,
):
    typer = pytest.importorskip("typer")
    from spanforest.cli._app import app

    monkeypatch.syspath_prepend(str(DOCS))
    commands = importlib.import_module("_ext.commands")
    reference = commands.command_reference()
    guide = "".join(map(read, COMMAND_LINE))
    for name in typer.main.get_command(app).commands:
        assert f"Usage: spanforest {name} " in reference
        assert re.search(rf"Example:\n +spanforest {name}", reference)
        assert f"spanforest {name}" in guide


# --- what the pages are made of -------------------------------------------------------


@pytest.mark.parametrize("name", ["docstrings", "inventories", "markdown", "mathml"])
def test_the_doctests_of_the_extensions_pass(name, monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(DOCS))
    result = doctest.testmod(importlib.import_module(f"_ext.{name}"), optionflags=FLAGS)
    assert result.attempted > 0
    assert result.failed == 0


def test_markdown_keeps_tables_lists_code_and_escapes(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    to_rst = importlib.import_module("_ext.markdown").to_rst
    docutils = pytest.importorskip("docutils.core")
    text = (
        "# One\n\nText with names_ and a `x_` code:\n- a\n  more\n- b\n\n"
        "## Two\n\n| a | b \\| c |\n| --- | ---: |\n| *1*, **2** | 3\\*4 |\n\n"
        "```python\nx = 1\n\ny = 2\n```\n"
    )
    html = docutils.publish_parts(
        to_rst(text), writer="html5", settings_overrides={"report_level": 2}
    )["body"]
    for wanted in ("names_", "<em>1</em>", "<strong>2</strong>", "3*4", "b | c"):
        assert wanted in html
    assert html.count("<li>") == 2
    assert "problematic" not in html
    assert "system-message" not in html


def test_pages_are_written_without_results(tmp_path, monkeypatch):
    pytest.importorskip("sphinx")
    pytest.importorskip("typer")
    monkeypatch.syspath_prepend(str(DOCS))
    generated = importlib.import_module("_ext.generated")
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)

    generated.write_pages(docs, docs / "_generated")
    assert "There is no" in (docs / "_generated/table2.rst").read_text("utf-8")

    (tmp_path / "results").mkdir()
    (tmp_path / "results/table2.md").write_text("| a |\n| --- |\n| 1 |\n", "utf-8")
    generated.write_pages(docs, docs / "_generated")
    assert "list-table" in (docs / "_generated/table2.rst").read_text("utf-8")


# --- names of other libraries ---------------------------------------------------------

SVC = "modules/generated/sklearn.svm.SVC.html#sklearn.svm.SVC"


def settings_with_a_network(folder, monkeypatch):
    """Return the settings of the build that may use a network, of a copy of docs."""
    pytest.importorskip("sphinx")
    shutil.copy(DOCS / "conf.py", folder)
    monkeypatch.setenv("READTHEDOCS", "True")
    monkeypatch.syspath_prepend(str(DOCS))
    return runpy.run_path(str(folder / "conf.py"))


def built_page(folder, mapping, settings):
    """Return the page that Sphinx makes of two names; a warning is an error."""
    shown = ("default_role", "nitpicky", "nitpick_ignore_regex", "intersphinx_timeout")
    lines = [f"{name} = {settings[name]!r}" for name in shown]
    lines += ['extensions = ["sphinx.ext.intersphinx"]']
    lines += [f"intersphinx_mapping = {mapping!r}"]
    (folder / "conf.py").write_text("\n".join(lines), encoding="utf-8")
    (folder / "index.rst").write_text("T\n=\n\n`sklearn.svm.SVC`, `tol`\n", "utf-8")
    arguments = ["-W", "-q", "-b", "html", str(folder), str(folder / "html")]
    code = importlib.import_module("sphinx.cmd.build").main(arguments)
    return code, (folder / "html" / "index.html").read_text(encoding="utf-8")


def test_names_of_other_libraries_are_links_into_their_documentation(
    tmp_path, monkeypatch
):
    settings = settings_with_a_network(tmp_path, monkeypatch)
    address, _ = settings["intersphinx_mapping"]["sklearn"]
    write = settings["write_inventory"]
    known = write(tmp_path / "sklearn.inv", "sklearn", {"sklearn.svm.SVC": SVC})
    code, page = built_page(tmp_path, {"sklearn": (address, (str(known),))}, settings)
    assert code == 0
    assert f'href="https://scikit-learn.org/stable/{SVC}"' in page
    assert page.count('class="reference external"') == 1


@pytest.mark.parametrize("has_fallback", [True, False])
def test_a_documentation_that_does_not_answer_stops_no_build(
    tmp_path, monkeypatch, has_fallback
):
    settings = settings_with_a_network(tmp_path, monkeypatch)
    for _, inventories in settings["intersphinx_mapping"].values():
        assert inventories[0] is None  # ask the documentation first
    _, (_, fallback) = settings["intersphinx_mapping"]["sklearn"]
    nowhere = "http://127.0.0.1:1"
    mapping = {"sklearn": (nowhere, (None, fallback) if has_fallback else None)}
    code, page = built_page(tmp_path, mapping, settings)
    assert (code == 0) == has_fallback
    assert "sklearn.svm.SVC" in page


def unknown_names(page):
    """List the names of routines and classes on a page that the code does not have."""
    package = Path(spanforest.__file__).parent
    sources = [path.read_text(encoding="utf-8") for path in package.rglob("*.py")]
    modules = {path.stem for path in package.rglob("*.py")}

    def is_known(owner, name):
        defined = re.compile(rf"^ *(def|class) {name}\b|^{name}\b.* =", re.MULTILINE)
        is_home = re.compile(rf"^class {owner}\b", re.MULTILINE)
        homes = [text for text in sources if not owner or is_home.search(text)]
        return any(map(defined.search, homes)) or (not owner and name in modules)

    # classes, private names, names of several words; and attributes of classes
    single = re.findall(r"``()(_\w+|[A-Z][a-z]\w+|[a-z]+_[a-z_]*[a-z])``", page)
    dotted = re.findall(r"``([A-Z]\w+)\.(\w+)``", page)
    names = {*single, *dotted} - {("", "warm_start"), ("", "_factors")}
    return sorted(pair for pair in names if not is_known(*pair))


def test_names_on_the_page_of_the_architecture_are_those_of_the_code():
    assert unknown_names(read("architecture.rst")) == []
    wrong = (
        "``LabelCoding.decode``, ``_member``, ``train_first`` and ``Draw.make_factors``"
    )
    assert unknown_names(wrong) == [("", "_member"), ("LabelCoding", "decode")]


def test_what_to_change_stands_in_the_files_that_the_page_names():
    table = read("architecture.rst").partition("Where to change what")[2]
    source = ROOT / "src" / "spanforest"
    files = {source / name for name in re.findall(r"``([\w/]+\.py)``", table)}
    assert [path for path in files if not path.exists()] == []
    places = re.findall(r"``(\w+)`` (?:in|of)\s+``([\w/]+\.py)``", table)
    assert len(places) > 10
    for name, file in places:
        text = (source / file).read_text(encoding="utf-8")
        assert re.search(rf"^(def|class) {name}\b|^{name}\b.* =", text, re.M), name


def test_figures_that_pages_show_are_there():
    shown = {
        name
        for path in PAGES
        for name in re.findall(r"figure:: /figures/(\S+)", path.read_text("utf-8"))
    }
    assert shown == {path.name for path in (DOCS / "figures").glob("*.png")}


# --- the whole ------------------------------------------------------------------------

NEEDED = ("sphinx", "pydata_sphinx_theme", "numpydoc", "sphinx_gallery")


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    """The folder of the built documentation; a warning of Sphinx is an error."""
    absent = [name for name in NEEDED if find_spec(name) is None]
    if absent:
        pytest.skip(f"{', '.join(absent)} not installed: pip install --group docs")
    folder = tmp_path_factory.mktemp("documentation")
    ignored = shutil.ignore_patterns(*GENERATED, "__pycache__")
    for name in ("docs", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    if (ROOT / "results").is_dir():
        shutil.copytree(ROOT / "results", folder / "results")
    environment = {k: v for k, v in os.environ.items() if k != "SPANFOREST_DATA"}
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "docs", "html"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return folder / "html"


@pytest.mark.slow
def test_the_documentation_is_built_without_a_warning(html):
    for page in ("index", "theory", "experiment", "api", "commands", "guide/index"):
        assert (html / f"{page}.html").is_file()


@pytest.mark.slow
def test_every_example_of_the_gallery_has_a_picture(html):
    gallery = (html / "auto_examples/index.html").read_text(encoding="utf-8")
    for path in sorted((ROOT / "examples").glob("plot_*.py")):
        assert f"sphx_glr_{path.stem}_thumb.png" in gallery
        assert (html / f"_images/sphx_glr_{path.stem}_001.png").is_file()


SCREEN = 900  # pixels of a desk


@pytest.mark.slow
def test_a_page_of_the_guide_takes_three_screens_at_most(html, browser):
    page = browser.new_page(viewport={"width": 1280, "height": SCREEN})
    screens = {}
    for path in sorted([*html.glob("guide/*.html"), html / "which_kernel.html"]):
        page.goto(path.as_uri())
        height = page.locator("article").bounding_box()["height"]
        screens[path.stem] = round(height / SCREEN, 2)
    page.close()
    too_long = {name: n for name, n in screens.items() if n > 3}
    assert too_long == {}


@pytest.mark.slow
def test_on_a_phone_no_page_scrolls_sideways(html, browser):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    wide = []
    for path in [*html.glob("*.html"), *html.glob("guide/*.html")]:
        page.goto(path.as_uri())
        if page.evaluate("document.scrollingElement.scrollWidth") > 390:
            wide.append(path.name)
    page.goto((html / "api.html").as_uri())
    table = page.locator("table.autosummary td").nth(1)  # what an estimator is
    assert table.bounding_box()["x"] + table.bounding_box()["width"] <= 390
    page.close()
    assert wide == []


def test_the_picture_of_the_layers_shows_every_module_and_its_wing(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    layers = importlib.import_module("_ext.layers")
    drawn = layers.read_layers(ROOT / "pyproject.toml")
    package = ROOT / "src" / "spanforest"
    modules = {
        path.stem
        for path in package.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    shown = [name for layer in drawn for name in layer.modules]
    assert sorted(shown) == sorted(modules - {"__init__", "__main__"})
    picture = layers.draw_layers(drawn)
    assert all(f">{name}</text>" in picture for name in shown)
    boxes = re.findall(r'<rect x="([\d.]+)" y="\d+" width="([\d.]+)"', picture)
    assert len(boxes) == len(shown)
    assert all(float(x) + float(width) <= layers.WIDTH for x, width in boxes)
    wings = {"tools", "paper", "looking", "estimators", "data", "computing", "model"}
    assert wings <= {layer.wing for layer in drawn}
