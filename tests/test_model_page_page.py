"""What the page about a model says."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from model_pages import (
    LABELS,
    NAMES,
    TEST,
    TRAIN,
    X,
    Y,
    ensemble,
    example_page,
    trained,
)
from report_rows import HOSTILE, text_of
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifierCV
from spanforest._wording import kernel_in_words
from spanforest.kernels import ForestKernel
from spanforest.metrics import multilabel_accuracy
from spanforest.model_page import make_model_page


def page_of(model, X=X[TEST], Y=LABELS[TEST], **options):
    return make_model_page(model, X, Y, n_examples=3, **options)


def rows_of_labels(page):
    table = page[page.index('id="label-table"') :]
    body = table[table.index("<tbody>") : table.index("</tbody>")]
    lines = re.findall(r"<tr>(.*?)</tr>", body, flags=re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line) for line in lines]
    return {line[0]: line[1:] for line in cells}


def test_the_page_has_scores_and_their_rivals():
    text = text_of(example_page())
    accuracy = multilabel_accuracy(LABELS[TEST], trained().predict(X[TEST]))
    sets = LABELS[TEST].value_counts(normalize=True)
    assert "30 examples with 5 labels." in text
    assert f"All labels right: {100 * accuracy:.1f} %." in text
    assert f"The best constant answer would reach {100 * sets.max():.1f} %" in text


def test_the_page_lists_all_labels():
    rows = rows_of_labels(example_page())
    predicted = trained().predict(X[TEST])
    assert list(rows) == NAMES
    for j, name in enumerate(NAMES):
        assert rows[name][0] == str(LABELS[name][TEST].sum())
        assert rows[name][2] == str(predicted[:, j].sum())


def test_the_same_model_and_data_give_the_same_page():
    assert (
        make_model_page(trained(), X[TEST], LABELS[TEST], n_examples=12)
        == example_page()
    )


def test_columns_of_labels_may_come_in_any_order():
    turned = LABELS[TEST][NAMES[::-1]]
    assert page_of(trained(), Y=turned) == page_of(trained())


@pytest.mark.parametrize(
    "truth", [None, np.full((30, 5), np.nan)], ids=["none", "all missing"]
)
def test_without_labels_the_page_shows_what_was_predicted(truth):
    page = page_of(trained(), Y=truth)
    text = text_of(page)
    assert "The data have no labels" in text
    assert "its true labels are not known" in text
    for absent in ("Precision", "Confused", "constant answer", "mistake:"):
        assert absent not in text
    assert rows_of_labels(page)["sad"] == [str(trained().predict(X[TEST])[:, 1].sum())]


def test_labels_that_are_not_known_are_left_out_and_the_page_says_so():
    partial = LABELS[TEST].astype(float)
    partial.iloc[::2, 0] = np.nan
    partial["calm"] = np.nan  # never known
    text = text_of(page_of(trained(), Y=partial))
    assert "30.0 % of the labels are not known" in text
    assert "All labels right" not in text  # no example is complete
    assert "Labels right" in text


def test_labels_of_many_values_have_a_row_for_each():
    colour = np.array(["red", "green", "blue"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    labels = pd.DataFrame({"colour": colour, "ok": np.where(Y[:, 0], "yes", "no")})
    model = ensemble(probability=True).fit(X[TRAIN], labels[TRAIN])
    page = page_of(model, Y=labels[TEST])
    rows = rows_of_labels(page)
    assert list(rows) == ["colour = blue", "colour = green", "colour = red", "ok"]
    assert sum(int(line[0]) for line in list(rows.values())[:3]) == 30
    assert "over labels of two values" in text_of(page)


@pytest.mark.needs_compiled
def test_a_label_that_never_occurs_is_an_ordinary_row():
    zeros = LABELS.assign(sad=0)
    model = ensemble(probability=True).fit(X[TRAIN], zeros[TRAIN])
    row = rows_of_labels(page_of(model, Y=zeros[TEST]))["sad"]
    assert row == ["0", "0.0 %", "0", "-", "-", "-", "0.0 %", "yes"]
    page = page_of(model)  # in these examples it occurs
    assert "did not occur in training, so that they are never predicted: sad" in page


@pytest.mark.parametrize("probability", [False, True])
@pytest.mark.parametrize("n_values", [2, 3])
def test_a_single_label_has_a_page(probability, n_values):
    y = np.digitize(X[:, 0], [0.0, 0.7][: n_values - 1])
    model = MMCRFClassifier(tol=0.2, probability=probability, random_state=0)
    page = page_of(model.fit(X[TRAIN], y[TRAIN]), Y=y[TEST])
    assert "30 examples with 1 label." in text_of(page)
    assert "Label graph" not in text_of(page)
    assert ("Mean probability" in page) == probability


@pytest.mark.parametrize(
    ("fit", "show"),
    [
        (ensemble(graph="independent"), X[TEST]),
        (ensemble(graph=[(0, 1), (1, 2), (0, 2)]), X[TEST]),
        (ensemble(aggregation="mve"), X[TEST].tolist()),
        (make_pipeline(StandardScaler(), ensemble()), pd.DataFrame(X[TEST])),
        (ensemble(), sparse.coo_array(X[TEST])),
        (MMCRFClassifier(kernel="forest", tol=0.3, random_state=0), X[TEST]),
    ],
    ids=["no edges", "a cycle", "lists", "pipeline", "sparse", "forest"],
)
def test_models_and_examples_of_any_kind_have_a_page(fit, show):
    model = fit.fit(X[TRAIN], Y[TRAIN])
    assert page_of(model, show, Y[TEST]).count("<article") == 3


def test_a_kernel_matrix_may_take_the_place_of_features():
    K = X @ X.T
    model = ensemble(kernel="precomputed").fit(K[TRAIN][:, TRAIN], Y[TRAIN])
    assert "30 examples" in page_of(model, K[TEST][:, TRAIN], Y[TEST])


def test_labels_may_be_sparse():
    model = ensemble().fit(X[TRAIN], sparse.csr_array(Y[TRAIN]))
    dense = ensemble().fit(X[TRAIN], Y[TRAIN])
    page = page_of(model, Y=sparse.csr_array(Y[TEST]))
    assert page == page_of(dense, Y=Y[TEST])


def test_nothing_in_names_becomes_markup_or_a_control_character():
    names = [HOSTILE, "a\x00b\x1b[31m\u202e", "", "x" * 5000, "plain"]
    labels = LABELS.set_axis(names, axis="columns")
    model = ensemble().fit(X[TRAIN], labels[TRAIN])
    page = page_of(model, Y=labels[TEST], title=HOSTILE)
    assert page.count("<script") == 2
    assert "<img" not in page
    assert not re.search("[\x00-\x08\x1b\u202e]", page)
    assert r"a\x00b\x1b[31m" in page
    assert "x" * 81 not in page


@pytest.mark.needs_compiled
def test_the_page_of_many_labels_and_examples_stays_small():
    rng = np.random.default_rng(0)
    wide = (rng.random((3000, 150)) < 0.05).astype(int)
    features = rng.normal(size=(3000, 4))
    model = ensemble(tol=0.9).fit(features[:40], wide[:40])
    page = make_model_page(model, features, wide)
    assert page.count("<article") == 50
    assert "50 of 3000 examples, drawn at random" in page
    assert len(page) < 1_500_000


def test_the_graph_is_embedded_as_json():
    [text] = re.findall(r'id="graph-data">(.*?)</script>', example_page())
    assert json.loads(text)["labels"] == NAMES


@pytest.mark.parametrize("wrong", [{"n_examples": 0}, {"k": 0}])
def test_numbers_must_be_at_least_one(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be a whole number"):
        make_model_page(trained(), X[TEST], **wrong)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("wrap", [lambda model: model, make_pipeline])
def test_a_model_that_tuned_itself_is_named_so(wrap):
    search = RandomGraphEnsembleClassifierCV(
        3, kernels="linear", Cs=[1.0], cv=2, random_state=0
    )
    page = page_of(wrap(search).fit(X[TRAIN], LABELS[TRAIN]))
    assert "<dt>Model</dt><dd>RandomGraphEnsembleClassifierCV</dd>" in page
    assert "<dt>Chosen</dt><dd>linear, C 1, loss " in page
    assert "<dt>Model</dt><dd>RandomGraphEnsembleClassifier</dd>" in example_page()


@pytest.mark.parametrize(
    ("params", "decision"),
    [
        ({}, "the label set of highest score"),
        (
            {"offset": 0.3},
            "the label set of highest score, with an offset of 0.3 for labels that are "
            "on",
        ),
        (
            {"offset": [0.3, 0.0, 0.0, 0.0, 0.1]},
            "the label set of highest score, with offsets for labels that are on",
        ),
        (
            {"aggregation": "amm"},
            "for each label the value of highest average max-marginal",
        ),
        (
            {"aggregation": "mve", "offset": 0.3},
            "for each label the value that most members predict, with an offset of 0.3 "
            "for labels that are on",
        ),
        (
            {"probability": True, "threshold": 0.35},
            "each label whose probability is above 0.35",
        ),
        (
            {"probability": True, "threshold": [0.5, 0.4, 0.3, 0.2, 0.1]},
            "each label whose probability is above its own threshold",
        ),
        (
            {"probability": ForestKernel(3), "threshold": 0.2},
            "each label whose probability, a mean with ForestKernel(n_estimators=3), "
            "is above 0.2",
        ),
    ],
)
def test_the_page_says_how_label_sets_are_decided_on(params, decision):
    page = page_of(ensemble(**params).fit(X[TRAIN], LABELS[TRAIN]))
    assert f"<dt>Decision</dt><dd>{decision}</dd>" in page


def test_the_name_of_a_kernel_is_not_cut_within_a_word():
    forests = [ForestKernel(3, max_features=3, min_samples_leaf=n) for n in (1, 2, 5)]
    page = page_of(ensemble(kernel=forests).fit(X[TRAIN], LABELS[TRAIN]))
    shown = re.search("<dt>Kernel</dt><dd>(.*?)</dd>", page)[1]
    assert shown == kernel_in_words(forests)
    model = ensemble(kernel=forests).fit(X[TRAIN], LABELS[TRAIN])
    model.kernel_ = forests * 7
    shown = re.search("<dt>Kernel</dt><dd>(.*?)</dd>", page_of(model))[1]
    *words, end = shown.split(" ")
    assert end == "..."
    assert kernel_in_words(model.kernel_).split(" ")[: len(words)] == words


def test_the_page_says_in_python_and_in_commands_how_to_get_probabilities():
    assert "probability=True" in example_page()
    assert "spanforest train --probability" in example_page()
