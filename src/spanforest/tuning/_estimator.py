"""The ensemble that chooses its parameters as it is fitted."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import _num_samples, check_is_fitted

from spanforest._classifier import forget, is_auto, whole_or_nothing
from spanforest._compilation import clock
from spanforest._estimator_docs import documented
from spanforest._joint import TRAININGS
from spanforest._label_predictions import needs_probability
from spanforest._member_choices import is_graph_list
from spanforest._parallel import Workers
from spanforest._parameters import (
    check_count,
    check_number,
    check_option,
    seed_sequence,
)
from spanforest._progress import say
from spanforest._training import Model, Settings
from spanforest._weights import WeightedLabels
from spanforest.ensemble import (
    RandomGraphEnsembleClassifier,
    warn_of_shortfall,
)
from spanforest.kernels import ForestKernel
from spanforest.kernels._sum import is_kernel_list
from spanforest.losses import LOSSES
from spanforest.tuning._candidates import (
    JOINT_GRAPHS,
    MOST_JOINT_EXAMPLES,
    MOST_JOINT_LABELS,
    Menu,
    as_list,
    read_costs,
    read_offsets,
    read_thresholds,
    with_fewer_trees,
)
from spanforest.tuning._contest import (
    Deadline,
    Rules,
    choice_in_words,
    compete,
)
from spanforest.tuning._cross_validation import (
    Grid,
    Members,
    Search,
    cv_results,
    draw_folds,
)
from spanforest.tuning._entrants import entrants_of
from spanforest.tuning._examples import Examples
from spanforest.tuning._fold_shares import FoldShares
from spanforest.tuning._kernel_choice import (
    read_kernels,
    read_menu,
    read_probabilities,
)
from spanforest.tuning._scoring import Judge

SEARCH_TOL = 0.05  # a smaller gap changes few predictions
SEARCH_PASSES = 50  # nor do more passes, where even these do not reach it


def _delegated(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that calls the same method of the final ensemble."""

    @wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        check_is_fitted(self, "best_estimator_")
        return getattr(self.best_estimator_, method.__name__)(*args, **options)

    return call


@documented
class RandomGraphEnsembleClassifierCV(ClassifierMixin, BaseEstimator):
    """Random graph ensemble that chooses its parameters by cross-validation.

    It chooses the kernel, its scale, C, the loss, an offset or a threshold, and how to
    train. Candidates are tried with a few trees on every fold. Then an ensemble of full
    size is trained on all examples with the best one. Predictions and fitted attributes
    are those of that ensemble, `best_estimator_`.

    By default it looks at the examples to decide which kernels to try. After the first
    fold the best kernel of each kind goes on: linear or cosine, Gaussian, forest,
    boosted trees. In the end it also tries averages of two or three of these, ensembles
    whose members take the kernels in turn. Kernels that are named are tried on all
    folds, and not averaged. With more than 3,000 examples (20,000 if all kernels are
    linear or cosine) the search sees a random subset of this size.

    Parameters
    ----------
    n_estimators
        This is the size of the final ensemble.
    aggregation
        The search combines them in the same way.
    training : {"auto", "separate", "joint"} or sequence of the last two
        ``"separate"``: one model per graph. ``"joint"``: one model on the union of all
        graphs, also in the search, whatever `n_estimators_search` is. With both, every
        kernel is tried in both ways; with many labels that takes far longer.
        ``"auto"``: separate; but with MAM, 3 to 40 labels, at most 3,000 examples and
        three folds or more, the best kernel is also trained jointly, on the first five
        graphs. That is chosen if it leads by more than twice the standard error of the
        difference between folds.
    graph : str, graph, list of graphs or callable
        It is drawn anew for every member. A list has one graph per member.
    kernels : str, ForestKernel, SumKernel, callable or sequence of these
        Kernels to choose from: ``"linear"``, ``"cosine"``, ``"poly"``, ``"rbf"``,
        ``"laplacian"``, ``"tanimoto"``, ``"forest"`` or a
        `spanforest.kernels.ForestKernel` (grown again on every fold, with at most 100
        trees unless in a list or sum), a function of two feature matrices, a
        `spanforest.kernels.SumKernel`; or ``"precomputed"``, which can only stand
        alone. A list inside the sequence is one choice, whose
        members take its kernels in turn. ``"auto"``: forests, and unless X has NaN
        "linear" and "rbf". If most entries of X are zero and it has more than 100
        features, "cosine" takes the place of these two, and there are no boosted trees.
        More than 10,000 examples have neither. Other forests differ in their
        smallest leaves (5, 2 and 1 examples) and in how many features a split chooses
        from; with so many zeros, only in leaves (5, 1).
    gammas : sequence of float
        Scales of "rbf", "laplacian" and "poly" to choose from, as multiples of a scale
        that is derived from the data: with 1, the median of the squared distances
        between examples becomes 1 (for "laplacian", the median sum of absolute
        differences 1/2; for "poly", the mean squared length 1). By default
        0.5, 1, 2. Kernels in lists and sums have their default gamma.
    Cs : sequence of float
        Values of C to choose from: the weight of the training errors. ``"auto"``: 0.3,
        1, 3 and 10; also 30 and 100 with a kernel that goes on after the first fold and
        was best with 10 there (on all folds, if kernels are named).
    losses : str or sequence of str
        Losses to choose from. ``"edge"`` counts edges whose label pair is wrong,
        ``"hamming"`` counts wrong labels.
    offsets : float or sequence of float or of lists
        Offsets to choose from, numbers that are added to the score of every label that
        is on; a list in the sequence has one per label. The three best combinations of
        C and loss of every kernel are tried with all of them. ``"auto"``: -0.15 to 0.9
        in steps of 0.15, or 0 alone if a label has more than two values.
    thresholds : float, "labels", or sequence of these and of lists
        Thresholds on probabilities to choose from; a list in the sequence has one per
        label. The best candidate of all is also tried with each of them in place of an
        offset: a label is then on if its probability is larger, each label by itself.
        If one is chosen, the final ensemble has it, and ``probability=True``. With
        ``kernels="auto"`` they are also tried on probabilities with a forest; if that
        is best, the `probability` of the final ensemble is this `ForestKernel`. With a
        `ForestKernel` as `probability` they are tried with that alone. ``"labels"``:
        every label has its own, learned from the held-out examples, that suits its F1
        (`spanforest.decisions.f1_thresholds`). ``"auto"``: 0.2 to 0.5 in steps of 0.05,
        and "labels" too unless `scoring` is one of our measures; or none if there is
        one label, a label has more than two values, or there are more than 3,000
        examples. None: no thresholds.
    tol
        The search stops at a gap of 0.05 if this asks for a smaller one.
    max_iter
        The search stops after 50 passes if this asks for more.
    cv : int, splitter or iterable of (train, test)
        Number of folds, which then agree in how many positive labels their examples
        have (`spanforest.model_selection.LabelCardinalityKFold`); or the folds. Of a
        splitter that needs groups pass the folds,
        ``list(GroupKFold(3).split(X, y, groups))``.
    scoring : str or callable
        What the best candidate is best in: "multilabel_accuracy",
        "microlabel_accuracy", "microlabel_f1" (of the higher of two values), the "mean"
        of them (without F1 if a label has more than two values); the name of a scorer
        of scikit-learn that needs predictions only, such as "f1_macro",
        "jaccard_samples" or "neg_hamming_loss"; such a scorer; or a function of true
        and predicted labels that is higher for better ones. Scorers see labels of two
        values as 0 and 1, and row numbers in place of features. Labels that are not
        observed do not count; scorers and functions see the predicted label in their
        place.
    n_estimators_search : int
        Number of members in the search: the first of the final ensemble, but for what
        graphs and weights learn from the fold alone. An average of kernels is scored
        with so many members of each.
    time_limit : float
        Seconds that `fit` should take, compiling aside. Another kernel, or another
        fold, is tried only if it is expected to end in time, with the final ensemble.
        One kernel is always tried, nothing is interrupted, and what would take too long
        to train is not chosen. The choice then depends on the speed of the machine.
        `chosen_` names what was left out.
    verbose
        It shows `chosen_` at the end.
    random_state
        It draws the folds too.
    probability
        The first ten members of the final ensemble are trained again on each of five
        folds.

    Attributes
    ----------
    C_, gamma_, kernel_, loss_, offset_, threshold_
        The choice; `gamma_` is None if the kernel has none, `threshold_` unless there
        is one in place of an offset.
    chosen_ : str
        The choice in one line: what was chosen, with which score, among how many.
    best_params_ : dict
        The same, as parameters of `RandomGraphEnsembleClassifier`. Those that were not
        chosen are as they are here; ``clone(best_estimator_)`` has all of them.
    best_score_ : float
        Mean score over the folds of the choice.
    best_index_ : int
        Its place in `cv_results_`; of equal candidates the first. There may be better
        ones: under a time limit some would have taken too long to train, and joint
        training must be clearly better.
    best_estimator_ : RandomGraphEnsembleClassifier
        The final ensemble, which all methods delegate to.
    cv_results_ : dict of arrays
        As in `sklearn.model_selection.GridSearchCV`; a data frame can be made of it.
        Training times are of one value of C after another, each beginning where the one
        before it ended. A kernel that did not go on has NaN for the folds that it was
        not tried on, and for the mean.
    estimators_, graphs_, consensus_graph_, cell_coef_, dual_coef_, \
    cell_intercept_, coef_, intercept_, duality_gap_, dual_objective_, n_iter_, \
    gap_history_, gap_seconds_, classes_, label_names_, has_node_factors_, \
    calibration_, X_fit_, n_features_in_, feature_names_in_
        Those of the final ensemble, described in `RandomGraphEnsembleClassifier`.

    See Also
    --------
    RandomGraphEnsembleClassifier : The same with parameters that are known.
    sklearn.model_selection.GridSearchCV : Tunes any parameter, at a higher price.

    Examples
    --------
    >>> from spanforest.datasets import make_circle
    >>> from spanforest.tuning import RandomGraphEnsembleClassifierCV
    >>> X, Y = make_circle(200, n_labels=6, random_state=0)
    >>> clf = RandomGraphEnsembleClassifierCV(10, losses="edge", random_state=0)
    >>> clf = clf.fit(X[:150], Y[:150])
    >>> clf.kernel_[0], clf.C_
    ('rbf', 3.0)
    >>> clf.predict(X[150:]).shape
    (50, 6)
    """

    def __init__(
        self,
        n_estimators=20,
        aggregation="mam",
        graph="informed_tree",
        kernels="auto",
        gammas=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        normalize_kernel=False,
        scaling="auto",
        Cs="auto",
        losses=("edge", "hamming"),
        offsets="auto",
        thresholds="auto",
        fit_intercept=True,
        tol=0.05,
        max_iter=1000,
        training="auto",
        missing_label=None,
        class_weight=None,
        cv=3,
        scoring="mean",
        n_estimators_search=3,
        time_limit=None,
        random_state=None,
        verbose=0,
        n_jobs=None,
        probability=False,
    ):
        self.n_estimators = n_estimators
        self.aggregation = aggregation
        self.graph = graph
        self.kernels = kernels
        self.gammas = gammas
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.normalize_kernel = normalize_kernel
        self.scaling = scaling
        self.Cs = Cs
        self.losses = losses
        self.offsets = offsets
        self.thresholds = thresholds
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.training = training
        self.missing_label = missing_label
        self.class_weight = class_weight
        self.cv = cv
        self.scoring = scoring
        self.n_estimators_search = n_estimators_search
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.probability = probability

    def __sklearn_tags__(self):
        several = isinstance(self.kernels, list | tuple)
        kernels = list(self.kernels) if several else [self.kernels]
        if is_auto(self.kernels):
            kernels = ["forest"]  # always among them
        tags = [
            RandomGraphEnsembleClassifier(kernel=kernel).__sklearn_tags__()
            for kernel in kernels or [None]
        ]
        tags[0].input_tags.allow_nan = all(one.input_tags.allow_nan for one in tags)
        return tags[0]

    def set_params(self, **params: Any) -> Self:
        """Set parameters; another `aggregation` works at once, without a threshold."""
        super().set_params(**params)
        if "aggregation" in params and "best_estimator_" in vars(self):
            final = self.best_estimator_
            final.set_params(aggregation=self.aggregation, threshold=None)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        # a copy of this object may have an ensemble that is not trained
        final = vars(self).get("best_estimator_")
        return final is not None and final.__sklearn_is_fitted__()

    def __getattr__(self, name: str) -> Any:
        for kind in type(self).__mro__:
            # a method that needs something, such as probability=True: it says what
            if name in vars(kind):
                return vars(kind)[name].__get__(self)
        # fitted attributes that are not of the search are those of the final ensemble
        if name.endswith("_") and "best_estimator_" in vars(self):
            return getattr(self.best_estimator_, name)
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the parameters, then learn all members with them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel matrix if ``kernels="precomputed"``.
        y : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels)
            Labels: an indicator matrix, or any values; or 1-D for a single label. NaN,
            None and masked entries are labels that were not observed.
        sample_weight : array-like of shape (n_samples,), optional
            How much each example counts, in training and in the scores that candidates
            are compared by. Weight 0 is the same as leaving it out. A function as
            `scoring` is given the weights if it takes them as ``sample_weight``.

        Returns
        -------
        self
            The fitted ensemble.
        """
        forget(self)
        deadline = self._read_deadline()
        with whole_or_nothing(self):
            models, settings = self._search(Examples(X, y, sample_weight), deadline)
        warn_of_shortfall(models, settings)
        return self

    def _search(
        self, everything: Examples, deadline: Deadline
    ) -> tuple[list[Model], Settings]:
        """Choose the parameters, and train the final ensemble."""
        trainings = self._read_trainings()
        template = RandomGraphEnsembleClassifier(**self._shared_params())
        template.set_params(training=trainings[0])
        menu = read_menu(self.kernels, template, everything)
        seen, note = everything.for_search(menu.kernels, self.cv, template)
        kernels, targets = read_kernels(menu, self.gammas, template, seen)
        n_labels = len(targets.coding.classes)
        members = [
            self._members(template, kernels, each, n_labels) for each in trainings
        ]
        search = self._prepare(template, everything, seen, targets, menu)
        entrants = entrants_of(kernels, members, search)
        # kernels that are named are tried on all folds
        rules = Rules.of(
            len(search.folds), is_open=menu.is_open, averages="separate" in trainings
        )

        def reader(kernel: dict[str, Any]) -> Any:
            ensemble = clone(template).set_params(**kernel)
            ensemble.set_params(kernel=with_fewer_trees(ensemble.kernel))
            return ensemble, ensemble._begin_fit(*seen, for_folds=True)

        joint = self._joint_trial(template, search)
        outcome = compete(search, entrants, rules, reader, deadline, joint)
        entrants += [*outcome.averages, *outcome.jointly]
        results = cv_results(
            [entrant.params for entrant in entrants],
            search.grid,
            [entrant.table for entrant in entrants],
            outcome.n_folds,
        )
        self._store_choice(results, outcome.leader.params)
        notes = [menu.note, note]
        self.chosen_ = choice_in_words(
            self.cv_results_, self.best_index_, outcome, notes, self.scoring
        )
        say(f"chosen: {self.chosen_}", verbose=bool(self.verbose))
        read = outcome.leader.read if seen is everything else None
        return self._fit_best(template, everything, read)

    def _fit_best(
        self, template: RandomGraphEnsembleClassifier, examples: Examples, read: Any
    ) -> tuple[list[Model], Settings]:
        """Train the final ensemble, on what the search has read if that will do."""
        ensemble, data = read or (None, None)
        # copies, so that changes to the ensemble do not change what was chosen
        chosen = {
            name: clone(one, safe=False) for name, one in self.best_params_.items()
        }
        grows = isinstance(chosen.get("probability", self.probability), ForestKernel)
        if ensemble is None or grows or ensemble._input.is_fitted_per_fold:
            ensemble = clone(template).set_params(**chosen)
            data = ensemble._begin_fit(*examples)
        plan = ensemble.set_params(**chosen)._plan()
        models = ensemble._learn(data, plan)
        self.best_estimator_ = ensemble  # now that nothing can fail any more
        return models, plan.settings

    predict = _delegated(RandomGraphEnsembleClassifier.predict)
    predict_certified = _delegated(RandomGraphEnsembleClassifier.predict_certified)
    predict_topk = _delegated(RandomGraphEnsembleClassifier.predict_topk)
    predict_ranking = _delegated(RandomGraphEnsembleClassifier.predict_ranking)
    staged_predict = _delegated(RandomGraphEnsembleClassifier.staged_predict)
    decision_function = _delegated(RandomGraphEnsembleClassifier.decision_function)
    score = _delegated(RandomGraphEnsembleClassifier.score)
    predict_proba = needs_probability(
        _delegated(RandomGraphEnsembleClassifier.predict_proba)
    )
    predict_log_proba = needs_probability(
        _delegated(RandomGraphEnsembleClassifier.predict_log_proba)
    )
    predict_for = needs_probability(
        _delegated(RandomGraphEnsembleClassifier.predict_for)
    )

    def _read_grid(self, judge: Judge, n_samples: int, menu: Menu) -> Grid:
        """Check what there is to choose from."""
        n_values = judge.coding.n_values
        losses = [
            check_option("each of losses", loss, tuple(LOSSES))
            for loss in as_list("losses", self.losses)
        ]
        return Grid(
            losses,
            *read_costs(self.Cs),
            read_offsets(self.offsets, n_values),
            read_thresholds(
                *(self.thresholds, n_values, n_samples), by_label=not judge.is_ours
            ),
            read_probabilities(self.probability, menu),
        )

    def _read_deadline(self) -> Deadline:
        limit = self.time_limit
        if limit is not None:
            limit = check_number("time_limit", limit)
        return Deadline(clock(), limit)

    def _shared_params(self) -> dict[str, Any]:
        """Return the parameters of an ensemble but for those that are chosen."""
        known = RandomGraphEnsembleClassifier().get_params()
        params = self.get_params(deep=False)
        shared = {name: params[name] for name in params.keys() & known.keys()}
        if not isinstance(self.random_state, Integral):
            # one number, so that the final ensemble has the graphs of the search
            state = seed_sequence(self.random_state).generate_state(1)
            shared["random_state"] = int(state[0])
        return shared

    def _read_trainings(self) -> list[str]:
        """Return the ways of training that kernels take part with, each once."""
        if isinstance(self.training, str):
            check_option("training", self.training, ("auto", *TRAININGS))
            return ["separate" if self.training == "auto" else self.training]
        trainings = as_list("training", self.training)
        checked = [
            check_option("each of training", one, TRAININGS) for one in trainings
        ]
        return list(dict.fromkeys(checked))

    def _members(
        self,
        template: RandomGraphEnsembleClassifier,
        kernels: list[dict[str, Any]],
        training: str,
        n_labels: int,
    ) -> Members:
        """Return the members of the search, the first ones of the final ensemble.

        Kernels that cannot be trained in this way are refused before any is tried.
        """
        own = clone(template).set_params(training=training)
        lists = [one["kernel"] for one in kernels if is_kernel_list(one["kernel"])]
        for kernel in lists:
            own.set_params(kernel=kernel)._plan()
        draws = own._plan().draws
        # every kernel of a list has a member, and all candidates have as many members
        n = check_count("n_estimators_search", self.n_estimators_search)
        draws, n_final = draws[: max([n, *map(len, lists)])], len(draws)
        # edges per label: at most one per graph, and n_labels / 2 on the complete graph
        density = min(template.n_estimators, n_labels / 2)
        slowness = max(1.0, density**2) if training == "joint" else 1.0
        return Members(training, draws, n_final, slowness)

    def _joint_trial(
        self, template: RandomGraphEnsembleClassifier, search: Search
    ) -> Members | None:
        """Return members to train jointly with the best kernel; None if they are not.

        With two labels, one graph, or members that vote, joint training is no choice.
        """
        n_labels = len(search.judge.coding.classes)
        is_small = 2 < n_labels <= MOST_JOINT_LABELS
        is_small &= search.n_samples <= MOST_JOINT_EXAMPLES
        n_graphs = min(JOINT_GRAPHS, template.n_estimators)
        is_choice = is_auto(self.training) and n_graphs > 1
        if not (is_small and is_choice and self.aggregation == "mam"):
            return None
        params: dict[str, Any] = {"training": "joint", "n_estimators": n_graphs}
        if is_graph_list(template.graph):
            params["graph"] = list(template.graph[:n_graphs])
        few = clone(template).set_params(**params)
        return self._members(few, [], "joint", n_labels)._replace(params=params)

    def _prepare(
        self,
        template: RandomGraphEnsembleClassifier,
        everything: Examples,
        seen: Examples,
        targets: WeightedLabels,
        menu: Menu,
    ) -> Search:
        """Fix what is tried with every kernel, and draw the folds."""
        folds = draw_folds(self.cv, seen.X, targets, template.random_state)
        for number, (train, test) in enumerate(folds):
            if not len(train):
                raise ValueError(
                    f"fold {number} has no training examples of positive weight. Pass "
                    "other folds as cv."
                )
            if not (targets.Y[test] >= 0).any():
                raise ValueError(
                    f"no label is observed in the test examples of fold {number}, so "
                    "that candidates cannot be compared. Pass a smaller cv, or leave "
                    "out examples without any label."
                )
        n_samples, settings = len(targets.Y), template._settings()
        if seen is not everything:
            n_samples = _num_samples(everything.X)
        settings = settings._replace(
            tol=max(settings.tol, SEARCH_TOL),
            max_iter=min(settings.max_iter, SEARCH_PASSES),
        )
        judge = Judge.of(self.scoring, targets)
        grid, shares = self._read_grid(judge, n_samples, menu), None
        forest = grid.probabilities[-1]
        if grid.thresholds and forest is not True:
            forest = with_fewer_trees(forest)
            shares = FoldShares(forest, seen.X, targets, template)
        return Search(
            grid,
            settings,
            folds,
            judge,
            self.aggregation,
            Workers(self.n_jobs, bool(self.verbose)),
            n_samples,
            bool(self.probability),
            shares,
        )

    def _store_choice(self, results: dict[str, Any], leader: dict[str, Any]) -> None:
        self.cv_results_ = results
        is_of_leader = [
            all(params.get(name) is value for name, value in leader.items())
            and ("training" in params) == ("training" in leader)
            for params in results["params"]
        ]
        ranks = np.where(is_of_leader, results["rank_test_score"], np.inf)
        self.best_index_ = int(np.argmin(ranks))
        self.best_score_ = float(results["mean_test_score"][self.best_index_])
        self.best_params_ = results["params"][self.best_index_]
        self.kernel_ = self.best_params_["kernel"]
        self.gamma_ = self.best_params_.get("gamma")
        self.C_ = self.best_params_["C"]
        self.loss_ = self.best_params_["loss"]
        self.offset_ = self.best_params_.get("offset", 0.0)
        self.threshold_ = self.best_params_.get("threshold")
