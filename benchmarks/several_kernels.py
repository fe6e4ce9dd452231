"""One kernel or several: chosen, averaged over members, added up, picked greedily.

    python benchmarks/several_kernels.py [data set ...]

Three folds of at most 750 examples. C, and which kernels to use, are chosen on inner
folds of each training set, by the mean of the three measures. Features are raw, and the
classifier scales them.
"""

import sys
import time
import warnings

import common
import numpy as np
from scipy.stats import rankdata
from sklearn.exceptions import ConvergenceWarning
from which_kernel import MEASURE_NAMES, load

from spanforest import RandomGraphEnsembleClassifier
from spanforest.aggregation import combine
from spanforest.kernels import ForestKernel, SumKernel
from spanforest.metrics import MEASURES
from spanforest.model_selection import LabelCardinalityKFold

NAMES = (
    *("emotions", "scene", "medical", "yeast", "enron"),
    *("foodtruck", "water_quality"),
)
MOST_EXAMPLES = 750
CS = (0.5, 2.0)
N_MEMBERS, N_INNER_MEMBERS = 12, 4
LONGEST_GREEDY = 4  # kernels
SINGLES = {
    "linear": "linear",
    "rbf": "rbf",
    "forest, leaf 1": ForestKernel(100, min_samples_leaf=1),
    "forest, leaf 5": ForestKernel(100, min_samples_leaf=5),
}
TWO = ("rbf", "forest, leaf 5")


def ensemble(kernel, C, n_members):
    """Return an ensemble that is not fitted."""
    return RandomGraphEnsembleClassifier(
        n_members, graph="informed_tree", kernel=kernel, C=C, random_state=0
    )


def measures(truth, predicted):
    """Return the three measures in percent."""
    return [100 * MEASURES[n].function(truth, predicted) for n in MEASURE_NAMES]


class Inner:
    """Scores of held-out examples of a training set, from which candidates are judged.

    An ensemble of several kernels needs no training here: its members are members of
    the ensembles of its kernels.
    """

    def __init__(self, X, Y):
        self.X, self.Y = X, Y
        self.folds = list(LabelCardinalityKFold(3, random_state=1).split(X, Y))
        self._held = {}

    def _members(self, kernel, C, number):
        """Return the coding of labels, and factors and scores of every member."""
        key = (repr(kernel), C, number)
        if key not in self._held:
            train, test = self.folds[number]
            clf = ensemble(kernel, C, N_INNER_MEMBERS).fit(self.X[train], self.Y[train])
            rows = clf._input.rows(clf._read_new_examples(self.X[test]))
            members = zip(clf._member_factors, clf._member_scores(rows), strict=True)
            self._held[key] = clf._coding, list(members)
        return self._held[key]

    def score(self, kernel, C):
        """Return the mean of the three measures over the inner folds."""
        kernels = kernel if isinstance(kernel, list) else [kernel]
        values = []
        for number, (_, test) in enumerate(self.folds):
            members = []
            for t in range(N_INNER_MEMBERS):
                coding, own = self._members(kernels[t % len(kernels)], C, number)
                members.append(own[t])
            codes = combine("mam", *map(list, zip(*members, strict=True)))
            values.append(np.mean(measures(self.Y[test], coding.to_labels(codes))))
        return float(np.mean(values))

    def best(self, candidates):
        """Return the best pair of a kernel and a C, and its score."""
        pairs = [(kernel, C) for kernel in candidates for C in CS]
        scores = [self.score(kernel, C) for kernel, C in pairs]
        best = int(np.argmax(scores))
        return *pairs[best], scores[best]

    def greedy(self):
        """Return the list that adding the best kernel again and again leads to.

        A kernel may be added twice. It ends when no kernel makes the list better.
        """
        results = []
        for C in CS:
            chosen, best = [], -np.inf
            while len(chosen) < LONGEST_GREEDY:
                longer = [[*chosen, kernel] for kernel in SINGLES.values()]
                scores = [self.score(kernels, C) for kernels in longer]
                if max(scores) <= best:
                    break
                best, chosen = max(scores), longer[int(np.argmax(scores))]
            results.append((chosen, C, best))
        return max(results, key=lambda one: one[2])


def strategies(inner):
    """Return the kernel and C that every strategy chooses on the inner folds."""
    everything, two = list(SINGLES.values()), [SINGLES[name] for name in TWO]
    several = {
        "rbf and forest, averaged": two,
        "all averaged": everything,
        "rbf and forest, added": SumKernel(two),
        "all added": SumKernel(everything),
    }
    chosen = {
        name: inner.best([kernel]) for name, kernel in {**SINGLES, **several}.items()
    }
    by_score = dict(sorted(chosen.items(), key=lambda item: -item[1][2]))
    chosen["one kernel chosen"] = next(
        one for name, one in by_score.items() if name in SINGLES
    )
    chosen["greedy selection"] = inner.greedy()
    chosen["any of these chosen"] = next(iter(by_score.values()))
    return {name: (kernel, C) for name, (kernel, C, _) in chosen.items()}


def fold_results(X, Y, train, test):
    """Return the three measures of every strategy on one fold."""
    done, results = {}, {}
    for name, (kernel, C) in strategies(Inner(X[train], Y[train])).items():
        key = (repr(kernel), C)
        if key not in done:
            clf = ensemble(kernel, C, N_MEMBERS).fit(X[train], Y[train])
            done[key] = measures(Y[test], clf.predict(X[test]))
        results[name] = done[key]
    return results


def dataset_results(name):
    """Return the mean measures of every strategy on a data set."""
    data = load(name)
    rows = np.random.default_rng(0).permutation(data.X.shape[0])[:MOST_EXAMPLES]
    X, Y = data.X[rows], data.Y[rows]
    folds = [
        fold_results(X, Y, *fold)
        for fold in LabelCardinalityKFold(3, random_state=0).split(X, Y)
    ]
    return {
        title: np.mean([fold[title] for fold in folds], axis=0) for title in folds[0]
    }


def main():
    warnings.simplefilter("ignore", ConvergenceWarning)
    names = sys.argv[1:] or NAMES
    results = []
    for name in names:
        start = time.process_time()
        results.append(dataset_results(name))
        seconds = time.process_time() - start
        print(f"{name}: {seconds:.0f} s", file=sys.stderr, flush=True)
    titles = list(results[0])
    values = np.array([[one[title] for title in titles] for one in results])
    ranks = rankdata(-values, axis=1).mean(axis=0)  # (strategy, measure)
    values = values.round(1)  # so that the last column follows from the others
    shortfall = (values.max(axis=1, keepdims=True) - values).max(axis=0)
    columns = np.stack([*values, ranks, shortfall])
    rows = [
        [title, *(" / ".join(f"{v:.1f}" for v in column[s]) for column in columns)]
        for s, title in enumerate(titles)
    ]
    heads = ["kernels", *names, "average rank", "largest shortfall"]
    common.print_table(heads, rows)


if __name__ == "__main__":
    main()
