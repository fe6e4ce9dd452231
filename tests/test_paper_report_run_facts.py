"""Facts about a run."""

from report_rows import DATASETS, METHODS, N_FOLDS, example_rows

from spanforest.aggregation import AGGREGATIONS
from spanforest.paper.report._run_facts import measured_seconds
from spanforest.paper.report._shown_runs import find_runs


def test_the_fit_that_ensembles_share_is_counted_once():
    [run] = find_runs(example_rows())
    n_places = len(DATASETS) * N_FOLDS
    n_failed = N_FOLDS  # of MTL on one data set; a failure has no seconds
    n_fits = n_places * (1 + len(METHODS) - len(AGGREGATIONS)) - n_failed
    seconds = measured_seconds(run)
    assert seconds.choose == 4.0
    assert seconds.fit == 2.0 * n_fits
    assert seconds.predict == 0.25 * (n_places * len(METHODS) - n_failed)
