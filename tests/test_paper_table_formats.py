"""Tables in Markdown, CSV, LaTeX and a terminal hold the same numbers."""

import csv
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paper_helpers import terminal_text
from rows import experiments, make_row, rows_of_line
from strategies import trials

from spanforest.metrics import MEASURES
from spanforest.paper import METHODS, dataset_table, display_name, performance_table
from spanforest.paper._names import TITLES
from spanforest.paper._published import PAPER_METHODS, TABLE_2

GOLDEN = Path(__file__).parent / "golden" / "table2.md"


def parse_markdown(text):
    """Return the blocks of a Markdown text as lists of lists of cells."""
    blocks, current = [], []
    for line in [*text.split("\n"), ""]:
        if line.startswith("| "):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            current.append([re.sub(r"\\(.)", r"\1", cell.strip()) for cell in cells])
        elif current:
            blocks.append(current)
            current = []
    return blocks


def printed(number, deviation):
    if number is None:
        return ""
    return f"{number:.1f}" + ("" if deviation is None else f"±{deviation:.1f}")


@given(experiments())
@trials(50)
def test_markdown_reads_back_as_the_cells(rows):
    table = performance_table(rows)
    blocks = parse_markdown(table.to_markdown())
    assert len(blocks) == len(MEASURES)
    for measure, (header, _, *lines) in zip(MEASURES, blocks, strict=True):
        counts = lines[len(table.datasets) :]
        lines = lines[: len(table.datasets)]
        assert header == ["Data set", *map(display_name, table.methods)]
        for dataset, (name, *texts) in zip(table.datasets, lines, strict=True):
            assert name == display_name(dataset)
            for method, text in zip(table.methods, texts, strict=True):
                cell = table.cell(measure, dataset, method)
                stars, value, flag, paper = re.fullmatch(
                    r"(\**)([^*†()]*?)(†?)\1 ?(\(.*\))?", text
                ).groups()
                assert {"": "", "*": "second", "**": "best"}[stars] == cell.mark
                words = {"no positives": "-", "failed": "failed", "absent": ""}
                assert value.strip() == words.get(
                    cell.state, printed(cell.mean, cell.deviation)
                )
                assert bool(flag) == cell.is_partial
                if cell.paper is None:
                    assert paper is None
                else:
                    assert paper == f"({printed(*cell.paper[:2]) or '-'})"
        own = [method for method in table.methods if method in PAPER_METHODS]
        for name, *texts in counts:
            among = own if own and name == "@Top2" else table.methods
            written = {
                method: int(re.findall(r"\d+", text)[0])
                for method, text in zip(table.methods, texts, strict=True)
                if text
            }
            assert written == table.top2(measure, among)
        assert len(counts) == (len(own) > 0) + (len(own) < len(table.methods))


@given(experiments())
@trials(50)
def test_csv_reads_back_to_the_same_numbers(rows):
    table = performance_table(rows)
    lines = list(csv.DictReader(io.StringIO(table.to_csv())))
    assert len(lines) == len(MEASURES) * len(table.datasets) * len(table.methods)
    for line in lines:
        cell = table.cell(line["measure"], line["dataset"], line["method"])
        paper = cell.paper or (None, None)
        expected = [cell.mean, cell.deviation, cell.n_folds, cell.rank, *paper[:2]]
        keys = ("mean", "deviation", "n_folds", "rank", "paper_mean", "paper_deviation")
        written = [float(line[key]) if line[key] else None for key in keys]
        assert written == expected  # in full precision
        assert (line["protocol"], line["state"]) == ("paper", cell.state)


names = st.text(
    st.one_of(
        st.sampled_from(r"|\*_`<>[]#&%${}~^,'\" "),
        st.characters(exclude_categories=["C", "Z"]),
    ),
    min_size=1,
).filter(lambda name: name.split() and name not in TITLES)


@given(names)
def test_names_with_special_signs_survive(name):
    table = performance_table([make_row(name, n_folds=1)])
    assert parse_markdown(table.to_markdown())[0][2][0] == " ".join(name.split())
    line = next(csv.DictReader(io.StringIO(table.to_csv())))
    assert line["dataset"] == name
    assert name in terminal_text(table, 400)
    # what is left after taking away every escaped sign is balanced and has two columns
    latex = re.sub(r"\\[&%$#_{}]", "", table.to_latex())
    assert latex.count("{") == latex.count("}")
    assert latex.count("$") % 2 == 0
    assert all(x.count("&") == 1 for x in latex.split("\n") if "50.0" in x)


@pytest.mark.parametrize("width", [200, 80, 60, 40, 24])
def test_no_value_is_lost_at_any_width_of_the_terminal(width):
    table = performance_table(golden_rows())
    text = terminal_text(table, width)

    assert "…" not in text
    assert max(map(len, text.split("\n"))) <= width
    values = [f"{c.mean:.1f}" for c in table.cells.values() if c.mean is not None]
    papers = [c.paper.mean for c in table.cells.values() if c.paper is not None]
    papers = [f"{mean:.1f}" for mean in papers if mean is not None]
    body = text[: text.index("Deviation is")]
    for number in {*values, *papers}:
        expected = (values + papers).count(number)
        assert len(re.findall(rf"(?<![±\d.]){re.escape(number)}", body)) == expected


def test_the_papers_value_stands_dimmed_under_ours():
    console_module = pytest.importorskip("rich.console")
    console = console_module.Console(width=80, file=io.StringIO())
    table = performance_table(rows_of_line({"svm": 0.1, "mam": 0.9}))
    styles = {
        segment.text.strip(): str(segment.style)
        for segment in console.render(table.to_terminal())
    }
    assert (styles["90.0"], styles["10.0"]) == ("bold green", "italic cyan")
    assert styles["80.5±1.4"] == "dim"


def test_a_terminal_table_needs_rich(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    with pytest.raises(ImportError, match=r"spanforest\[paper\]"):
        performance_table([make_row()]).to_terminal()


@pytest.mark.parametrize("make", [performance_table, dataset_table])
def test_every_line_of_latex_has_all_columns(make):
    latex = make(golden_rows()).to_latex()
    n_columns = len(re.search(r"\\begin{tabular}{(l+r+)}", latex).group(1))
    body = latex[latex.index(r"\toprule") : latex.index(r"\bottomrule")]
    for line in body.split("\n"):
        if line.endswith(r"\\") and r"\multicolumn" not in line:
            assert len(re.findall(r"(?<!\\)&", line)) == n_columns - 1
    assert latex.count(r"\begin") == latex.count(r"\end")


@pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="pdflatex is not installed"
)
@pytest.mark.parametrize("make", [performance_table, dataset_table])
def test_latex_compiles(make, tmp_path):
    document = (
        "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n"
        f"{make(golden_rows()).to_latex()}\\end{{document}}\n"
    )
    (tmp_path / "table.tex").write_text(document, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)


def golden_rows():
    """Rows near the paper's values that have every kind of cell."""
    rows = []
    for d, dataset in enumerate(("emotions", "cal500", "nci60", "medical", "genbase")):
        for m, method in enumerate(METHODS[:8]):
            for fold in range(3):
                scores = {}
                for measure in MEASURES:
                    near = TABLE_2[measure].get((dataset, method))
                    base = (near.mean if near else 20.0 + 2 * m + d) or 0.0
                    shift = (7 * d + 5 * m + 3 * fold) % 11 - 5
                    scores[measure] = max(base + shift * (base > 10) / 5, 0.0) / 100
                row = make_row(dataset, method, fold, scores, n_folds=3)
                if scores["microlabel_f1"] == 0.0:
                    row["n_positive"] = 0
                rows.append(row)
    for row in rows:
        place = row["dataset"], row["method"]
        if place == ("nci60", "mtl") or (
            place == ("cal500", "mam") and row["fold"] == 1
        ):
            row.update(scores=None, error="ValueError: no")
    return [
        row for row in rows if (row["dataset"], row["method"]) != ("genbase", "svm")
    ]


def test_table_2_looks_as_it_did():
    text = performance_table(golden_rows()).to_markdown()
    if os.environ.get("SPANFOREST_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text, encoding="utf-8", newline="\n")
    assert text == GOLDEN.read_text(encoding="utf-8")
