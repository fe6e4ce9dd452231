"""Ensembles of MMCRF classifiers on random output graphs: MVE, AMM and MAM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spanforest._blas import single_blas_thread
from spanforest._calibration_folds import RefittedMembers, calibrate
from spanforest._classifier import (
    DATA_ATTRIBUTES,
    GraphClassifier,
    find_decoder,
    whole_or_nothing,
)
from spanforest._estimator_docs import documented
from spanforest._input_kinds import several_inputs
from spanforest._inputs import Input, Resources
from spanforest._joint import TRAININGS, UnitedDraw, check_aggregation, check_joint
from spanforest._member_choices import check_member_kernels, member_graphs
from spanforest._offsets import read_offset
from spanforest._parallel import Workers
from spanforest._parameters import check_count, check_option, seed_sequence
from spanforest._progress import say_constants, watch_gap
from spanforest._several_inputs import of_member
from spanforest._training import (
    Draw,
    Model,
    Settings,
    TrainingSet,
    train_first,
    train_member,
    warn_not_converged,
)
from spanforest._warm_start import fingerprint, members_to_keep
from spanforest.aggregation import (
    AGGREGATIONS,
    Ballot,
    average_margins,
    count_ballots,
    margins_for,
)
from spanforest.branch_and_bound import decode_exactly
from spanforest.decisions import check_threshold
from spanforest.factors import (
    FactorGraph,
    average_scores,
    consensus_factors,
    running_sums,
)
from spanforest.kernels._registry import kernel_specs
from spanforest.kernels._sum import is_kernel_list
from spanforest.mmcrf import MMCRFClassifier

__all__ = ["RandomGraphEnsembleClassifier"]


@documented
class RandomGraphEnsembleClassifier(GraphClassifier):
    """Ensemble of MMCRF classifiers, each on a random output graph.

    Every member is an `MMCRFClassifier` on a graph of its own. They are combined by

    * majority vote (``"mve"``): per label the value most members predict, ties broken
      by the average max-marginal;
    * average of max-marginals (``"amm"``): per label the value whose best label set
      scores highest on average, ties broken by the votes (where a member's graph has
      cycles, the other labels stay as that member predicts them);
    * maximum of average marginals (``"mam"``): the label set of highest score on the
      union of all graphs, edge scores averaged over the members.

    All three come from the same members; none needs a refit. On a graph with cycles a
    member's vote is that of message passing, without the search of its `predict`.

    Parameters
    ----------
    graph : str, graph, list of graphs or callable
        It is drawn anew for every member. A list has one graph per member. A fixed
        graph, and "chow_liu", make all members nearly the same.
    kernel : str, ForestKernel, SumKernel, callable or list of these
        The kernel matrix is computed once for all members, and so is the forest of a
        forest kernel. A list has several kernels, such as ``["rbf", "forest"]``, which
        the members take in turn: member t has kernel ``kernel[t % len(kernel)]``.
        "auto" and "precomputed" can only stand alone.
    tol
        A smaller gap of the members changes few predictions.
    probability
        The first ten members are trained again on each of five folds.
    warm_start : bool
        Keep the members of the last fit, which must have had ``warm_start=True`` too,
        and train only those that `n_estimators` asks for in addition. The result is
        that of a fit with more members. `X`, `y` and all parameters of the members must
        be the same.
    threshold : float or list of float
        With ``probability=True``, `predict` and `score` turn on every label whose
        probability is larger than this number, or than its own, each label by itself.
        Labels must have two values. None: the label set of highest score.

    Attributes
    ----------
    estimators_ : list of MMCRFClassifier
        The members; with ``training="joint"`` the one model on the union.
    graphs_ : list of LabelGraph
        The graphs that were drawn, one per member.
    consensus_graph_ : LabelGraph
        The union of the graphs.
    cell_coef_
        The cells are those of the consensus graph. The weights are averages over the
        members.
    dual_coef_
        The average over the members, on the consensus graph.
    cell_intercept_
        The average over the members, on the consensus graph.
    coef_
    intercept_
    offset_
    dual_objective_ : ndarray of shape (n_estimators,)
        Dual objective of every member at its solution; with ``training="joint"`` there
        is one, here and below.
    duality_gap_ : ndarray of shape (n_estimators,)
        Primal minus dual objective of every member, computed exactly at the end (on a
        graph with cycles, an upper bound on it).
    gap_history_ : list of ndarray
        The gap of every member after each pass: an estimate where it was far from
        `tol`; the last entry is that of `duality_gap_`.
    gap_seconds_ : list of ndarray
        Seconds since training of the member began, at the same moments.
    n_iter_ : ndarray of shape (n_estimators,)
        Number of passes that every member made.
    calibration_ : Calibration
        What turns the average margins of all members into probabilities, with
        ``probability=True``.
    classes_
    label_names_
    has_node_factors_
    kernel_
        With a list of kernels, a list. Weights then stand on the members: `estimators_`
        have `cell_coef_` or `dual_coef_`, and the ensemble has neither.
    X_fit_
    gamma_
        With a list of kernels, a list with an entry per kernel.
    n_features_in_
    feature_names_in_

    See Also
    --------
    MMCRFClassifier : A single member.

    References
    ----------
    Su & Rousu, "Multilabel Classification through Random Graph Ensembles", ACML 2013.

    Examples
    --------
    >>> from spanforest import RandomGraphEnsembleClassifier
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> Y = [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]]  # the third is their OR
    >>> clf = RandomGraphEnsembleClassifier(n_estimators=5, C=10, random_state=0)
    >>> clf.fit(X, Y).predict([[0, 1], [1, 1]])
    array([[0, 1, 1],
           [1, 1, 1]])
    >>> clf.predict([[0, 1]], aggregation="mve")
    array([[0, 1, 1]])
    """

    def __init__(
        self,
        n_estimators=20,
        aggregation="mam",
        graph="random_tree",
        kernel="auto",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        normalize_kernel=False,
        scaling="auto",
        C=1.0,
        loss="edge",
        fit_intercept=True,
        tol=0.05,
        max_iter=100,
        offset=0.0,
        training="separate",
        missing_label=None,
        class_weight=None,
        random_state=None,
        verbose=0,
        n_jobs=None,
        probability=False,
        warm_start=False,
        threshold=None,
    ):
        self.n_estimators = n_estimators
        self.aggregation = aggregation
        self.graph = graph
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.normalize_kernel = normalize_kernel
        self.scaling = scaling
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.offset = offset
        self.training = training
        self.missing_label = missing_label
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.probability = probability
        self.warm_start = warm_start
        self.threshold = threshold

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn all members.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel matrix if ``kernel="precomputed"``.
        y : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels)
            Labels: an indicator matrix, or any values; or 1-D for a single label. NaN,
            None and masked entries are labels that were not observed.
        sample_weight : array-like of shape (n_samples,), optional
            How much each example counts: its C is multiplied by its weight. Weight 2 is
            the same as the example twice (but for the folds of probabilities, which
            copies may differ in), weight 0 as leaving it out.

        Returns
        -------
        self
            The fitted ensemble.
        """
        plan, digest = self._plan(), None
        if self.warm_start:
            params = self.get_params(deep=False) | {"random_state": self._random_state}
            digest = fingerprint(params, X, y, sample_weight)
        kept = members_to_keep(self, digest)
        with whole_or_nothing(self):
            models = self._learn(self._begin_fit(X, y, sample_weight), plan, kept)
        self._fit_digest = digest
        warn_of_shortfall(models, plan.settings)
        return self

    @property
    def _random_state(self) -> Any:
        """What the randomness of a fit comes from: a number that a warm start keeps."""
        if not self.warm_start or isinstance(self.random_state, Integral):
            return self.random_state
        if "_drawn_seed" not in vars(self):
            state = seed_sequence(self.random_state).generate_state(1)
            self._drawn_seed = int(state[0])
        return self._drawn_seed

    def _plan(self) -> Plan:
        """Check the parameters, and seed the members."""
        n_estimators = check_count("n_estimators", self.n_estimators)
        check_option("aggregation", self.aggregation, AGGREGATIONS)
        check_option("training", self.training, TRAININGS)
        graphs = member_graphs(self.graph, n_estimators)
        check_member_kernels(self.kernel, n_estimators)
        root = seed_sequence(self._random_state)
        seeds = root.spawn(n_estimators)
        (calibration_seed,) = root.spawn(1)
        draws: list[Any] = list(map(Draw, graphs, seeds))
        if self.training == "joint":
            check_joint(self)
            draws = [UnitedDraw(draws)]
        return Plan(self._settings(), draws, calibration_seed)

    def _new_input(self, resources: Resources) -> Input:
        """Return the input of the kernel, or of all kernels, not yet fitted."""
        if not is_kernel_list(self.kernel):
            return super()._new_input(resources)
        params = self.gamma, self.degree, self.coef0, self.kernel_params
        specs = kernel_specs(self.kernel, *params)
        return several_inputs(specs, self.normalize_kernel, resources)

    def _learn(
        self, data: TrainingSet, plan: Plan, kept: Sequence[MMCRFClassifier] = ()
    ) -> list[Model]:
        """Train the members after the `kept` ones, store all, calibrate if asked."""
        say_constants(self._coding.constants, verbose=bool(self.verbose))
        self._warn_of_identifiers(data, stacklevel=3)
        prepared = data.prepared(plan.settings.tol)
        models = self._train(prepared, plan, len(kept))
        self._store([*kept, *self._new_members(models, len(kept))])
        if self.training == "joint":
            self.graphs_ = plan.draws[0].graphs(data)
        if self.probability:
            # predict_proba keeps to it if another aggregation is set later
            self._calibrated_aggregation = self.aggregation
            margins = margins_for(self.aggregation)
            how, seed = plan.settings._replace(offset=0.0), plan.calibration_seed
            members = RefittedMembers(self._member_factors, how, margins)
            # not `prepared`: every fold slices a matrix of its own
            self.calibration_ = calibrate(data, members, seed, self._workers)
        return models

    @property
    def _workers(self) -> Workers:
        return Workers(self.n_jobs, bool(self.verbose))

    def _train(self, data: TrainingSet, plan: Plan, n_kept: int) -> list[Model]:
        """Train the members after the first `n_kept`.

        They start at the dual variables of the first member, trained with their own
        kernel: of several kernels only the first makes a member of it. A first member
        that was kept does not have these variables any more, so it is trained again.
        """
        n_members, settings = len(plan.draws), plan.settings
        if n_kept == n_members:
            return []
        n_kernels = self._input.n_kernels
        # one model for all graphs has passes to show, but no other members
        is_loud = bool(self.verbose) and self.training == "joint"
        with single_blas_thread():  # once, instead of once for each member
            with watch_gap(settings.tol, verbose=is_loud) as watch:
                firsts = [
                    train_first(data.of_member(number), plan.draws[0], settings, watch)
                    for number in range(n_kernels)
                ]
            started = [data._replace(start=start) for _, start in firsts]
            calls = [
                (started[t % n_kernels].of_member(t), plan.draws[t], settings)
                for t in range(max(n_kept, 1), n_members)
            ]
            others = self._workers.run(train_member, calls, "other members")
        return others if n_kept else [firsts[0][0], *others]

    def _store(self, members: list[MMCRFClassifier]) -> None:
        """Keep the members, and average their weights on the union of their graphs."""
        for t, member in enumerate(members):
            for name in DATA_ATTRIBUTES:
                if hasattr(self, name):
                    setattr(member, name, getattr(self, name))
            member._use_input(self._input.of_member(t))
        self.estimators_ = members
        self.graphs_ = [member.graph_ for member in members]
        self.duality_gap_ = np.array([member.duality_gap_ for member in members])
        self.dual_objective_ = np.array([one.dual_objective_ for one in members])
        self.gap_history_ = [member.gap_history_ for member in members]
        self.gap_seconds_ = [member.gap_seconds_ for member in members]
        self.n_iter_ = np.array([member.n_iter_ for member in members])
        self.offset_ = read_offset(self.offset)
        self._factors = self._build_factors()
        self.consensus_graph_ = self._factors.graph
        self._weights = self._averaged_weights()
        factors = self._member_factors
        intercepts = [member.cell_intercept_[None] for member in members]
        self.cell_intercept_ = average_scores(self._factors, factors, intercepts)[0]

    def _averaged_weights(self) -> NDArray[np.float64]:
        """Return the members' average weights, the kernels' blocks one below the other.

        A member counts as zero in the blocks of kernels that are not its own.
        """
        members, n_kernels = self._member_factors, self._input.n_kernels
        weights = [member._weights for member in self.estimators_]
        blocks = []
        for number in range(n_kernels):
            alike = slice(number, None, n_kernels)  # the members with this kernel
            block = average_scores(self._factors, members[alike], weights[alike])
            block *= len(members[alike]) / len(members)
            blocks.append(block)
        return blocks[0] if n_kernels == 1 else np.concatenate(blocks)

    def _new_members(self, models: list[Model], first: int) -> list[MMCRFClassifier]:
        """Return models as estimators that share this one's training examples.

        Their numbers begin with `first`.
        """
        names = MMCRFClassifier._get_param_names()
        params = {name: getattr(self, name) for name in names}
        params["probability"] = False  # a member has no calibration of its own
        members = []
        for t, model in enumerate(models, start=first):
            params["graph"], own = model.factors.graph, self._input.of_member(t)
            if is_kernel_list(self.kernel):
                params["kernel"] = self.kernel[t % len(self.kernel)]
                # they are meant for callables
                params["kernel_params"] = own.spec.kernel_params or None
            member = MMCRFClassifier(**params)
            member._input = own
            member._store(model)
            members.append(member)
        return members

    def _build_factors(self) -> FactorGraph:
        return consensus_factors(self._member_factors)

    @property
    def _member_factors(self) -> list[FactorGraph]:
        return [member._factors for member in self.estimators_]

    def _member_scores(self, rows: Any) -> Iterator[NDArray[np.float64]]:
        """Yield the scores of each member, given the rows of the ensemble."""
        for t, member in enumerate(self.estimators_):
            yield member._scores(of_member(rows, t))

    def _calibrated_margins(self, rows: Any) -> list[NDArray[np.float64]]:
        if self._calibrated_aggregation == "mam":
            return super()._calibrated_margins(rows)
        members = zip(self.estimators_, self._member_scores(rows), strict=True)
        scores = (own - member._offset_cells for member, own in members)
        return average_margins(self._member_factors, scores)

    @property
    def _offset_cells(self) -> NDArray[np.float64]:
        cells = [member._offset_cells[None] for member in self.estimators_]
        return average_scores(self._factors, self._member_factors, cells)[0]

    def _check_decisions(self) -> None:
        super()._check_decisions()
        if self.threshold is None:
            return
        if not self.probability:
            raise ValueError(
                "a threshold is for probabilities, and there are none with "
                "probability=False. Set probability=True, or threshold=None."
            )
        check_threshold(self.threshold, self._coding.n_values)

    def predict(
        self, X: Any, aggregation: str | None = None, inference: str = "certified"
    ) -> NDArray[Any]:
        """Predict label sets.

        With a `threshold`, and unless an aggregation is asked for, it predicts every
        label whose probability is larger. `inference` does not matter then.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel values with the training examples.
        aggregation : {"mve", "amm", "mam"}, optional
            How members are combined; the constructor's choice by default.
        inference : {"certified", "max_product"}, default="certified"
            Decoding of MAM: message passing, and search where that gives no proof; or
            the paper's loopy max-product stopped at the graph's diameter.

        Returns
        -------
        ndarray of shape (n_samples, n_labels), or (n_samples,)
            Labels, of the form and type of `y`; a CSR array if `y` was sparse.
        """
        check_is_fitted(self)
        decoder = find_decoder(inference)
        if self.threshold is not None and aggregation is None:
            self._check_decisions()  # parameters may have been set after `fit`
            return self.predict_for(X, threshold=self.threshold)
        aggregation = self._find_aggregation(aggregation)
        if aggregation == "mam":
            return self._predict_by(X, decoder)
        return self._labels_by(X, lambda rows: self._ballot(rows).choose(aggregation))

    def staged_predict(
        self, X: Any, aggregation: str | None = None
    ) -> Iterator[NDArray[Any]]:
        """Yield the predictions of the first 1, 2, ..., n_estimators members.

        With ``training="joint"`` there is one stage: the model on the union.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel values with the training examples.
        aggregation : {"mve", "amm", "mam"}, optional
            How members are combined; the constructor's choice by default.

        Yields
        ------
        ndarray of shape (n_samples, n_labels), or (n_samples,)
            What an ensemble of that size would predict without a `threshold`.
        """
        check_is_fitted(self)
        aggregation = self._find_aggregation(aggregation)
        rows = self._input.rows(self._read_new_examples(X))
        if aggregation == "mam":
            codes = self._staged_mam(rows)
        else:
            codes = (ballot.choose(aggregation) for ballot in self._ballots(rows))
        return map(self._coding.to_output, codes)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return how strongly each label is predicted to be on.

        With MVE the difference in vote shares, with AMM the difference in average
        max-marginals, with MAM the difference in average score of having the label on
        and off, all other labels as predicted (if the consensus graph has no cycle,
        they may follow). A label that had one value in training gets 1 or -1. With a
        `threshold`, how far the log odds of the label are above those of the threshold.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel values with the training examples.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            For 1-D `y`: (n_samples,) with two classes, else (n_samples, n_classes).
        """
        check_is_fitted(self)
        if self.threshold is not None:
            return self._log_odds_above(X, self.threshold)
        chosen = self._find_aggregation(None)
        if chosen != "mam":
            return self._decisions(X, lambda rows: self._ballot(rows).strengths(chosen))
        return self._decisions(X, self._margins)

    def _find_aggregation(self, aggregation: str | None) -> str:
        chosen = self.aggregation if aggregation is None else aggregation
        check_option("aggregation", chosen, AGGREGATIONS)
        if self.training == "joint" or len(self.estimators_) < len(self.graphs_):
            check_aggregation(chosen)
        return chosen

    def _ballots(self, rows: Any) -> Iterator[Ballot]:
        """Yield the votes and margins of the first 1, 2, ... members."""
        return count_ballots(self._member_factors, self._member_scores(rows))

    def _ballot(self, rows: Any) -> Ballot:
        *_, ballot = self._ballots(rows)
        return ballot

    def _staged_mam(self, rows: Any) -> Iterator[NDArray[np.intp]]:
        """Yield the codes MAM predicts with the first 1, 2, ... members."""
        members, union = self._member_factors, self._factors
        scores = self._member_scores(rows)
        for t, total in enumerate(running_sums(union, members, scores), start=1):
            so_far = consensus_factors(members[:t])
            means = total[:, union.places_of(so_far)] / t
            yield decode_exactly(so_far, means).labels


class Plan(NamedTuple):
    """How the members learn, and where the randomness of each comes from."""

    settings: Settings
    draws: list[Any]  # one per model: a `Draw`, or a `UnitedDraw`
    calibration_seed: np.random.SeedSequence


def warn_of_shortfall(models: list[Model], settings: Settings) -> None:
    """Warn the caller of `fit` if members stopped short of their tolerance."""
    n_short = sum(not model.solution.converged for model in models)
    if n_short:
        largest = max(model.solution.relative_gap for model in models)
        warn_not_converged(
            f"{n_short} of {len(models)} members stopped after {settings.max_iter} "
            f"passes with a duality gap of up to {largest:.2g} times the dual "
            f"objective; tol is {settings.tol:g}",
            stacklevel=4,
        )
