"""Trained models as the commands use them: with the names of features and labels."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from spanforest._classifier import GraphClassifier
from spanforest._wording import did_you_mean, listed, numbered_labels, quoted
from spanforest.cli._options import Aggregation, bad_option
from spanforest.diagnostics import final_step
from spanforest.ensemble import RandomGraphEnsembleClassifier
from spanforest.metrics import is_missing
from spanforest.persistence import load
from spanforest.tuning import RandomGraphEnsembleClassifierCV

if TYPE_CHECKING:
    from spanforest.datasets import Dataset

NO_CATEGORY = ""  # an empty cell is missing, so that no category has this text


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A fitted classifier on output graphs, alone or as the last step of a pipeline."""

    estimator: Any

    @classmethod
    def load(cls, path: Path, aggregation: Aggregation | None = None) -> "TrainedModel":
        """Read a model file.

        An `aggregation` replaces that of the model, and its threshold if it has one.
        """
        model = cls(load(path))
        if not isinstance(model.classifier, GraphClassifier):
            raise ValueError(
                f"{path} must hold an MMCRFClassifier or a "
                "RandomGraphEnsembleClassifier, alone or last in a pipeline; found "
                f"{type(model.classifier).__name__}. Use it from Python."
            )
        if not model.classifier.__sklearn_is_fitted__():
            raise ValueError(f"{path} holds a model that was not fitted.")
        if aggregation is not None:
            if not isinstance(model.classifier, RandomGraphEnsembleClassifier):
                raise bad_option(
                    "only an ensemble can be combined in several ways.", "--aggregation"
                )
            is_joint = model.classifier.training == "joint"
            if is_joint and aggregation is not Aggregation.mam:
                raise bad_option(
                    f"{aggregation.value} needs members that were trained apart, and "
                    f"{path} holds one model for all graphs. Leave it out, or train "
                    "with --training separate.",
                    "--aggregation",
                )
            model.classifier.set_params(aggregation=aggregation.value, threshold=None)
        return model

    @property
    def classifier(self) -> Any:
        """The last step."""
        return final_step(self.estimator)[0]

    @property
    def search(self) -> RandomGraphEnsembleClassifierCV | None:
        """The last step, if it has chosen its parameters itself."""
        last = self.estimator.steps[-1][1] if self.steps else self.estimator
        return last if isinstance(last, RandomGraphEnsembleClassifierCV) else None

    @property
    def steps(self) -> list[tuple[str, Any]]:
        """The steps of a pipeline; none of other models."""
        return getattr(self.estimator, "steps", [])

    @property
    def n_features(self) -> int:
        """Number of features, or of training examples with a kernel matrix."""
        try:
            return self.estimator.n_features_in_
        except AttributeError:  # a step that knows no features
            kind = type(self.steps[0][1] if self.steps else self.estimator).__name__
            raise ValueError(
                f"the model takes no table of features: it begins with {kind}, which "
                "turns other things, such as texts, into numbers. Use it from Python."
            ) from None

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the features, or None."""
        names = getattr(self.estimator, "feature_names_in_", None)
        if names is None:  # scikit-learn does not store names of sparse features
            names = getattr(self.estimator, "sparse_feature_names_", None)
        return None if names is None else tuple(names)

    @property
    def categories(self) -> dict[str, list[str]]:
        """What the codes of features of text stand for, by the name of the feature."""
        if hasattr(self.estimator, "feature_categories_"):
            return self.estimator.feature_categories_
        columns = self.classifier._input.columns
        if self.steps or columns is None or self.feature_names is None:
            return {}
        return {  # trained in Python
            self.feature_names[j]: values
            for j, values in columns.categories.items()
            if values and all(isinstance(value, str) for value in values)
        }

    @property
    def _nominal(self) -> set[int]:
        """The features whose values are categories, of which new ones may appear."""
        step = dict(self.steps).get("nominal")
        if step is not None:
            return set(step.transformers[0][2])
        columns = self.classifier._input.columns
        return set() if columns is None else set(columns.categories)

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels; labels without names are numbered."""
        names = self.classifier.label_names_
        if names is None:
            return numbered_labels(len(self.classes))
        return tuple(map(str, names))

    @property
    def classes(self) -> list[NDArray[Any]]:
        """The values of every label in training."""
        return self.classifier._coding.classes

    @property
    def fills_gaps(self) -> bool:
        """Whether missing features are filled, or accepted by the classifier."""
        return self.classifier._input.accepts_nan or any(
            isinstance(step, SimpleImputer) for _, step in self.steps
        )

    @property
    def is_dense(self) -> bool:
        """Whether the model cannot take sparse features."""
        if hasattr(self.estimator, "feature_names_in_"):
            return True  # fitted on a DataFrame; scikit-learn warns of other inputs
        return any(
            isinstance(step, MinMaxScaler)
            or (isinstance(step, StandardScaler) and step.with_mean)
            for _, step in self.steps
        )

    def align(self, dataset: "Dataset", source: str, *, with_labels: bool) -> "Dataset":
        """Return a data set with the features, and labels, of the model in its order.

        Columns are matched by name if both sides have names, else by position. A match
        by position where one side has names causes a warning.
        """
        inputs: Any = dataset.K if dataset.X is None else dataset.X
        is_precomputed = self.classifier.kernel == "precomputed"
        if is_precomputed != (dataset.X is None):
            wanted, given = "features", "a kernel matrix"
            if is_precomputed:
                wanted, given = "kernel values with its training examples (K)", wanted
            raise ValueError(f"{source}: the model takes {wanted}; found {given}.")
        names = dataset.feature_names
        if self.feature_names is not None and len(names):
            places = _places(self.feature_names, names, source)
            inputs = self._recode(inputs[:, places], dataset, places, source)
        elif inputs.shape[1] != self.n_features:
            raise ValueError(
                f"{source}: the model has {self.n_features} features; found "
                f"{inputs.shape[1]}. If some of these are labels, name them with "
                "--labels."
            )
        elif self.feature_names is not None:
            warnings.warn(
                f"{source} does not name its features; they are matched with those of "
                "the model by position.",
                stacklevel=2,
            )
        elif len(names) and not all(name.isdigit() for name in names):
            warnings.warn(
                f"the model has no names of features; those of {source} are matched by "
                "position.",
                stacklevel=2,
            )
        Y = self._align_labels(dataset, source) if with_labels else dataset.Y[:, :0]
        return replace(
            dataset,
            Y=Y,
            X=None if is_precomputed else inputs,
            K=inputs if is_precomputed else None,
            feature_names=self.feature_names or (),
            label_names=self.label_names if with_labels else (),
        )

    def _recode(
        self, X: Any, dataset: "Dataset", places: Sequence[int], source: str
    ) -> Any:
        """Return features in which the codes of categories are those of the model."""
        present, nominal = dataset.categories, dataset.nominal_features
        for j, name in enumerate(self.feature_names or ()):
            is_nominal = nominal is not None and bool(nominal[places[j]])
            if name in self.categories and name in present:
                X = self._recode_feature(X, j, present[name], source)
            elif name in self.categories and not is_nominal and _has_numbers(X, j):
                raise ValueError(
                    f"{source}: the feature {quoted(name)} was text in training, such "
                    f"as {quoted(self.categories[name][0])}; found numbers."
                )
            elif name in present and is_nominal and j not in self._nominal:
                raise ValueError(
                    f"{source}: the feature {quoted(name)} was numbers in training; "
                    f"found text, such as {quoted(present[name][0])}."
                )
        return X

    def _recode_feature(self, X: Any, j: int, texts: Sequence[str], source: str) -> Any:
        """Return X with the codes of the model for feature j, which has these texts."""
        name = (self.feature_names or ())[j]
        known = self.categories[name]
        if list(texts) == list(known):
            return X
        codes = np.array([known.index(text) if text in known else -1 for text in texts])
        new = [text for text in texts if text not in known]
        if new and j not in self._nominal:
            raise ValueError(
                f"{source}: the feature {quoted(name)} was one of {listed(known)} in "
                f"training; found {quoted(new[0])}."
            )
        if new:
            warnings.warn(
                f"{source}: {quoted(name)} has values that did not occur in training, "
                f"and counts as none of the known ones there: {listed(new)}.",
                stacklevel=2,
            )
        X = X.tolil() if sparse.issparse(X) else X.copy()
        column = X[:, [j]].toarray()[:, 0] if sparse.issparse(X) else X[:, j]
        seen = ~np.isnan(column)
        column = np.array(column, dtype=np.float64)
        column[seen] = codes[column[seen].astype(int)]
        X[:, j] = column
        return X.tocsr() if sparse.issparse(X) else X

    def _align_labels(self, dataset: "Dataset", source: str) -> NDArray[Any]:
        """Return the labels of the model, in its order.

        Labels are matched by name. They are matched by position if one side has no
        names, or if the names are numbers on one side and words on the other.
        """
        Y, known = dataset.Y, self.label_names
        present = dataset.label_names if Y.shape[1] == len(dataset.label_names) else ()
        in_model, in_data = set(known), set(present)
        missing = [name for name in known if name not in in_data]
        extra = [name for name in present if name not in in_model]
        if missing and _kind(known) == _kind(present) != "none":
            raise ValueError(
                f"{source}: its labels are not those of the model; missing: "
                f"{listed(missing)}; not in the model: {listed(extra) or 'none'}."
                f"{did_you_mean(missing, extra)} Rename them, or name the right "
                "columns with --labels."
            )
        if missing and Y.shape[1] != len(known):
            raise ValueError(
                f"{source}: the model has {len(known)} labels; found {Y.shape[1]}."
            )
        if missing and {_kind(known), _kind(present)} == {"none", "words"}:
            warnings.warn(
                f"{source}: labels are matched with those of the model by position, "
                "since one side does not name them.",
                stacklevel=3,
            )
        if not missing:
            Y = Y[:, [present.index(name) for name in known]]
            if extra:
                warnings.warn(
                    f"{source}: labels that the model does not know are left out: "
                    f"{listed(extra)}.",
                    stacklevel=3,
                )
        Y = _with_values(Y, self.classes, known, source)
        _check_values(Y, self.classes, known, source)
        return Y

    def inputs(self, dataset: "Dataset") -> Any:
        """Return the examples of an aligned data set in the form `predict` takes."""
        X: Any = dataset.K if dataset.X is None else dataset.X
        if sparse.issparse(X) and self.is_dense:
            X = X.toarray()
        names = getattr(self.estimator, "feature_names_in_", None)
        texts = {
            name: self.categories[name]
            for j, name in enumerate(self.feature_names or ())
            if j in self._nominal and name in self.categories
        }
        return named_matrix(X, names, texts)

    def predict(self, dataset: "Dataset") -> NDArray[Any]:
        """Return the predicted labels, of shape (n_samples, n_labels)."""
        predicted = self.estimator.predict(self.inputs(dataset))
        if sparse.issparse(predicted):  # a model that Python trained on sparse labels
            predicted = predicted.toarray()
        return predicted.reshape(len(predicted), -1)

    def scores(self, dataset: "Dataset") -> NDArray[np.float64]:
        """Return the decision function, of shape (n_samples, n_labels)."""
        wide = [len(values) > 2 for values in self.classes]
        if any(wide):
            name = self.label_names[wide.index(True)]
            raise ValueError(
                f"scores are for labels with two values; the label {quoted(name)} has "
                f"{len(self.classes[wide.index(True)])}. Leave out --scores."
            )
        scores = self.estimator.decision_function(self.inputs(dataset))
        return scores.reshape(len(scores), -1)


def named_matrix(
    X: Any, names: Sequence[str] | None, texts: Mapping[str, Sequence[str]]
) -> Any:
    """Return a DataFrame if the columns of a dense matrix have names.

    Columns of codes hold the texts that they stand for, so that a model knows the
    categories as Python would name them. The code -1 is a text that no category has.
    """
    if names is None or sparse.issparse(X):
        return X
    import pandas  # part of the extra that the commands need

    frame = pandas.DataFrame(X, columns=list(names))
    for name, known in texts.items():
        codes = frame[name].to_numpy()
        codes = np.where(codes < 0, len(known), codes)  # the last one, of no category
        codes = np.where(np.isnan(codes), -1, codes).astype(int)
        frame[name] = pandas.Categorical.from_codes(codes, [*known, NO_CATEGORY])
    return frame


def _places(wanted: Sequence[str], present: Sequence[str], source: str) -> list[int]:
    """Return the positions of the wanted features."""
    place = {name: j for j, name in enumerate(present)}
    missing = [name for name in wanted if name not in place]
    if missing:
        raise ValueError(
            f"{source}: features that the model needs are not there: {listed(missing)}."
            f"{did_you_mean(missing, set(present) - set(wanted))}"
        )
    return [place[name] for name in wanted]


def _has_numbers(X: Any, j: int) -> bool:
    """Return whether a feature has a value that is not missing."""
    column = X[:, [j]].toarray() if sparse.issparse(X) else X[:, j]
    return not np.isnan(column).all()


def _kind(names: Sequence[str]) -> Literal["none", "numbers", "words"]:
    """Return whether labels have names, and whether these are numbers, as in LIBSVM.

    `read_training_data` numbers labels without names: "none" are names of that form.
    """
    if tuple(names) == numbered_labels(len(names)):
        return "none"
    return "numbers" if all(name.isdigit() for name in names) else "words"


def _with_values(
    Y: NDArray[Any],
    classes: Sequence[NDArray[Any]],
    names: Sequence[str],
    source: str,
) -> NDArray[Any]:
    """Return labels whose values are text where the model knows text."""
    is_text = [values.dtype.kind in "OU" for values in classes]
    if Y.dtype.kind != "O" and not any(is_text):
        return Y
    columns = []
    for column, text, name in zip(Y.T, is_text, names, strict=True):
        example = next((value for value in column if isinstance(value, str)), None)
        if not text and example is not None:
            raise ValueError(
                f"{source}: the values of the label {quoted(name)} were numbers in "
                f"training; found {quoted(example)}."
            )
        columns.append([_text(value) for value in column] if text else column.tolist())
    return np.array(list(zip(*columns, strict=True)), dtype=object)


def _check_values(
    Y: NDArray[Any],
    classes: Sequence[NDArray[Any]],
    names: Sequence[str],
    source: str,
) -> None:
    """Refuse labels without any value of training, and point out values it lacked.

    A label that had one value in training may well have another one here.
    """
    for column, values, name in zip(Y.T, classes, names, strict=True):
        found = [
            value for value in dict.fromkeys(column.tolist()) if not is_missing(value)
        ]
        new = [value for value in found if value not in set(values.tolist())]
        if not new or len(values) < 2:
            continue
        what = f"{source}: the label {quoted(name)} has values that training lacks: "
        what += f"{listed(new)}; in training they were {listed(values.tolist())}."
        if len(new) == len(found):
            raise ValueError(f"{what} Write them as in the training data.")
        warnings.warn(f"{what} They count as predicted wrongly.", stacklevel=4)


def _text(value: Any) -> str | None:
    """Return a value of a label as text, None if it is missing."""
    return None if is_missing(value) else str(value)
