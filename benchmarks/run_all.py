"""Run all benchmarks of speed, and write their tables and the machine to README.md.

Studies of quality take longer and are run one by one. The documentation shows their
results.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import common

HERE = Path(__file__).parent
SCRIPTS = (
    "imports",
    "first_fit",
    "epoch",
    "time_to_gap",
    "against_sklearn",
    "whole_ensemble",
    "self_tuning",
    "predict",
    "parallel",
    "scaling",
    "memory",
    "nystroem",
    "thousand_labels",
    "thousand_labels --labels 4000 --limit 8",
    "many_rows",
    "tuning_many_rows --rows 20000",
    "beyond_memory",
    "cluster --rows 12000 --search-rows 1500",
)
TIME_LIMIT = 1200  # seconds per script
INTRODUCTION = """\
# Benchmarks

Seconds depend on the machine, so look at the ratios: their times come from one run.
Each process has one thread (BLAS and OpenMP included) unless a row says otherwise.
Compilation happens before the clock starts. Repeated runs take turns, and their medians
are compared (minima for single epochs). A 1 % gap means that primal minus dual
objective is at most 1 % of the dual.

    make bench                             # all of them; writes this file
    .venv/bin/python benchmarks/epoch.py   # one of them

`SPANFOREST_DATA` must name the folder with the data sets. Run on an idle machine.

Studies of quality take longer and are run one by one. The user guide shows their
results:

| script | page |
|---|---|
| `certificates.py` | [proofs of predictions](../docs/guide/certified.rst) |
| `label_lists.py` | [the best label sets](../docs/guide/certified.rst) |
| `probabilities.py` | [probabilities](../docs/guide/probabilities.rst) |
| `joint_training.py` | [one model on all graphs](../docs/guide/graphs.rst) |
| `default_choice.py` | [what it chooses from](../docs/guide/what_it_tries.rst) |
| `unseen_tables.py` | [fifty tables of another kind](../docs/experiment.rst) |
| `published_splits.py` | [28 published methods](../docs/experiment.rst) |
| `offsets.py` | [the measure](../docs/guide/measures.rst) |
| `missing_labels.py` | [labels that are missing](../docs/guide/missing.rst) |
| `which_kernel.py`, `several_kernels.py` | [kernels](../docs/studies/kernels.rst) |
| `words.py` | [text](../docs/guide/text.rst) |
| `laplacian.py` | [kernels](../docs/guide/kernels.rst) |
| `larger_tables.py` | [what it tries](../docs/guide/what_it_tries.rst) |
| `forest_kernel.py` | [the forest kernel](../docs/which_kernel.rst) |
| `how_long.py` | [how long it takes](../docs/guide/how_long.rst) |
| `defaults.py`, `trees_and_gaps.py` | [the defaults](../docs/studies/defaults.rst) |
"""


def run(command):
    """Return a script's section of the README, and whether the script succeeded.

    A command is the name of a script, and options.
    """
    name, *options = command.split()
    print(f"{command} ...", end=" ", file=sys.stderr, flush=True)
    start = time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, HERE / f"{name}.py", *options],
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT,
        )
        error = done.stderr.strip().splitlines()[-1:] if done.returncode else []
        failed = done.returncode != 0
        body = done.stdout.strip()
    except subprocess.TimeoutExpired:
        failed, error, body = True, [f"no result after {TIME_LIMIT} s"], ""
    elapsed = time.perf_counter() - start
    print(f"{'FAILED' if failed else 'done'}, {elapsed:.0f} s", file=sys.stderr)
    if failed:
        print(*error, file=sys.stderr)
        body = f"Failed: {' '.join(error) or 'no message'}"
    shown = " ".join([f"{name}.py", *options])
    return (
        f"## {title_of(name)}\n\n`{shown}`, {elapsed:.0f} s\n\n{body}\n",
        not failed,
    )


def title_of(name):
    """Return the first line of a script's docstring."""
    first = (HERE / f"{name}.py").read_text().split("\n", 1)[0]
    return first.strip('".')


def main():
    before = common.machine_facts()
    start = time.perf_counter()
    sections, worked = zip(*map(run, SCRIPTS), strict=True)
    total = f"All scripts took {(time.perf_counter() - start) / 60:.1f} minutes."
    facts = "\n".join(f"- {name}: {value}" for name, value in before.items())
    if common.machine_facts()["sources"] != before["sources"]:
        facts += "\n\n**The sources changed during the run: run it again.**"
    goals = (HERE / "goals.md").read_text()  # by hand, with what was tried
    machine = f"## Machine\n\n{facts}\n\n{total}\n"
    text = "\n".join([INTRODUCTION, goals, machine, *sections])
    partial = HERE / "README.md.partial"
    partial.write_text(text)
    os.replace(partial, HERE / "README.md")
    print(total, file=sys.stderr)
    sys.exit(0 if all(worked) else 1)


if __name__ == "__main__":
    main()
