"""Decoders and training with infinities, denormals, ties, huge and tiny numbers."""

import random
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from itertools import product
from typing import Any

import hypothesis
import numpy as np
from harness import Finding, Target
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from strategies import any_kind, factor_graphs, seeds

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
from spanforest.branch_and_bound import decode_exactly, k_best
from spanforest.factors import FactorGraph
from spanforest.inference import (
    decode,
    exhaustive_search,
    max_marginals,
    max_product,
    max_sum,
    tree_reweighted,
)
from spanforest.kernels import ForestKernel, SumKernel

EXAMPLES = 20  # inputs of one call of `try_law`
SLACK = 2e-10  # of the sizes that are added up: how much rounding may hide
NUMBERS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Any]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "ties": lambda rng, shape: rng.integers(-1, 2, size=shape).astype(float),
    "zeros": lambda rng, shape: np.zeros(shape),
    "huge": lambda rng, shape: rng.normal(size=shape) * 1e307,
    "large": lambda rng, shape: rng.normal(size=shape) * 1e150,
    "tiny": lambda rng, shape: rng.normal(size=shape) * 1e-200,
    "denormal": lambda rng, shape: rng.integers(-3, 4, size=shape) * 5e-324,
    "all sizes": lambda rng, shape: (
        rng.normal(size=shape) * 10.0 ** rng.integers(-300, 300, size=shape)
    ),
    "some sizes": lambda rng, shape: (
        rng.normal(size=shape) * 10.0 ** rng.integers(-9, 9, size=shape)
    ),
    "offset": lambda rng, shape: 1e9 + rng.normal(size=shape) * 1e-3,
    "penalties": lambda rng, shape: np.where(
        rng.random(shape) < 0.2, -np.inf, rng.normal(size=shape)
    ),
    "infinite": lambda rng, shape: np.where(
        rng.random(shape) < 0.1, np.inf, rng.normal(size=shape)
    ),
    "unknown": lambda rng, shape: np.where(
        rng.random(shape) < 0.1, np.nan, rng.normal(size=shape)
    ),
}


def try_law(strategy: Any, law: Callable[[Any], None]) -> Callable[[int], None]:
    """Return a check that tries a law on values that hypothesis draws from a seed."""

    def check(seed: int) -> None:
        @hypothesis.seed(seed)
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink),
        )
        @hypothesis.given(strategy)
        def holds(value: Any) -> None:
            law(value)

        holds()

    return check


def make_seed(rng: random.Random) -> int:
    """Draw a seed for hypothesis."""
    return rng.randrange(2**32)


# --- decoders ------------------------------------------------------------------------


@st.composite
def decodings(draw: Any) -> tuple[FactorGraph, np.ndarray, str]:
    """Draw factors and scores."""
    factors = draw(factor_graphs(any_kind, max_labels=4, extra_unary=True))
    kind = draw(st.sampled_from(sorted(NUMBERS)))
    rng = np.random.default_rng(draw(seeds))
    return factors, NUMBERS[kind](rng, (2, factors.n_cells)), kind


def check_decoders(case: tuple[FactorGraph, np.ndarray, str]) -> None:
    """Compare every decoder with all labellings, scored without rounding."""
    factors, scores, _ = case
    with np.errstate(all="ignore"):
        _check_methods(factors, scores)


def _check_methods(factors: FactorGraph, scores: np.ndarray) -> None:
    methods = [decode, decode_exactly, tree_reweighted, exhaustive_search]
    methods.append(lambda f, s: max_product(f, s)[0])
    if factors.graph.is_forest:
        methods.append(max_sum)
    labellings = list(product(*map(range, factors.n_values.tolist())))
    cells = factors.cells(labellings)
    decoded = [method(factors, scores) for method in methods]
    lists = k_best(factors, scores, 3)
    for i, row in enumerate(scores):
        sums = _exact_sums(row, cells)
        for place, decoding in enumerate(decoded):
            one = [part[i] for part in decoding]
            _check_decoding(labellings, sums, row, one, bool(decoding.proven[i]), place)
        if sums is not None:
            _check_list(labellings, sums, row, [part[i] for part in lists])
    if factors.graph.is_forest and np.isfinite(scores).all():
        best = np.array([max(_exact_sums(row, cells)) for row in scores], dtype=object)
        if max(map(abs, best)) < 1e300:
            for marginals in max_marginals(factors, scores):
                error = np.abs(marginals.max(axis=1) - best.astype(float))
                if (error > SLACK * np.abs(scores).sum(axis=1)).any():
                    raise Finding("max_marginals miss the best score")


def _exact_sums(row: np.ndarray, cells: np.ndarray) -> list[Fraction] | None:
    """Return the score of every labelling; None if some cells are not finite."""
    if not np.isfinite(row).all():
        return None
    exact = [Fraction(value) for value in row.tolist()]
    return [sum((exact[c] for c in picked), Fraction(0)) for picked in cells.tolist()]


def _check_decoding(labellings, sums, row, decoding, proven, place) -> None:
    labels, score, bound, *slack = decoding
    if tuple(labels.tolist()) not in labellings:
        raise Finding(f"decoder {place} returns values that a label does not have")
    if sums is None:
        if proven and (np.isnan(row).any() or np.isposinf(row).any()):
            raise Finding(f"decoder {place} proves a score among others not finite")
        return
    allowed = _allowed(row, slack)
    best, got = max(sums), sums[labellings.index(tuple(labels.tolist()))]
    if proven and best - got > allowed:
        raise Finding(f"decoder {place} calls a worse labelling proven")
    if np.isfinite(score) and abs(Fraction(float(score)) - got) > allowed:
        raise Finding(f"decoder {place} reports another score")
    if np.isfinite(bound) and best - Fraction(float(bound)) > allowed:
        raise Finding(f"decoder {place} reports a bound that is too low")
    if np.isnan(score) or np.isnan(bound):
        raise Finding(f"decoder {place} reports NaN for finite scores")


def _allowed(row: np.ndarray, slack: list[Any]) -> Fraction:
    """Return how much rounding may hide: what the decoder states, if it does."""
    if slack:
        return Fraction(float(slack[0])) if np.isfinite(slack[0]) else Fraction(2**2000)
    total = sum(map(abs, map(Fraction, row.tolist())))
    return Fraction(SLACK) * total + Fraction(5e-324) * len(row)


def _check_list(labellings, sums, row, lists) -> None:
    labels, scores, _, *slack = lists
    seen = [tuple(one) for one in labels[np.isfinite(scores)].tolist()]
    if len(set(seen)) < len(seen) or not set(seen) <= set(labellings):
        raise Finding("k_best repeats a labelling or invents one")
    allowed = _allowed(row, slack)
    for place, one in enumerate(seen):
        expected = sorted(sums, reverse=True)[place]
        if abs(sums[labellings.index(one)] - expected) > allowed:
            raise Finding("k_best misses a labelling")


# --- training ------------------------------------------------------------------------

FOREST = ForestKernel(3, min_samples_leaf=1)
KERNELS: list[Any] = ["linear", "rbf", "poly", "cosine", "tanimoto", "precomputed"]
KERNELS += [FOREST, ["rbf", FOREST], SumKernel(["poly", FOREST])]
KERNELS += [SumKernel(["linear", "rbf"])]
NO_GAMMA = ("linear", "cosine", "tanimoto", "precomputed")


WEIGHTS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "none": lambda rng, n: None,
    "equal": lambda rng, n: np.ones(n),
    "some": lambda rng, n: rng.integers(0, 3, size=n),
    "some sizes": lambda rng, n: 10.0 ** rng.integers(-9, 9, size=n),
    "all sizes": lambda rng, n: 10.0 ** rng.integers(-300, 300, size=n),
}


@st.composite
def trainings(draw: Any) -> dict[str, Any]:
    """Draw examples, labels and parameters."""
    rng = np.random.default_rng(draw(seeds))
    n, n_features = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    X = NUMBERS[draw(st.sampled_from(sorted(NUMBERS)))](rng, (n, n_features))
    if draw(st.booleans()):
        X[:, 0] = X[0, 0]  # a constant feature
    if draw(st.booleans()):
        X[-1] = X[0]
    Y = rng.integers(0, draw(st.sampled_from([1, 2, 2, 3])), size=(n, 3))
    return {
        "X": _cast(X, draw(st.sampled_from(["f8", "f8", "f4"]))),
        "Y": Y,
        "kernel": draw(st.sampled_from(KERNELS)),
        "normalize_kernel": draw(st.booleans()),
        "fit_intercept": draw(st.booleans()),
        "C": 10.0 ** draw(st.integers(-12, 12)),
        "tol": draw(st.sampled_from([1e-12, 1e-2, 1e2])),
        "loss": draw(st.sampled_from(["edge", "hamming"])),
        "is_ensemble": draw(st.booleans()),
        "is_joint": draw(st.booleans()),
        "offset": draw(st.sampled_from([0.0, 0.0, 0.3, -1e9, 1e100, 1e308])),
        "weights": draw(st.sampled_from(sorted(WEIGHTS))),
        "class_weight": draw(st.sampled_from([None, None, "balanced", {0: 1e9}])),
        "gamma": draw(st.sampled_from([None, None, 1e-300, 1e300, 1.0])),
    }


def _cast(X: np.ndarray, dtype: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        return X.astype(dtype)


def check_training(case: dict[str, Any]) -> None:
    """Train and predict: a clear error, or numbers that are finite and certified."""
    case = dict(case)
    X, Y = case.pop("X"), case.pop("Y")
    kind, kernel = MMCRFClassifier, case["kernel"]
    is_joint = case.pop("is_joint") and not isinstance(kernel, list)
    if case.pop("is_ensemble") or isinstance(kernel, list) or is_joint:
        kind = RandomGraphEnsembleClassifier
        case["n_estimators"] = 2
        case["training"] = "joint" if is_joint else "separate"
    weights = WEIGHTS[case.pop("weights")](np.random.default_rng(0), len(X))
    if kernel in NO_GAMMA:
        case["gamma"] = None
    if kernel == "tanimoto":
        X = np.abs(X)
    if kernel == "precomputed":
        with np.errstate(all="ignore"):
            X = X @ X.T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # scikit-learn adds up X to see whether it is finite
        warnings.filterwarnings("ignore", "invalid value .* in reduce", RuntimeWarning)
        try:
            model = kind(max_iter=20, random_state=0, **case).fit(X, Y, weights)
            decoding = model.predict_certified(X)
            model.predict(X)
            decisions = model.decision_function(X) if Y.max() < 2 else np.zeros(1)
        except (ValueError, OverflowError) as error:
            last = traceback.extract_tb(error.__traceback__)[-1].filename
            if "spanforest" not in last and "sklearn" not in last:
                raise
            return
    largest = 1.0 if weights is None else float(np.max(weights))
    _check_model(model, case, len(X) * max(1.0, largest))
    for name, values in (("scores", decoding.score), ("decisions", decisions)):
        if not np.isfinite(values).all():
            raise Finding(f"{name} are not finite")


def _check_model(model: Any, case: dict[str, Any], n: float) -> None:
    """Compare objectives; `n` is the number of examples, or more if they weigh more."""
    numbers = {
        name: np.atleast_1d(getattr(model, name))
        for name in ("cell_intercept_", "dual_objective_", "duality_gap_")
    }
    numbers["weights"] = model._weights
    for name, values in numbers.items():
        if not np.isfinite(values).all():
            raise Finding(f"{name} of a trained model is not finite")
    dual, gap = numbers["dual_objective_"], numbers["duality_gap_"]
    scale = case["C"] * n * 10 + np.abs(dual)
    scale *= 1.0 if case["class_weight"] is None else 1e9
    if (gap < -1e-9 * scale).any():
        raise Finding("a duality gap is negative")
    if (dual < -1e-9 * scale).any():
        raise Finding("a dual objective is below its value at zero")


CHECK_DECODERS = try_law(decodings(), check_decoders)
CHECK_TRAINING = try_law(trainings(), check_training)


def warm_up() -> None:
    """Compile what the laws use."""
    for check in (CHECK_DECODERS, CHECK_TRAINING):
        with suppress(Exception):  # findings are for later
            check(0)


TARGETS = [
    (
        Target(
            "decoders",
            make_seed,
            CHECK_DECODERS,
            warm_up,
            per_make=EXAMPLES,
            most_seconds=60,
        ),
        0.05,
    ),
    (
        Target(
            "training",
            make_seed,
            CHECK_TRAINING,
            warm_up,
            per_make=EXAMPLES,
            most_seconds=60,
        ),
        0.05,
    ),
]
