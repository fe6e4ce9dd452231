"""Reading CSV files of many columns: seconds must grow in proportion to the columns."""

import tempfile
import time
from pathlib import Path

from spanforest.datasets import load_csv

N_ROWS = 30
N_COLUMNS = (12_500, 25_000, 50_000)


def write_table(path, n_columns):
    names = ",".join(f"x{j}" for j in range(n_columns))
    rows = [f"{'0.5,' * n_columns}{i % 2}" for i in range(N_ROWS)]
    path.write_text("\n".join([f"{names},y", *rows, ""]))


def main():
    before = None
    for n_columns in N_COLUMNS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "wide.csv"
            write_table(path, n_columns)
            start = time.perf_counter()
            load_csv(path, -1)
            seconds = time.perf_counter() - start
        ratio = "" if before is None else f", {seconds / before:.1f} x half as many"
        print(f"{n_columns:,} columns: {seconds:.1f} s{ratio}")
        before = seconds


if __name__ == "__main__":
    main()
