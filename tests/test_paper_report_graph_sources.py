"""Where the label graphs of the page come from."""

import numpy as np
import pytest
from report_rows import graph_field, make_rows, text_of
from sklearn.linear_model import RidgeClassifier

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
from spanforest.diagnostics import edge_couplings
from spanforest.paper.report import make_report
from spanforest.paper.report._graph_sources import (
    GraphSource,
    graph_of_model,
    graphs_of_runs,
)
from spanforest.paper.report._shown_runs import find_runs

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
Y = (X @ rng.normal(size=(3, 4)) + rng.normal(size=(40, 4)) > 0).astype(int)


@pytest.fixture(scope="module")
def saved_model(tmp_path_factory):
    pytest.importorskip("skops")
    from spanforest import persistence

    folder = tmp_path_factory.mktemp("models")

    def save(model, name="songs.spanforest"):
        persistence.save(model, folder / name)
        return folder / name

    return save


def ensemble_of(kernel):
    pandas = pytest.importorskip("pandas")
    labels = pandas.DataFrame(Y, columns=["sun", "<b>warm</b>", "rain", "wind"])
    ensemble = RandomGraphEnsembleClassifier(3, kernel=kernel, tol=0.1, random_state=0)
    return ensemble.fit(X, labels)


def test_a_model_adds_its_label_graph(saved_model):
    ensemble = ensemble_of("rbf")
    path = saved_model(ensemble)
    rows = make_rows(methods=("svm",))
    page = make_report(rows, [path])
    assert page == make_report(rows, [str(path)])  # no dates, no random names
    assert "Label graphs" not in make_report(rows)

    section = page[page.index('<h2 id="graphs"') :]
    text = text_of(section)
    couplings = edge_couplings(ensemble, X)
    assert f"3 graphs. {len(couplings.strength)} edges over 4 labels." in text
    assert f"{max(couplings.strength, key=abs):+.3g}" in text
    assert "<b>warm</b>" in text
    assert section.count('class="edge edge-') == len(couplings.strength)


def test_couplings_and_frequencies_in_the_file_are_used(saved_model):
    ensemble = ensemble_of("linear")
    ensemble.couplings_ = edge_couplings(ensemble, X)._asdict()
    rows = make_rows(methods=("svm",))
    without = make_report(rows, [saved_model(ensemble)])
    assert "does not tell how frequent" in without
    assert "% of the examples" not in without
    assert "nan" not in without.partition('<h2 id="graphs"')[2].partition("</main")[0]
    ensemble.label_frequencies_ = Y.mean(axis=0)
    page = make_report(rows, [saved_model(ensemble)])
    assert "does not tell how frequent" not in page
    for share in Y.mean(axis=0):
        assert f": {100 * share:.1f} % of the examples" in page


def test_models_without_a_graph_to_draw_are_refused(saved_model):
    linear = MMCRFClassifier(kernel="linear", tol=0.1, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="neither couplings nor training examples"):
        graph_of_model(saved_model(linear))
    other = RidgeClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="RidgeClassifier, which has no label graph"):
        graph_of_model(saved_model(other))


def test_the_label_graph_of_a_data_set_is_that_of_its_first_fold():
    rows = make_rows(("circle10", "cal500"), ("svm", "mam"))
    for row in rows:
        if row["method"] == "mam":
            n_labels = 174 if row["dataset"] == "cal500" else 3 + row["fold"]
            row["label_graph"] = graph_field(n_labels, n_edges=700)
    cal500, circle = graphs_of_runs(find_runs(rows))
    reason = "174 labels, more than the 60 that are drawn."
    assert cal500 == GraphSource("Cal500", reason)
    assert circle.display.label_names == ["name 0", "name 1", "name 2"]
    assert circle.text == (
        "Fold 1 of 2: 5 trees, C=1, the data set's own kernel, 474 examples; duality "
        "gap at most 3.1 %."
    )
    page = make_report(rows)
    text = text_of(page)
    assert "700 edges over 3 labels" in text
    assert "the 2 strongest of 700 edges" in text
    assert f"Cal500: {reason}" in text
    assert page.count("<article>") == 1


def test_the_graph_of_the_tuned_protocol_is_preferred():
    rows = make_rows(("circle10",), ("mam",))
    tuned = make_rows(("circle10",), ("mam",), protocol="tuned", params={"C": 9.0})
    for row in rows:
        row["label_graph"] = graph_field()
    [of_paper] = graphs_of_runs(find_runs(rows + tuned))
    assert "C=1," in of_paper.text  # better than none
    tuned[1]["label_graph"] = graph_field()
    [of_tuned] = graphs_of_runs(find_runs(tuned + rows))
    assert "Fold 2 of 2: 5 trees, C=9," in of_tuned.text
