"""Table 1 from rows made by hand, and the notes on data that are not the paper's."""

import csv
import io
import re

import pytest
from paper_helpers import terminal_text
from rows import NOTE, make_row

from spanforest.paper import dataset_table, performance_table


def test_table_1_has_the_rows_statistics_beside_the_papers():
    rows = [make_row("own"), make_row("nci60"), make_row("emotions")]
    rows[1]["data"] = rows[1]["data"] | {"n_samples": 3281, "n_features": 2048}

    table = dataset_table(rows)

    assert [line.name for line in table.datasets] == ["emotions", "nci60", "own"]
    text = table.to_markdown()
    assert re.search(r"NCI60 +\| 3281 \(4547\) \| +60 \(60\) \| 2048 \(4547\) ", text)
    assert re.search(r"own +\| +100 \| +5 \| +7 \| +2.50 \| +0.50 \|", text)
    assert "- own: Not in the paper." in text


def test_data_that_are_not_the_papers_own_are_named_below_both_tables():
    rows = [make_row(name) for name in ("enron", "circle10", "circle50", "emotions")]
    rows[0]["data"] = rows[0]["data"] | {"n_labels": 52}
    for table in (dataset_table(rows), performance_table(rows)):
        *_, enron, circle = table.layout().notes
        assert enron == (
            "Enron: 1702 instances and 52 labels here, 1702 and 53 in the paper."
        )
        assert circle.startswith("Circle10, Circle50: Generated anew")
        assert not any(note.startswith("Emotions") for note in table.layout().notes)


def test_the_note_of_a_data_set_is_shown_in_every_format():
    rows = [make_row("nci60"), make_row("yeast")]
    escaped = r"59 of 60 cell\_lines"
    for table in (dataset_table(rows), performance_table(rows)):
        assert (
            rf"NCI60: Only a subset: {escaped} & no \*inactive\*" in table.to_markdown()
        )
        assert rf"{escaped} \& no {{*}}inactive{{*}} ones." in table.to_latex()
        assert NOTE in " ".join(terminal_text(table, 80).split())
    lines = list(csv.DictReader(io.StringIO(dataset_table(rows).to_csv())))
    assert [line["note"] for line in lines] == ["", NOTE]


def test_rows_that_describe_one_data_set_differently_are_refused():
    other = make_row(fold=1)
    other["data"] = other["data"] | {"n_samples": 100}
    for function in (performance_table, dataset_table):
        with pytest.raises(ValueError, match=r"emotions .* n_samples 593 and 100"):
            function([make_row(), other])
